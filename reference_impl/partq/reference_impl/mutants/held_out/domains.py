"""Set aside: order domains (ORD)."""

from __future__ import annotations

from ...domains import DomainPartition
from ...store import Stored
from ..registry import defect


@defect("ORD-1", "heads", profile="ordered-queue")
def answers_backwards(self: DomainPartition, most: int) -> list[Stored]:
    """Each answer is given backwards."""
    return DomainPartition.heads(self, most)[::-1]


@defect("ORD-2", "in_flight", profile="ordered-queue")
def redelivered_block_nothing(self: DomainPartition) -> set[str | None]:
    """A message that is in flight for the second time does not block its key."""
    locked = (stored for stored in self.store.live() if stored.lock is not None and stored.tries < 2)
    return {self.domain_of(stored) for stored in locked} - {None}


@defect("ORD-3", "in_turn", profile="ordered-queue")
def often_returned_to_the_end(self: DomainPartition, free: list[Stored]) -> list[Stored]:
    """What came back twice is delivered again after all that waits."""
    return sorted(free, key=lambda stored: stored.tries > 1)
