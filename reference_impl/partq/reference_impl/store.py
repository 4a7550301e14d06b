"""The durable state: one partition's messages, its counter of numbers, and the states of its sessions.

A store is durable. It knows nothing of locks, clients or time to come; a killed broker finds in it what was
accepted and not deleted.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self


class Content(Protocol):
    """A message as a client hands it over; the broker only carries it."""

    @property
    def id(self) -> str: ...
    @property
    def body(self) -> str: ...
    @property
    def session_id(self) -> str | None: ...
    @property
    def partition_key(self) -> str | None: ...
    @property
    def properties(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def scheduled_at(self) -> int | None: ...
    @property
    def ttl(self) -> int | None: ...
    @property
    def without_id(self) -> bool: ...


@dataclass(slots=True)
class Letter:
    """A message of the broker's own making. ``message_id``: the one that it was assigned, where its client
    gave it none; None: not yet."""

    id: str
    body: str
    session_id: str | None
    partition_key: str | None
    properties: tuple[tuple[str, str], ...]
    scheduled_at: int | None
    ttl: int | None
    without_id: bool = False
    message_id: str | None = None

    @classmethod
    def of(cls, one: Content) -> Self:
        """The same of a message."""
        keys, times = (one.session_id, one.partition_key), (one.scheduled_at, one.ttl)
        assigned = one.message_id if isinstance(one, Letter) else None
        return cls(one.id, one.body, *keys, one.properties, *times, one.without_id, assigned)


def id_of(content: Content) -> str:
    """The message ID that it bears: the one that its client gave it, or else was assigned."""
    return content.id if not isinstance(content, Letter) or content.message_id is None else content.message_id


@dataclass(slots=True)
class Ticket(Letter):
    """A message whose client is told the ``number`` that it is stored under first."""

    number: int | None = None


class Holder(Protocol):
    """The partition that holds a message, as far as it is reached through its messages."""

    @property
    def name(self) -> int: ...
    @property
    def up(self) -> bool: ...
    @property
    def main(self) -> Holder: ...
    @property
    def latest(self) -> int: ...
    def lead(self, times: Sequence[int]) -> None: ...
    def accept(self, contents: Sequence[Content], now: int) -> None: ...
    def renew(self, stored: Stored, until: int) -> None: ...
    def reserve(self, contents: Sequence[Content], now: int) -> list[Stored]: ...
    def fresh(self, contents: Sequence[Content], now: int) -> Sequence[Content]: ...
    def duplicates(self, hidden: Sequence[Stored], now: int) -> Sequence[Stored]: ...
    def reveal(self, hidden: Sequence[Stored]) -> None: ...
    def withdraw(self, hidden: Sequence[Stored]) -> None: ...
    def burn(self, numbers: int) -> None: ...
    def activate(self, stored: Stored, now: int) -> Stored: ...
    def holds(self, stored: Stored, token: str, now: int) -> bool: ...
    def complete(self, stored: Stored) -> None: ...
    def settle(self, action: str, stored: Stored) -> None: ...
    def abandon(self, stored: Stored) -> None: ...
    def release(self, stored: Stored) -> None: ...


@dataclass(eq=False, repr=False, slots=True)
class Stored:
    """One accepted message, and the state of its delivery.

    ``order`` counts acceptances of its partition and never rolls over; ``number`` is what clients see.
    ``count`` is how many of its locks ended by abandon or expiry, ``tries`` how often it was handed out.
    ``lock`` (None: free) holds until ``until``; ``enlisted`` names the transaction that settles it.
    ``told`` is what ``count`` was when it was last handed out. ``hidden``: it has a number, and no client
    may see it yet. ``deferred``: it was set aside. ``due``: its time, if it was scheduled; ``heir``: what
    was appended then. ``ends``: when its time to live does. ``reason``: why it is in the dead-letter queue;
    ``given_reason``: the one that its holder gave for moving it there.
    """

    content: Content
    order: int
    number: int
    enqueued_at: int
    partition: Holder
    count: int = 0
    told: int = 0
    tries: int = 0
    lock: str | None = None
    until: int = 0
    enlisted: str | None = None
    gone: bool = False
    hidden: bool = False
    deferred: bool = False
    due: int | None = None
    ends: int | None = None
    heir: Stored | None = None
    reason: str | None = None
    given_reason: str | None = None

    def is_scheduled(self) -> bool:
        """Whether the message waits for its time."""
        return self.due is not None and not self.gone


class Store:
    """One partition's messages, in order of acceptance.

    ``high`` stands above the counter's ``bits`` in every number: the partition's name, or 0. ``latest``: the
    last enqueued time. ``leads``: how much earlier than they are stored the next messages get theirs, ns.
    """

    __slots__ = ("_bits", "_counter", "_high", "_holes", "_log", "_orders", "latest", "leads")

    def __init__(self, bits: int, start: int, name: int) -> None:
        self._bits = bits
        self._high = name << bits
        self._counter = start
        self._orders = 0
        self._log: list[Stored] = []
        self._holes = 0
        self.latest = 0
        self.leads: list[int] = []

    def keep(self, stored: Stored) -> None:
        """A message's durable state has changed."""

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        """Accept a message."""
        at = now - self.leads.pop(0) if self.leads else now
        stored = Stored(content, self._orders, self.next_number(), at, partition)
        self._orders += 1
        self.latest = max(self.latest, at)
        self._log.append(stored)
        if isinstance(content, Ticket) and content.number is None:
            content.number = stored.number
        self.keep(stored)
        return stored

    def adopt(self, moved: Stored, partition: Holder) -> Stored:
        """Take in a message of another store, under its number and at its place in the order."""
        stored = Stored(moved.content, moved.order, moved.number, moved.enqueued_at, partition)
        insort(self._log, stored, key=_order)
        self._orders = max(self._orders, stored.order + 1)
        self.keep(stored)
        return stored

    def next_number(self) -> int:
        """The next free number; the counter rolls over to zero when its bits are exhausted."""
        number = self._high | self._counter
        self._counter = (self._counter + 1) % (1 << self._bits)
        return number

    def hide(self, stored: Stored) -> None:
        """Reserve a place for a message that is not accepted yet."""
        stored.hidden = True
        self._holes += 1

    def reveal(self, stored: Stored) -> None:
        """Accept a hidden message."""
        stored.hidden = False
        self._holes -= 1
        self.keep(stored)

    def delete(self, stored: Stored) -> None:
        """Forget a message for good."""
        if stored.hidden:
            self.reveal(stored)
        stored.gone = True
        self._holes += 1
        if self._holes > 16 and self._holes * 2 > len(self._log):
            self._log = [kept for kept in self._log if not kept.gone]
            self._holes = sum(kept.hidden for kept in self._log)
        self.keep(stored)

    def is_empty(self) -> bool:
        """Whether no message is stored; hidden ones do not count."""
        return self._holes == len(self._log)

    def live(self, first: int = 0) -> Iterator[Stored]:
        """The messages from that place in the order of acceptance on, oldest first."""
        log = self._log
        for index in range(bisect_left(log, first, key=_order) if first else 0, len(log)):
            stored = log[index]
            if not stored.gone and not stored.hidden:
                yield stored

    def place(self, number: int) -> int:
        """The place in the order of acceptance at which messages numbered ``number`` or later begin."""
        half = 1 << (self._bits - 1)
        full = 1 << self._bits
        log = self._log
        index = bisect_left(log, True, key=lambda stored: (stored.number - number) % full < half)
        return log[index].order if index < len(log) else self._orders


class SessionStates:
    """The states of the sessions of a partition. They are no volatile memory: what holds a session ends, and
    its state stays."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def find(self, name: str) -> str:
        """The state of the session."""
        return self.texts.get(name, "")

    def put(self, name: str, state: str) -> None:
        """Set the state of the session."""
        self.texts[name] = state


def _order(stored: Stored) -> int:
    return stored.order
