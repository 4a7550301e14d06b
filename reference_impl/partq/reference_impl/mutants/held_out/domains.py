"""Set aside: order domains (ORD)."""

from __future__ import annotations

from ...domains import DomainPartition
from ...store import Stored
from ..registry import held_out


@held_out("answers-backwards", "ORD-1", profile="ordered-queue")
class _AnswersBackwards(DomainPartition):
    """Each answer is given backwards."""

    def heads(self, most: int) -> list[Stored]:
        return super().heads(most)[::-1]


@held_out("redelivered-block-nothing", "ORD-2", profile="ordered-queue")
class _RedeliveredBlockNothing(DomainPartition):
    """A message that is in flight for the second time does not block its key."""

    def in_flight(self) -> set[str | None]:
        locked = (stored for stored in self.store.live() if stored.lock is not None and stored.tries < 2)
        return {self.domain_of(stored) for stored in locked} - {None}


@held_out("often-returned-to-the-end", "ORD-3", profile="ordered-queue")
class _OftenReturned(DomainPartition):
    """What came back twice is delivered again after all that waits."""

    def in_turn(self, free: list[Stored]) -> list[Stored]:
        return sorted(free, key=lambda stored: stored.tries > 1)
