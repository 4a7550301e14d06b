"""Forwarding: a queue passes on what it stores, each message after a moment, to the next one.

What waits to be passed on is stored; the tasks that do it are volatile, and start over (`Relay.resume`). In
the next queue a message is stored as one that is sent there, in the partition of its key.
"""

from __future__ import annotations

from typing import Any, Final

from .clock import Steps
from .freedoms import taken
from .partition import Partition
from .store import Content, Holder, Letter, Stored

MOST_HOPS: Final = 4
"""So often is a message forwarded in a row (FWD-2)."""

TOO_FAR: Final = "MaxTransferHopCountExceeded"
"""The reason of a message that would be forwarded once more."""

MOST_LATE: Final = 2_000_000_000
"""ns that forwarding takes at most while the queues serve."""


class Relay:
    """How the queue passes on what it stores to the one ``onward``, ``hops`` being behind it already."""

    def __init__(self, queue: Any, onward: Any, hops: int) -> None:
        self.queue = queue
        self.onward = onward
        self.hops = hops
        self.clock = queue.clock

    def follow(self, holder: Holder, messages: int) -> None:
        """Let so many messages of the partition be passed on, each after a moment."""
        for partition in self.queue.partitions:
            for _ in range(messages if partition is holder else 0):
                self.clock.spawn(self._carry(partition))

    def resume(self) -> None:
        """The broker, or a partition, serves again: pass on what is stored."""
        for partition in self.queue.partitions:
            self.follow(partition, len(partition.waiting()))

    def _carry(self, partition: Partition) -> Steps[None]:
        free, random = self.queue.free, self.clock.random
        yield self.clock.now + (int(MOST_LATE * random() ** 4) if taken(free.forward_late, random) else 0)
        if self.queue.alive and partition.up:
            self.queue.lifetimes.sweep(partition)
            for stored in self.next_of(partition):
                self.pass_on(partition, stored)

    def next_of(self, partition: Partition) -> list[Stored]:
        """The message that is passed on next, if any is left."""
        waiting, random = partition.waiting(), self.clock.random
        if not waiting or not taken(self.queue.free.forward_any_order, random):
            return partition.heads(1)
        return partition.take([waiting[int(random() * len(waiting))]])

    def pass_on(self, partition: Partition, stored: Stored) -> None:
        """Pass on a message that was just taken, unless it came too far, or its new partition is down."""
        if self.is_too_far():
            partition.dead_letter(stored, self.reason())
            return
        home = self.home(stored.content)
        if home.up:
            partition.complete(stored)
            letter = Letter.of(stored.content)
            letter.scheduled_at = None  # its time has come
            self.onward.accept(home, [letter])
        else:
            partition.release(stored)

    def is_too_far(self) -> bool:
        """Whether what is here was forwarded as often as may be."""
        return self.hops >= MOST_HOPS

    def reason(self) -> str:
        """Why it stays there."""
        return TOO_FAR

    def home(self, content: Content) -> Partition:
        """The partition of the next queue that a message comes to."""
        found: Partition
        key = self.key_of(content)
        if key is not None:
            found = self.onward.partition_for(key)
            return found
        running = [one for one in self.onward.partitions if one.up] or self.onward.partitions
        found = running[int(self.clock.random() * len(running))]
        return found

    def key_of(self, content: Content) -> str | None:
        """The key that a message still has. Nothing is refused that the first queue took."""
        if content.session_id is not None:
            return content.session_id
        key: str | None = self.onward.rules.key_of(content)
        return key
