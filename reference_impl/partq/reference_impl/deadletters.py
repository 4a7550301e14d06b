"""The dead-letter queue: a part of it beside each partition, received, peeked and settled as the queue is.

What moves a message there is in `partition.py`. Nothing moves on from there, and nothing is set aside.
"""

from __future__ import annotations

from .clock import Clock
from .freedoms import Freedoms, taken
from .partition import Partition
from .store import Store, Stored


class DeadLetters(Partition):
    """The dead letters of the partition ``main``, under its name, in front of a store of their own."""

    __slots__ = ("clock", "free", "keeps_number")

    def __init__(
        self, main: Partition, store: Store, locks: dict[str, Stored], clock: Clock, free: Freedoms
    ) -> None:
        super().__init__(main.name, store, locks)
        self.main = main
        self.clock = clock
        self.free = free
        self.keeps_number: bool | None = None

    def take_in(self, moved: Stored, reason: str | None) -> None:
        """Store a message that was deleted in the queue just now, free to be received: under its old number,
        at its old place, or at the end, as if it were enqueued now."""
        if self.keeps_number is None:
            self.keeps_number = taken(self.free.keep_number, self.clock.random)
        if self.keeps_number:
            stored = self.store.adopt(moved, self)
        else:
            stored = self.store.append(moved.content, self.clock.now, self)
        stored.reason = reason
        self.release(stored)

    def has_free(self, now: int) -> bool:
        """Whether a message could be received now. First moves here what failed or expired in the queue."""
        self.main.tidy(now)
        return super().has_free(now)

    def next_expiry(self, otherwise: int) -> int:
        """When the next lock may end, in the queue or here, if that is before ``otherwise``."""
        return super().next_expiry(self.main.next_expiry(otherwise))
