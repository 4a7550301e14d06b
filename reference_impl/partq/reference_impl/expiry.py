"""Time to live: an expired message is not delivered, and is removed at the next request, or before.

A time to live runs from the enqueued time. While a message is locked, or scheduled, it stays; a dead letter
has no time to live. What becomes of what has ended, gone or dead-lettered, is a setting.
"""

from __future__ import annotations

from typing import Final

from .clock import Clock
from .freedoms import Freedoms, taken
from .partition import Partition
from .store import Stored

EXPIRED: Final = "TTLExpiredException"
"""The reason of a message that is dead-lettered since its time to live has ended."""


class Lifetimes:
    """When the messages of a queue have lived long enough. ``dead_letters``: they are dead-lettered then."""

    def __init__(self, clock: Clock, free: Freedoms, dead_letters: bool) -> None:
        self.clock = clock
        self.free = free
        self.dead_letters = dead_letters
        self.any = False

    def begin(self, stored: Stored) -> None:
        """A message was stored: its time runs from its enqueued time on."""
        if stored.content.ttl is not None:
            self.any = True
            stored.ends = stored.enqueued_at + stored.content.ttl

    def follow(self, stored: Stored, heir: Stored) -> None:
        """A scheduled message was activated: its time runs from then on, or from its send."""
        self.begin(heir)
        if stored.ends is not None and taken(self.free.live_from_send, self.clock.random):
            heir.ends = stored.ends

    def has_ended(self, stored: Stored, now: int) -> bool:
        """Whether the message may not be delivered any more."""
        return stored.ends is not None and stored.ends <= now

    def is_stale(self, stored: Stored, now: int) -> bool:
        """Whether a message that a front end locked earlier is not delivered any more."""
        return self.has_ended(stored, now) and not taken(self.free.deliver_fetched, self.clock.random)

    def goes(self, stored: Stored, now: int) -> bool:
        """Whether the message, which no client holds, is to be removed now."""
        return self.has_ended(stored, now) and stored.lock is None and not stored.is_scheduled()

    def purge(self, partition: Partition, now: int) -> None:
        """Remove all expired messages that are not locked."""
        ended = [stored for stored in partition.store.live() if self.goes(stored, now)] if self.any else []
        for stored in partition.take(ended) if ended else ():
            self.vanish(partition, stored)

    def vanish(self, partition: Partition, stored: Stored) -> None:
        """Delete a message, or move it to the dead-letter queue."""
        if self.dead_letters:
            partition.dead_letter(stored, EXPIRED)
        else:
            partition.complete(stored)

    def sweep(self, partition: Partition) -> None:
        """Before a peek: the broker may already have removed expired messages."""
        if self.any and taken(self.free.vanish_early, self.clock.random):
            self.purge(partition, self.clock.now)
