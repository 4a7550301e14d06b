"""What each broker family promises, as data.

A profile is a row of switches; no code branches on a profile's name. The requirement rows that apply
to it come from the catalogue, or from `overrides` for families the catalogue has no column for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Final, NamedTuple

from .messages import MAX_SEQ, Delivery, KeyRule
from .requirements import for_profile

SECOND: Final = 1_000_000_000
"""Nanoseconds."""

SEND_TIMEOUT: Final = 60 * SECOND
"""What a send without a ``timeout`` waits (the vendor's advice, ROUTE-6)."""

MAX_IDLE: Final = 120 * SECOND
"""After so long without an operation in it the broker rolls a transaction back (TXN-9)."""

RECEIVE_TIMEOUT: Final = SECOND
"""What a receive without a ``timeout`` waits."""


class InvalidEntity(ValueError):
    """An entity's setting has the wrong type or range."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One queue's settings, as a client may know them. Durations are nanoseconds.

    ``seq_start`` is the counter of the first message in each partition (SEQ-5 needs numbers near the
    roll-over); None where unknown. ``peek_cap`` is the most messages one peek returns. After
    ``max_delivery_count`` deliveries that came to nothing a message is dead-lettered (RCV-9).

    Raises `InvalidEntity`.
    """

    partitions: int = 1
    lock_duration: int = 30 * SECOND
    rebalance_delay: int = 5 * SECOND
    max_handoff: int = 3 * SECOND
    seq_start: int | None = None
    peek_cap: int | None = None
    duplicate_detection: bool = False
    max_delivery_count: int = 10

    def __post_init__(self) -> None:
        for name, (low, high, optional) in ENTITY_BOUNDS.items():
            value = getattr(self, name)
            if value is None and optional:
                continue
            if type(value) is not int or not low <= value <= high:
                raise InvalidEntity(f"{name} must be a whole number from {low} to {high}: {value!r}")
        if type(self.duplicate_detection) is not bool:
            raise InvalidEntity(f"duplicate_detection must be true or false: {self.duplicate_detection!r}")


ENTITY_BOUNDS: Final[Mapping[str, tuple[int, int, bool]]] = {
    "partitions": (1, 1024, False),
    "lock_duration": (1, 2**62, False),
    "rebalance_delay": (0, 2**32 * SECOND, False),
    "max_handoff": (0, 2**32 * SECOND, False),
    "seq_start": (0, MAX_SEQ, True),
    "peek_cap": (1, 2**31, True),
    "max_delivery_count": (1, 2**31, False),
}
"""Of each setting that is a number: least, greatest, and whether it may be unknown (None)."""


class Ground(NamedTuple):
    """Why a row applies to a family: the vendor's page, by its title, and what it says."""

    page: str
    says: str


@dataclass(frozen=True, slots=True)
class Profile:
    """One broker family.

    ``column``: the catalogue column whose rows apply. ``overrides``: ID -> ground, for families
    without a column: the rows that apply, everything else is not applicable. ``pages``: the vendor's pages
    that the grounds name, title -> https address.
    ``partitions``: the counts the family allows (empty: any). ``caching_front_ends``: a receive may
    miss messages that another front end holds locked (RCV-5), and lock clocks may start early (RCV-13).
    ``flows``: consumers bind, and partitions are assigned to them (REB). ``transactions``: keys pin them.
    ``shows_seq``: messages bear sequence numbers. ``counter_bits``: after these the counter rolls over.
    ``locks_expire``: locks end by time; otherwise by settlement, or with their flow or connection, alone.
    ``kill_undoes_settlements``: settlements are not on disk when they answer, so a broker kill may undo
    those before it. ``kill_remaps_keys``: which key goes where holds from one start of the broker to its
    next kill only.
    """

    name: str
    title: str
    column: str | None
    key_rule: KeyRule
    partitions: tuple[int, ...]
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
    default_entity: Entity = field(default_factory=Entity)
    overrides: Mapping[str, Ground] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)

    def partition_of(self, shown: Delivery) -> int | None:
        """The partition that the broker showed: by name, else above the counter in the number, else None."""
        if shown.partition is not None or shown.seq is None or not self.partitioned:
            return shown.partition
        return shown.seq >> self.counter_bits


_PREMIUM = (1, 2, 4)

_RABBITMQ_PAGES: Final = {
    "Consistent Hash Exchange plugin README": "https://github.com/rabbitmq/rabbitmq-server/blob/main/deps/"
    "rabbitmq_consistent_hash_exchange/README.md",
    "Consumer Acknowledgements and Publisher Confirms": "https://www.rabbitmq.com/docs/confirms",
    "Consumers": "https://www.rabbitmq.com/docs/consumers",
    "Queues": "https://www.rabbitmq.com/docs/queues",
}
_EXCHANGE, _CONFIRMS, _CONSUMERS, _QUEUES = _RABBITMQ_PAGES

_RABBITMQ: Final = {
    "ROUTE-1": Ground(
        _EXCHANGE,
        "How It Works: equal hash keys go to one queue while no binding changes; but not across a restart "
        "(Node Restart Effects: a key may then go elsewhere)",
    ),
    "ROUTE-2": Ground(
        _EXCHANGE, "the queue is computed from the hash of the key alone, until the next restart"
    ),
    "ROUTE-3": Ground(_EXCHANGE, "a message without a key is published with a random one"),
    "ROUTE-4": Ground(
        _EXCHANGE,
        "What It Does: the hash distributes keys over queues in proportion to their weights, which are equal "
        "here; a message without a key has a random one",
    ),
    "RCV-1": Ground(_CONFIRMS, "what is delivered is what was published"),
    "RCV-2": Ground(
        _CONFIRMS,
        "When Will Published Messages Be Confirmed: a confirmed persistent message in a durable queue is on "
        "disk; Automatic Requeueing: it is requeued until it is acknowledged",
    ),
    "RCV-6": Ground(
        _CONFIRMS,
        "Automatic Requeueing: a delivery is its channel's until it is settled or the channel or its "
        "connection end",
    ),
    "RCV-7": Ground(
        _CONFIRMS,
        "Positively Acknowledging Deliveries: an acknowledged message is discarded. But no acknowledgement "
        "is answered, or waits for the disk, so a kill may undo it",
    ),
    "RCV-11": Ground(_CONFIRMS, "Delivery Tags: deliveries are settled one by one, in any order"),
    "REB-3": Ground(
        _CONSUMERS,
        f"Single Active Consumer, and {_QUEUES}, Message Ordering: first in, first out in each queue, also "
        "when the next consumer takes over, if a stopped consumer's channel is closed",
    ),
}
"""Why each row applies to the RabbitMQ family."""

PROFILES: Final[Mapping[str, Profile]] = {
    p.name: p
    for p in (
        Profile(
            name="azure-standard",
            title="Azure Service Bus Basic/Standard, partitioned entity",
            column="azure-standard",
            key_rule=KeyRule.SERVICE_BUS,
            partitions=(16,),
            caching_front_ends=True,
            transactions=True,
            default_entity=Entity(partitions=16),
        ),
        Profile(
            name="azure-premium",
            title="Azure Service Bus Premium, partitioned namespace",
            column="azure-premium",
            key_rule=KeyRule.SERVICE_BUS,
            partitions=_PREMIUM,
            caching_front_ends=True,
            transactions=True,
            default_entity=Entity(partitions=4),
        ),
        Profile(
            name="azure-flat",
            title="Azure Service Bus, non-partitioned entity",
            column="azure-flat",
            key_rule=KeyRule.SERVICE_BUS,
            partitions=(1,),
            partitioned=False,
            transactions=True,
            counter_bits=64,
            default_entity=Entity(partitions=1),
        ),
        Profile(
            name="solace",
            title="Solace PubSub+ partitioned queue",
            column="solace",
            key_rule=KeyRule.USER_PROPERTY,
            partitions=(),
            flows=True,
            peek=False,
            shows_seq=False,
            locks_expire=False,
            default_entity=Entity(partitions=4),
        ),
        Profile(
            name="rabbitmq",
            title="RabbitMQ, consistent-hash exchange over queues with single active consumer",
            column=None,
            key_rule=KeyRule.SERVICE_BUS,
            partitions=(),
            peek=False,
            shows_seq=False,
            locks_expire=False,
            kill_undoes_settlements=True,
            kill_remaps_keys=True,
            default_entity=Entity(partitions=4),
            overrides=_RABBITMQ,
            pages=_RABBITMQ_PAGES,
        ),
    )
}
"""Every profile by name."""


class UnknownProfile(LookupError):
    """No profile of that name."""


def profile(name: str) -> Profile:
    """The profile of that name. Raises `UnknownProfile`, whose text suggests near names."""
    try:
        return PROFILES[name]
    except KeyError:
        near = get_close_matches(name, PROFILES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UnknownProfile(f"unknown profile {name!r}.{hint} Known: {', '.join(PROFILES)}.") from None


@cache
def requirements_of(name: str) -> frozenset[str]:
    """The IDs of the requirements that apply to the profile of that name. Raises `UnknownProfile`."""
    family = profile(name)
    return frozenset(family.overrides if family.column is None else for_profile(family.column))
