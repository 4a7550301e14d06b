"""A broker family: its rules, its switches, the settings of its entities. Types alone.

No code branches on a family's name. `profile_file` reads and writes profiles, `profiles` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Final, NamedTuple

from .filters import SQL, InvalidFilter, parsed
from .messages import MAX_SEQ, Delivery, KeyRule, Message, effective_key
from .operations import DEAD_LETTERS, FORWARDS_TO, SUBSCRIPTION

SECOND: Final = 1_000_000_000
"""Nanoseconds."""

SEND_TIMEOUT: Final = 60 * SECOND
"""How long a send without a ``timeout`` waits (the vendor's advice, ROUTE-6)."""

RECEIVE_TIMEOUT: Final = SECOND
"""How long a receive without a ``timeout`` waits."""


class InvalidEntity(ValueError):
    """An entity's setting has the wrong type or range."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One queue's settings, as a client may know them. Durations are nanoseconds.

    ``seq_start`` is the counter of the first message in each partition (SEQ-5 needs numbers near the
    roll-over); None where unknown. ``peek_cap`` is the most messages one peek returns. After
    ``max_delivery_count`` deliveries that came to nothing a message is dead-lettered (RCV-9). With
    ``duplicate_detection`` a message ID counts once within the ``duplicate_window`` (DUP-1). With
    ``requires_session`` every message belongs to a session, which a client has to accept (SES).
    ``max_message_size``: the most bytes of a message, and of a batch (ENT-7); None: as usual.
    ``subscriptions``: (name, rule) of each; an entity that has some is a topic (TOPIC-1). A rule is "true",
    "false", "FIELD=VALUE" with one of `CORRELATED` or "prop.NAME", or "sql:FILTER" (`filters`). A
    subscription has in its own settings itself alone.
    ``forward_to``: the queues through which all goes that is sent to it, in order; the last keeps it (FWD).
    "NAME:1" has a single partition, or is not partitioned; any other has as many as the first. Of a topic it
    begins with "Subscriptions/NAME", the subscription that forwards.
    A transaction that is idle for longer than the ``transaction_timeout`` is rolled back; it takes at most
    ``max_transaction_messages`` (TXN-9). ``max_entities`` and ``max_partitioned_entities``: the quotas of a
    namespace that holds at first this entity alone (ENT-5); None: as usual, and it may hold others.
    ``max_size``: the bytes chosen as the size of each partition (ENT-6); None: unknown.

    Raises `InvalidEntity`.
    """

    partitions: int = 1
    lock_duration: int = 30 * SECOND
    rebalance_delay: int = 5 * SECOND
    max_handoff: int = 3 * SECOND
    seq_start: int | None = None
    peek_cap: int | None = None
    duplicate_detection: bool = False
    duplicate_window: int = 600 * SECOND
    max_delivery_count: int = 10
    requires_session: bool = False
    max_message_size: int | None = None
    subscriptions: tuple[tuple[str, str], ...] = ()
    transaction_timeout: int = 120 * SECOND
    max_transaction_messages: int = 100
    max_entities: int | None = None
    max_partitioned_entities: int | None = None
    forward_to: tuple[str, ...] = ()
    max_size: int | None = None

    def __post_init__(self) -> None:
        self._check_subscriptions()
        self._check_forwarding()
        for name, (low, high, optional) in ENTITY_BOUNDS.items():
            value = getattr(self, name)
            if value is None and optional:
                continue
            if type(value) is not int or not low <= value <= high:
                raise InvalidEntity(f"{name} must be a whole number from {low} to {high}: {value!r}")
        for name in ENTITY_FLAGS:
            if type(getattr(self, name)) is not bool:
                raise InvalidEntity(f"{name} must be true or false: {getattr(self, name)!r}")

    def _check_subscriptions(self) -> None:
        try:
            rules = dict(self.subscriptions)
        except (TypeError, ValueError):
            raise InvalidEntity("subscriptions must be names with a rule each") from None
        for name, rule in rules.items():
            if not _NAME.fullmatch(str(name)):
                raise InvalidEntity(f"subscriptions must have names, without slashes and spaces: {name!r}")
            if why := rule_problem(str(rule)):
                raise InvalidEntity(f"subscriptions has a rule that {why}")
        object.__setattr__(self, "subscriptions", tuple(sorted(rules.items())))

    def _check_forwarding(self) -> None:
        given: object = self.forward_to
        object.__setattr__(self, "forward_to", tuple(self.forward_to))
        names = self.forward_to[bool(self.source) :]
        named = all(type(name) is str and _NAME.fullmatch(name) for name in names)
        if isinstance(given, str) or not named:
            raise InvalidEntity(f"forward_to must be names, without slashes and spaces: {self.forward_to!r}")
        begins = type(self) is not Entity or self.source in (self._copying or ("",))
        if self.forward_to and not (begins and names):
            raise InvalidEntity(
                f"forward_to of a topic must be a subscription, then queues: {self.forward_to!r}"
            )
        apart = {name.casefold() for name in self.chain} - {name.casefold() for name, _ in self.subscriptions}
        if len(apart) < len(names):
            raise InvalidEntity(f"forward_to must be different names: {self.forward_to!r}")

    @property
    def source(self) -> str:
        """The word of the subscription that forwards; empty where none does."""
        first = str(self.forward_to[0]) if self.forward_to else ""
        return first if first.startswith(SUBSCRIPTION) else ""

    @property
    def chain(self) -> tuple[str, ...]:
        """The names of the queues that it forwards to."""
        return tuple(entry.removesuffix(_SINGLE) for entry in self.forward_to[bool(self.source) :])

    @property
    def _copying(self) -> tuple[str, ...]:
        """The words of its subscriptions."""
        return tuple(SUBSCRIPTION + name for name, _ in self.subscriptions)

    @property
    def outlets(self) -> tuple[str, ...]:
        """From which entities what is sent to this one is received, by their words; none: from itself."""
        far = (name + DEAD_LETTERS for name in self.chain[MOST_HOPS - 1 : -1][:1])
        chain = (FORWARDS_TO + name for name in (*self.chain[-1:], *far))
        return (*(word for word in self._copying if word != self.source), *chain)

    def outlet(self, word: str) -> Entity:
        """The settings of the one that is called so; a queue has the rule of what forwards to it."""
        own = tuple(one for one in self.subscriptions if SUBSCRIPTION + one[0] == word)
        queues = self.forward_to[bool(self.source) :]
        for hops, name in enumerate(self.chain, start=1):
            if FORWARDS_TO + name == word:
                settings = {one.name: getattr(self, one.name) for one in fields(Entity)}
                if queues[hops - 1] != name:
                    settings["partitions"] = 1
                settings["subscriptions"] = self.outlet(self.source).subscriptions if self.source else ()
                single = any(one.endswith(_SINGLE) for one in queues[:hops])
                return Destination(**settings | {"forward_to": queues[hops:]}, hops=hops, single=single)
        return replace(self, subscriptions=own, forward_to=())

    @property
    def ids_count(self) -> bool:
        """Whether message IDs mean something: one that comes again is a duplicate (DUP-1), and one is the key
        where no other is (KEY-4)."""
        return self.duplicate_detection


MOST_HOPS: Final = 4
"""So often may a message be forwarded in a row (FWD-2)."""


@dataclass(frozen=True, slots=True)
class Destination(Entity):
    """A queue to which another one forwards what it is sent, over so many ``hops``; ``single``: it, or one
    before it, has one partition."""

    hops: int = 1
    single: bool = False


ENTITY_BOUNDS: Final[Mapping[str, tuple[int, int, bool]]] = {
    "partitions": (1, 1024, False),
    "lock_duration": (1, 2**62, False),
    "duplicate_window": (1, 2**62, False),
    "rebalance_delay": (0, 2**32 * SECOND, False),
    "max_handoff": (0, 2**32 * SECOND, False),
    "seq_start": (0, MAX_SEQ, True),
    "peek_cap": (1, 2**31, True),
    "max_delivery_count": (1, 2**31, False),
    "max_message_size": (1, 2**31, True),
    "transaction_timeout": (1, 2**62, False),
    "max_transaction_messages": (1, 2**31, False),
    "max_entities": (1, 2**31, True),
    "max_partitioned_entities": (1, 2**31, True),
    "max_size": (1, 2**62, True),
}
"""Of each setting that is a number: least, greatest, and whether it may be unknown (None)."""

CORRELATED: Final = ("id", "session_id", "partition_key")
"""The fields of a message that a subscription's rule may ask for."""

PROPERTY: Final = "prop."
"""What the name of a user property has before it where a rule asks for one."""

DEFAULT_RULE: Final = "$Default"
"""The name of the rule that a subscription has at first."""

_SINGLE: Final = ":1"
"""What tells of a queue in ``forward_to`` that it has a single partition."""

_NAME: Final = re.compile(r"[^/\s]+")
_FIELDS: Final = "|".join((*CORRELATED, re.escape(PROPERTY) + "[^=]+"))
RULE: Final = re.compile(rf"true|false|({_FIELDS})=.+|{SQL}.+", re.DOTALL)
"""What a subscription's rule may be."""


def rule_problem(rule: str) -> str | None:
    """Why it is no rule that is known; None: it is one."""
    if not RULE.fullmatch(rule):
        known = f"true, false, FIELD=VALUE (of {', '.join(CORRELATED)}, {PROPERTY}NAME), {SQL}FILTER"
        return f"is not known: {rule!r}; known: {known}"
    if rule.startswith(SQL):
        try:
            parsed(rule)
        except InvalidFilter as error:
            return str(error)
    return None


ENTITY_FLAGS: Final = ("duplicate_detection", "requires_session")
"""The settings that are true or false."""


LIMITS: Final = ("transaction_timeout", "max_transaction_messages")
"""The limits of transactions."""

SELDOM_CHOSEN: Final = (*LIMITS, "max_entities", "max_partitioned_entities", "max_size", "forward_to")
"""The settings that most brokers have as they are."""


class Divergence(NamedTuple):
    """A violation that the vendor, or a team, knows of: of which rule, why it is accepted, and under which
    condition, one of `conditions.CONDITIONS`. ``cause``: the key of its findings; empty: any."""

    rule: str
    condition: str
    reason: str
    cause: str = ""


class OrderDomain(StrEnum):
    """What a family delivers in order (ORD): the messages of one key, of one partition, or nothing."""

    NONE = "none"
    KEY = "key"
    PARTITION = "partition"


class Ground(NamedTuple):
    """Why a rule binds a family: the vendor's page, by its title, and what it says."""

    page: str
    says: str


@dataclass(frozen=True, slots=True)
class Profile:
    """One broker family.

    ``rules``: the rules that bind, everything else is not applicable: an ID, a group or a column of the
    catalogue -> the ground, or None where the catalogue itself says why. ``pages``: the vendor's pages that
    the grounds name, title -> https address. ``divergences``: the violations that are known.
    ``adds_properties``: the properties that the broker adds to a message; a last ``*`` stands for any rest.
    ``partitions``: the counts the family allows (empty: any). ``caching_front_ends``: a receive may
    miss messages that another front end holds locked (RCV-5), and lock clocks may start early (RCV-13).
    ``flows``: consumers bind, and partitions are assigned to them (REB). ``transactions``: keys pin them.
    ``shows_seq``: messages bear sequence numbers. ``counter_bits``: after these the counter rolls over.
    ``locks_expire``: locks end by time; otherwise by settlement, or with their flow or connection, alone.
    ``kill_undoes_settlements``: settlements are not on disk when they answer, so a broker kill may undo
    those before it. ``kill_remaps_keys``: which key goes where holds from one start of the broker to its
    next kill only. ``connection_ends_locks``: locks may end with the connection of their client.
    ``order``: the order domain that ORD-1 to ORD-3 speak of, where they bind.
    """

    name: str
    title: str
    rules: Mapping[str, Ground | None]
    key_rule: KeyRule = KeyRule.SERVICE_BUS
    partitions: tuple[int, ...] = ()
    partitioned: bool = True
    caching_front_ends: bool = False
    flows: bool = False
    transactions: bool = False
    peek: bool = True
    shows_seq: bool = True
    counter_bits: int = 48
    locks_expire: bool = True
    kill_undoes_settlements: bool = False
    kill_remaps_keys: bool = False
    connection_ends_locks: bool = False
    order: OrderDomain = OrderDomain.NONE
    default_entity: Entity = field(default_factory=Entity)
    pages: Mapping[str, str] = field(default_factory=dict)
    adds_properties: tuple[str, ...] = ()
    divergences: tuple[Divergence, ...] = ()

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def modelled(self) -> bool:
        """Whether the family is modelled, so that the judge can be asked; screens take any family."""
        return not (self.kill_undoes_settlements or self.kill_remaps_keys)

    def key_of(self, message: Message, entity: Entity) -> str | None:
        """The key that decides the message's partition on that entity; None where it has none."""
        return effective_key(message, self.key_rule, entity.ids_count)

    def may_show(self, shown: Delivery, message: Message) -> bool:
        """Whether the properties shown are the message's, with those that the broker adds."""
        if shown.properties is None:
            return True
        sent, seen = set(message.properties), set(shown.properties)
        return sent <= seen and all(self._adds(name) for name, _ in seen - sent)

    def _adds(self, name: str) -> bool:
        return any(
            name.startswith(word[:-1]) if word.endswith("*") else name == word
            for word in self.adds_properties
        )

    def partition_of(self, shown: Delivery) -> int | None:
        """The partition that the broker showed: by name, else above the counter in the number, else None."""
        if shown.partition is not None or shown.seq is None or not self.partitioned:
            return shown.partition
        return shown.seq >> self.counter_bits
