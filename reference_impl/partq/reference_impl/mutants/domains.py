"""Defects in order domains (ORD): the order of first deliveries, one message in flight, what came back."""

from __future__ import annotations

from ..domains import DomainPartition
from ..store import Stored
from .registry import defect


@defect("pairs-turned-round", "ORD-1", profile="ordered-queue")
class _PairsTurnedRound(DomainPartition):
    """Of messages that wait for their first delivery every two are turned round."""

    def in_turn(self, free: list[Stored]) -> list[Stored]:
        new = [stored for stored in free if not self.came_back(stored)]
        turned = [new[n ^ 1] if n ^ 1 < len(new) else new[n] for n in range(len(new))]
        return [stored for stored in free if self.came_back(stored)] + turned


@defect("newest-first-in-a-crowd", "ORD-1", profile="ordered-queue")
class _NewestFirst(DomainPartition):
    """Where four messages wait for their first delivery the newest goes first."""

    def in_turn(self, free: list[Stored]) -> list[Stored]:
        new = [stored for stored in free if not self.came_back(stored)]
        return free if len(new) < 4 else [*(s for s in free if self.came_back(s)), *reversed(new)]


@defect("nothing-blocks", "ORD-2", profile="ordered-queue")
class _NothingBlocks(DomainPartition):
    """The next message of a key goes out while one is in flight."""

    def in_flight(self) -> set[str | None]:
        return set()


@defect("oldest-alone-blocks", "ORD-2", profile="ordered-queue")
class _OldestAloneBlocks(DomainPartition):
    """Of the messages in flight the oldest of the partition alone blocks its key."""

    def in_flight(self) -> set[str | None]:
        locked = [stored for stored in self.store.live() if stored.lock is not None]
        return {self.domain_of(stored) for stored in locked[:1]} - {None}


@defect("returned-to-the-end", "ORD-3", profile="ordered-queue")
class _ReturnedToTheEnd(DomainPartition):
    """What came back is delivered again after all that waits."""

    def in_turn(self, free: list[Stored]) -> list[Stored]:
        return sorted(free, key=self.came_back)


@defect("returned-after-the-next", "ORD-3", profile="ordered-queue")
class _ReturnedAfterTheNext(DomainPartition):
    """What came back lets the oldest message pass that was never delivered."""

    def in_turn(self, free: list[Stored]) -> list[Stored]:
        new = [stored for stored in free if not self.came_back(stored)]
        returned = [stored for stored in free if self.came_back(stored)]
        return [*new[:1], *returned, *new[1:]]
