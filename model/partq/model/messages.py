"""A message as an application sends it, and as a broker shows it; and the rule that finds its key. Nothing
here knows about partitions, time or brokers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

MAX_INT = 2**63 - 1
"""Largest signed 64-bit integer; times, counts and limits never exceed it."""

MAX_SEQ = 2**64 - 1
"""Largest sequence number: these are unsigned, with the partition in the top 16 bits (SEQ-1, SEQ-2)."""

SOLACE_KEY = "QUEUE_PARTITION_KEY"
JMS_KEY = "JMSXGroupID"


class InvalidMessage(ValueError):
    """A message's field has the wrong type or range."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message as the application hands it to a client.

    ``scheduled_at`` and ``ttl`` are nanoseconds (of the history's clock, and a length). ``properties``
    are the user properties, as pairs, so that a message can be hashed. ``without_id``: the application gave
    it no message ID, and ``id`` is a name that nobody else knows.

    Raises `InvalidMessage` where a field is not what it says.
    """

    id: str
    body: str = ""
    session_id: str | None = None
    partition_key: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    scheduled_at: int | None = None
    ttl: int | None = None
    without_id: bool = False

    def __post_init__(self) -> None:
        if type(self.id) is not str or type(self.body) is not str:
            raise InvalidMessage(f"id and body must be text: {self.id!r}, {type(self.body).__name__}")
        if self.session_id is not None:
            _check_key("session_id", self.session_id)
        if self.partition_key is not None:
            _check_key("partition_key", self.partition_key)
        if self.properties != () and not all(type(k) is str and type(v) is str for k, v in self.properties):
            raise InvalidMessage(f"properties must be pairs of text: {self.properties!r}")
        if self.scheduled_at is not None:
            _check_time("scheduled_at", self.scheduled_at)
        if self.ttl is not None:
            _check_time("ttl", self.ttl)
        if type(self.without_id) is not bool:
            raise InvalidMessage(f"without_id must be true or false: {self.without_id!r}")

    def property(self, name: str) -> str | None:
        """The user property of that name, or None."""
        return next((value for key, value in self.properties if key == name), None)


@dataclass(frozen=True, slots=True)
class Made(Message):
    """A message that the broker made of another one, ``of``, by what asks it to: its name, and the change."""

    of: Message | None = None
    by: tuple[str, str] = ("", "")


def original(message: Message) -> Message:
    """The message that a client sent."""
    return message.of if isinstance(message, Made) and message.of is not None else message


def sent_of(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Those that a client sent."""
    return tuple(message for message in messages if not isinstance(message, Made))


def _check_key(name: str, value: object) -> None:
    if type(value) is not str or not value:
        raise InvalidMessage(f"{name} must be non-empty text or absent: {value!r}")


def _check_time(name: str, value: object) -> None:
    if type(value) is not int or not 0 <= value <= MAX_INT:
        raise InvalidMessage(f"{name} must be nanoseconds from 0 to 2^63-1: {value!r}")


_WHILE_SCHEDULED: Final = "~scheduled"
_AGAIN: Final = "~again"
_DEAD: Final = "~dead"
_COPY: Final = "~copy"
_MADE: Final = "~made "


def as_scheduled(id: str) -> str:
    """The name of a message while it is scheduled: a birth of its own, with a number of its own."""
    return id + _WHILE_SCHEDULED


def as_again(id: str) -> str:
    """The name of a message that is activated a second time."""
    return id + _AGAIN


def as_dead(id: str) -> str:
    """The name of a message in the dead-letter queue: a birth of its own, with either number."""
    return id + _DEAD


def as_copy(id: str, nth: int) -> str:
    """The name of the n-th message that was sent under this ID, counted from 1."""
    return id if nth == 1 else f"{id}{_COPY}{nth}"


def as_made(name: str, nth: int) -> str:
    """The name of the n-th message that the broker made of the one of this name, counted from 1."""
    return f"{name}{_MADE}{nth}"


def message_id(name: str) -> str:
    """The message ID that the message of this name bears."""
    return as_active(name).partition(_MADE)[0].partition(_COPY)[0]


def is_made(name: str) -> bool:
    """Whether the broker made the message of another one."""
    return _MADE in name


def is_copy(name: str) -> bool:
    """Whether another message was sent before under the same ID."""
    return _COPY in name


def is_scheduled(name: str) -> bool:
    """Whether the name is of a message while it is scheduled."""
    return name.endswith(_WHILE_SCHEDULED)


def is_dead(name: str) -> bool:
    """Whether the name is of a message in the dead-letter queue."""
    return name.endswith(_DEAD)


def as_active(name: str) -> str:
    """The name of the message where it is delivered: once it is activated, and not dead-lettered."""
    return name.removesuffix(_DEAD).removesuffix(_WHILE_SCHEDULED).removesuffix(_AGAIN)


def births_of(name: str) -> tuple[str, ...]:
    """Every name that the message of this name may have."""
    id = as_active(name)
    return id, as_scheduled(id), as_again(id), as_dead(id)


ACTIVE: Final = "active"
DEFERRED: Final = "deferred"
SCHEDULED: Final = "scheduled"
"""States in which a peek shows a message that was deferred, is scheduled, or neither. Any other text says
nothing."""


class Delivery(NamedTuple):
    """A message as a broker shows it, received or peeked. What the broker does not show is None.

    ``delivery_count`` is the number of earlier locks that ended by abandon or expiry: 0 the first time.
    ``lock`` is an opaque token; ``locked_until`` and ``enqueued_at`` are ns of the history's clock.
    ``partition`` is the broker's own name of it as a number (never assumed to be 0, 1, 2 …).
    ``properties``: empty where the message is shown to have none. ``reason``: why it was dead-lettered.
    ``message_id``: the ID of a message that was sent without one (`Message.without_id`), empty where it is
    shown to have none; of others ``id`` says it.
    """

    id: str
    body: str | None = None
    seq: int | None = None
    partition: int | None = None
    enqueued_at: int | None = None
    delivery_count: int | None = None
    lock: str | None = None
    locked_until: int | None = None
    state: str | None = None
    session_id: str | None = None
    partition_key: str | None = None
    properties: tuple[tuple[str, str], ...] | None = None
    redelivered: bool | None = None
    reason: str | None = None
    message_id: str | None = None


class Session(NamedTuple):
    """A session that a client has locked. ``locked_until`` (ns of the history's clock): the end of the lock;
    None where it is not shown."""

    session_id: str
    locked_until: int | None = None


class Overview(NamedTuple):
    """What a get of an entity answers; None: that is not shown. ``active``, ``scheduled`` and
    ``dead_lettered`` count messages, over all partitions. ``status``: its availability, in the broker's
    word."""

    active: int | None = None
    scheduled: int | None = None
    dead_lettered: int | None = None
    partitions: int | None = None
    status: str | None = None


class Created(NamedTuple):
    """An entity that was created. ``partitioned``: whether it is; None: that is not shown."""

    partitioned: bool | None = None


class SessionState(NamedTuple):
    """The state of a session, as its holder reads it: empty where it has none."""

    state: str


def is_shown_as(message: Message, shown: Delivery) -> bool:
    """Whether body and keys, as far as they are shown, are those of the message (RCV-1)."""
    return (
        shown.body in (None, message.body)
        and shown.session_id in (None, message.session_id)
        and shown.partition_key in (None, message.partition_key, message.session_id)
    )


class KeyRule(StrEnum):
    """Where a broker family takes a message's partition key from: session ID, else partition key; a user
    property; the partition key alone."""

    SERVICE_BUS = "service-bus"
    USER_PROPERTY = "user-property"
    PARTITION_KEY = "partition-key"


_BY_PROPERTY: Final = KeyRule.USER_PROPERTY
_ALONE: Final = KeyRule.PARTITION_KEY
"""Under names of their own, as they are asked for with every message (see `operations.Outcome`)."""


def effective_key(message: Message, rule: KeyRule, by_id: bool = False) -> str | None:
    """The key that decides the partition, or None for a keyless message (KEY-1, KEY-2, KEY-5, KEY-8).
    ``by_id``: where no other is, the message ID is the key (KEY-4).

    A message whose session ID and partition key differ (KEY-3) has no valid key; callers reject it
    before they ask. For it the session ID is returned.
    """
    if rule is _BY_PROPERTY:
        return message.property(SOLACE_KEY) or message.property(JMS_KEY)
    if rule is _ALONE:
        return message.partition_key
    key = message.session_id if message.session_id is not None else message.partition_key
    return message_id(message.id) if key is None and by_id else key


def effective_keys(messages: Iterable[Message], rule: KeyRule) -> set[str | None]:
    """The keys that decide the partitions of these messages; None is among them where one is keyless."""
    return {effective_key(message, rule) for message in messages}


def conflicting(message: Message) -> bool:
    """Whether its session ID and partition key are both set and differ (KEY-3)."""
    session, key = message.session_id, message.partition_key
    return session is not None and key is not None and session != key


def ambiguous(message: Message, rule: KeyRule) -> bool:
    """Whether it bears two different keys; no source says which one counts (KEY-8)."""
    if rule is not _BY_PROPERTY or len(message.properties) < 2:
        return False
    return len({message.property(SOLACE_KEY) or None, message.property(JMS_KEY) or None, None}) > 2
