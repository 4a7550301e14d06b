"""A queue's settings, and the shape in which clients get messages. Data only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from .freedoms import Freedoms

SECOND: Final = 1_000_000_000
"""Nanoseconds."""


class Shown(NamedTuple):
    """A message as a client sees it; a field that is not shown is None."""

    id: str
    body: str = ""
    seq: int | None = None
    partition: int | None = None
    enqueued_at: int | None = None
    delivery_count: int | None = None
    lock: str | None = None
    locked_until: int | None = None
    state: str | None = None
    session_id: str | None = None
    partition_key: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    redelivered: bool | None = None
    reason: str | None = None
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Domains:
    """What a queue promises of its order domains (ORD). ``by``: a domain is one "key", one "partition", or
    there are none (""). ``first_in_order``: first deliveries follow the order of acceptance. ``blocking``:
    nothing of a domain goes out while a message of it is in flight. ``returned_first``: what came back goes
    before what was not delivered yet."""

    by: str = ""
    first_in_order: bool = False
    blocking: bool = False
    returned_first: bool = False


@dataclass(slots=True)
class Config:
    """One queue's settings. Durations are ns.

    ``first_name``: partitions are named by numbers from here on. ``seq_start``: the counter of each
    partition's first message. ``peek_cap`` and ``peek_bytes``: the most that one peek returns.
    ``eagerness``: how often a further answer to a receive comes before it was called off. ``view``: what
    clients get of a message's fields (those of `Shown`, in that order or by name). ``max_delivery_count``:
    after so many failed deliveries a message is dead-lettered; None: never. ``lateness``: how late timers and
    news of assignments may be. ``domains``: None where order goes by numbers. ``caches``: front ends keep
    what they fetched. ``connection_ends_locks``: a client's locks end with its connection.
    ``without``: rules of the catalogue that do not bind this queue: it has not what they are about.
    ``dead_letters_expired``: messages whose time to live has ended are dead-lettered. (Else they vanish.)
    ``duplicate_detection``: a message ID is remembered for the ``duplicate_window``, and its duplicates are
    dropped.
    ``requires_session``: every message belongs to a session.
    ``max_message_size``: the most bytes of a request to store messages.
    ``subscriptions``: (name, rule) of each; with some it is a topic.
    ``forward_to``: the queues that pass on to each other what it is sent; the last one keeps it. NAME:1 has a
    single partition, and is not partitioned unless all queues are. The first of a topic is the one that
    forwards, Subscriptions/NAME.
    ``transaction_timeout``: after being idle for so long a transaction is rolled back;
    ``max_transaction_messages``: the most that are sent in one.
    ``max_entities``, ``max_partitioned_entities``: the quotas of the namespace.
    ``max_size``: the bytes that each partition has room for; None: any number.
    ``freedoms``: the choices that it makes use of.
    ``tell(partition, flow, state)`` hears of assignments.
    """

    partitions: int = 1
    partitioned: bool = True
    flows: bool = False
    counter_bits: int = 48
    first_name: int = 1
    seq_start: int = 1
    lock_duration: int = 30 * SECOND
    rebalance_delay: int = 5 * SECOND
    max_handoff: int = 3 * SECOND
    peek_cap: int | None = None
    peek_bytes: int = 64_000
    front_ends: int = 2
    eagerness: float = 0.3
    salt: int = 0
    max_delivery_count: int | None = None
    lateness: int = 0
    domains: Domains | None = None
    caches: bool = True
    connection_ends_locks: bool = False
    without: frozenset[str] = frozenset()
    dead_letters_expired: bool = False
    duplicate_detection: bool = False
    duplicate_window: int = 600 * SECOND
    requires_session: bool = False
    max_message_size: int = 1 << 20
    subscriptions: tuple[tuple[str, str], ...] = ()
    transaction_timeout: int = 120 * SECOND
    max_transaction_messages: int = 100
    max_entities: int = 10_000
    max_partitioned_entities: int = 100
    forward_to: tuple[str, ...] = ()
    max_size: int | None = None
    freedoms: Freedoms = field(default_factory=Freedoms)
    view: Callable[..., Any] = Shown
    tell: Callable[[int, str, str], None] = lambda partition, flow, state: None

    def __post_init__(self) -> None:
        if not self.has("RCV-9"):
            self.max_delivery_count = None
        self.duplicate_detection &= self.has("DUP-1")
        self.requires_session &= self.has("SES-1")
        if not self.has("TOPIC-1"):
            self.subscriptions = ()
        if not self.has("FWD-1"):
            self.forward_to = ()

    def chain(self) -> dict[str, Config]:
        """Of each queue that it forwards to the settings, by name."""
        own = replace(self, forward_to=(), subscriptions=())
        single = replace(own, partitions=1, partitioned=self.partitioned and self.has("ENT-3"))
        queues = (entry for entry in self.forward_to if "/" not in entry)
        return {entry.removesuffix(":1"): single if entry.endswith(":1") else own for entry in queues}

    def source(self) -> str:
        """The name of the subscription that forwards; empty where it is the queue itself."""
        return next((entry.partition("/")[2] for entry in self.forward_to if "/" in entry), "")

    def has(self, rule: str) -> bool:
        """Whether the queue has what that rule of the catalogue is about."""
        return rule not in self.without
