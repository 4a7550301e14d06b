"""One partition at work: which messages are free, which are locked, and until when.

Everything here happens at one instant; who asks, and what travels in between, is elsewhere. What a
partition knows beyond its store (locks, what is free) is volatile: `recover` rebuilds it from the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

from .duplicates import Memory
from .store import Content, SessionStates, Store, Stored

SPENT: Final = "MaxDeliveryCountExceeded"
"""The reason of a message whose deliveries failed too often (RCV-9)."""


class Waiting(Protocol):
    """Where scheduled messages wait for their time."""

    def enter(self, stored: Stored) -> None: ...


class Ageing(Protocol):
    """Removes messages whose time to live has ended."""

    def begin(self, stored: Stored) -> None: ...
    def follow(self, stored: Stored, heir: Stored) -> None: ...
    def purge(self, partition: Partition, now: int) -> None: ...


class DeadLetterQueue(Protocol):
    """Where dead-lettered messages go."""

    up: bool
    store: Store

    def take_in(self, moved: Stored, reason: str | None) -> None: ...
    def recover(self, counted: bool = False) -> None: ...


@dataclass(eq=False, repr=False, slots=True)
class Partition:
    """A partition by its ``name`` (a number), in front of its store.

    ``_locks`` is the broker's table of all locks by token, shared by its partitions. After ``most_tries``
    failed deliveries a message is dead-lettered (None: never): at once, or when it would be delivered again
    (``dead_letters_late``). ``dead_letters``: its part of the dead-letter queue, None in that itself, where
    ``main`` is this partition. ``timetable``: None where nothing can be scheduled; ``lifetimes``:
    None where messages live for ever; ``memory``: None where duplicates are not detected;
    ``session_states``: None where there are no sessions.
    """

    name: int
    store: Store
    _locks: dict[str, Stored]
    most_tries: int | None = None
    dead_letters_late: bool = False
    up: bool = True
    main: Partition = field(init=False)
    dead_letters: DeadLetterQueue | None = None
    timetable: Waiting | None = None
    lifetimes: Ageing | None = None
    memory: Memory | None = None
    session_states: SessionStates | None = None
    _free: list[tuple[int, Stored]] = field(default_factory=list)
    _leases: list[tuple[int, int, Stored, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.main = self

    @property
    def latest(self) -> int:
        """The last enqueued time."""
        return self.store.latest

    def lead(self, times: Sequence[int]) -> None:
        """Set how many ns earlier the enqueued times of the messages stored next are."""
        self.store.leads = list(times)

    def accept(self, contents: Sequence[Content], now: int) -> None:
        """Store messages at the end, free to be received, or scheduled."""
        append = self.store.append
        for content in contents:
            self.offer(append(content, now, self))
        self.store.leads.clear()

    def offer(self, stored: Stored) -> None:
        """Make a message available, now or at its time."""
        if self.lifetimes is not None:
            self.lifetimes.begin(stored)
        if self.timetable is not None and stored.content.scheduled_at is not None:
            self.timetable.enter(stored)
        else:
            heappush(self._free, (stored.order, stored))

    def fresh(self, contents: Sequence[Content], now: int) -> Sequence[Content]:
        """The messages of a request that are to be stored now, without duplicates."""
        return contents if self.memory is None else self.memory.fresh(contents, now)

    def duplicates(self, hidden: Sequence[Stored], now: int) -> Sequence[Stored]:
        """The duplicates among reserved messages that are to be accepted now."""
        return () if self.memory is None else self.memory.duplicates(hidden, now)

    def activate(self, stored: Stored, now: int) -> Stored:
        """Store a scheduled message anew, at the end, free to be received."""
        self.store.delete(stored)
        if self.memory is not None:
            self.memory.activate(stored.content, now)
        heir = self.store.append(stored.content, now, self)
        if self.lifetimes is not None:
            self.lifetimes.follow(stored, heir)
        heappush(self._free, (heir.order, heir))
        return heir

    def reserve(self, contents: Sequence[Content], now: int) -> list[Stored]:
        """Give messages their numbers and places; they stay hidden."""
        hidden = [self.store.append(content, now, self) for content in contents]
        self.store.leads.clear()
        for stored in hidden:
            self.store.hide(stored)
        return hidden

    def reveal(self, hidden: Sequence[Stored]) -> None:
        """Accept reserved messages: they are free to be received, or scheduled."""
        for stored in hidden:
            self.store.reveal(stored)
            self.offer(stored)

    def withdraw(self, hidden: Sequence[Stored]) -> None:
        """Forget reserved messages. Their numbers are used up."""
        for stored in hidden:
            self.store.delete(stored)

    def burn(self, numbers: int) -> None:
        """Use up numbers without storing anything."""
        for _ in range(numbers):
            self.store.next_number()

    def has_free(self, now: int) -> bool:
        """Whether a message could be received now."""
        self.tidy(now)
        return bool(self._free)

    def tidy(self, now: int) -> None:
        """Before a delivery: end overdue locks, and move what is dead-lettered."""
        leases = self._leases
        if leases and leases[0][0] <= now:
            self.expire(now)
        if self.dead_letters_late:
            self.bury()
        if self.lifetimes is not None:
            self.lifetimes.purge(self, now)

    def bury(self) -> None:
        """Dead-letter the messages that were delivered often enough and are not locked."""
        spent = [stored for stored in self.store.live() if stored.lock is None and self.is_spent(stored)]
        for stored in self.take(spent) if spent else ():
            self.dead_letter(stored, SPENT)

    def is_spent(self, stored: Stored) -> bool:
        """Whether too many deliveries of the message failed for another one."""
        return self.most_tries is not None and stored.count >= self.most_tries

    def dead_letter(self, stored: Stored, reason: str | None) -> None:
        """Move a message to the dead-letter queue."""
        self.complete(stored)
        if self.dead_letters is not None:
            self.dead_letters.take_in(stored, reason)

    def heads(self, most: int) -> list[Stored]:
        """Remove up to ``most`` of the oldest available messages. The caller locks or deletes them."""
        free = self._free
        return [heappop(free)[1] for _ in range(min(most, len(free)))]

    def waiting(self) -> list[Stored]:
        """The free messages, oldest first."""
        return [stored for _, stored in sorted(self._free)]

    def take(self, chosen: list[Stored]) -> list[Stored]:
        """Remove these from the free messages. The caller locks or deletes them."""
        taken = set(map(id, chosen))
        self._free = [entry for entry in self._free if id(entry[1]) not in taken]
        heapify(self._free)
        return chosen

    def lock(self, stored: Stored, token: str, until: int) -> None:
        """Lock the message until then."""
        stored.lock = token
        stored.until = until
        stored.told = stored.count
        stored.tries += 1
        self._locks[token] = stored
        heappush(self._leases, (until, stored.order, stored, token))
        self.store.keep(stored)

    def hold(self, stored: Stored, token: str) -> None:
        """Lock the message without a time limit."""
        stored.lock = token
        stored.tries += 1
        self._locks[token] = stored
        self.store.keep(stored)

    def renew(self, stored: Stored, until: int) -> None:
        """Move the end of a lock."""
        stored.until = until
        heappush(self._leases, (until, stored.order, stored, stored.lock or ""))
        self.store.keep(stored)

    def holds(self, stored: Stored, token: str, now: int) -> bool:
        """Whether that lock still holds."""
        return stored.lock == token and now < stored.until

    def settle(self, action: str, stored: Stored) -> None:
        """End a message's lock as its holder wants."""
        match action:
            case "complete":
                self.complete(stored)
            case "dead_letter":
                self.dead_letter(stored, stored.given_reason)
            case "defer":
                self.defer(stored)
            case _:
                self.abandon(stored)

    def complete(self, stored: Stored) -> None:
        """Delete a message, locked or just taken."""
        self._unlock(stored)
        self.store.delete(stored)

    def defer(self, stored: Stored) -> None:
        """Set a locked message aside."""
        stored.deferred = True
        self.release(stored)

    def abandon(self, stored: Stored) -> None:
        """Give a locked message back: one more failed delivery."""
        stored.count += 1
        if not self.dead_letters_late and self.is_spent(stored):
            self.dead_letter(stored, SPENT)
        else:
            self.release(stored)

    def release(self, stored: Stored) -> None:
        """End a lock, or undo a take, as if it had never been."""
        self._unlock(stored)
        self.store.keep(stored)
        if not stored.deferred:
            heappush(self._free, (stored.order, stored))

    def expire(self, now: int) -> None:
        """End the locks whose time is over."""
        leases = self._leases
        while leases and leases[0][0] <= now:
            until, _, stored, token = heappop(leases)
            if stored.lock == token and stored.until == until:
                self.lapse(stored)

    def lapse(self, stored: Stored) -> None:
        """A message's lock expires: one more failed delivery."""
        self.abandon(stored)

    def next_expiry(self, otherwise: int) -> int:
        """When the next lock may end, if that is before ``otherwise``."""
        leases = self._leases
        while leases and leases[0][2].lock != leases[0][3]:
            heappop(leases)
        return min(leases[0][0], otherwise) if leases else otherwise

    def visible(self, first: int) -> Iterator[Stored]:
        """What a peek may show, oldest first: everything stored, locked or not."""
        return self.store.live(first)

    def recover(self, counted: bool = False) -> None:
        """Start over from the store: every lock is gone, every message free, or scheduled. ``counted``: a
        lock so lost is one more failed delivery."""
        self._free = []
        self._leases = []
        for stored in list(self.store.live()):
            if counted and stored.lock is not None:
                self.abandon(stored)
            elif not stored.is_scheduled():
                self.release(stored)

    def _unlock(self, stored: Stored) -> None:
        if stored.lock is not None:
            self._locks.pop(stored.lock, None)
            stored.lock = None
            stored.enlisted = None
