"""Defects in the time to live (RCV-15): from when it runs, and what it ends."""

from __future__ import annotations

from ..deadletters import DeadLetters
from ..expiry import Lifetimes
from ..partition import Partition
from ..store import Stored
from .forms import answering, then
from .registry import defect


@defect("RCV-15", "has_ended")
def expired_delivered(self: Lifetimes) -> bool:
    """A message is delivered however long its time to live has ended."""
    return False


@defect("RCV-15", "goes", profile="azure-flat")
def expiry_ends_locks(self: Lifetimes, stored: Stored, now: int) -> bool:
    """A message vanishes when its time to live ends, locked or not."""
    return self.has_ended(stored, now) and not stored.is_scheduled()


@defect("RCV-15", "goes", answering, profile="azure-flat")
def deferred_live_for_ever(self: Lifetimes, stored: Stored, goes: bool) -> bool:
    """A message that was deferred is delivered by its number however long its time to live has ended."""
    return goes and not stored.deferred


@defect("RCV-15")
class DeadLettersExpire(DeadLetters):
    """A message has its time to live in the dead-letter queue, too."""

    def take_in(self, moved: Stored, reason: str | None) -> None:
        super().take_in(moved, reason)
        for stored in self.store.live():
            stored.ends = moved.ends if stored.content is moved.content else stored.ends

    def tidy(self, now: int) -> None:
        super().tidy(now)
        if self.main.lifetimes is not None:
            self.main.lifetimes.purge(self, now)


@defect("RCV-15", "lock", then, profile="azure-standard")
def lifetime_starts_with_the_lock(self: Partition, stored: Stored, until: int) -> None:
    """The time to live of a message that was delivered runs from the end of its lock."""
    if stored.content.ttl is not None:
        stored.ends = until + stored.content.ttl
