"""Defects in order domains (ORD): the order of first deliveries, one message in flight, what came back."""

from __future__ import annotations

from ..domains import DomainPartition
from ..store import Stored
from .registry import defect


def _apart(partition: DomainPartition, free: list[Stored]) -> tuple[list[Stored], list[Stored]]:
    """What came back, and what waits for its first delivery."""
    returned = [stored for stored in free if partition.came_back(stored)]
    return returned, [stored for stored in free if not partition.came_back(stored)]


@defect("ORD-1", "in_turn", profile="ordered-queue")
def pairs_turned_round(self: DomainPartition, free: list[Stored]) -> list[Stored]:
    """Of messages that wait for their first delivery every two are turned round."""
    returned, new = _apart(self, free)
    return returned + [new[n ^ 1] if n ^ 1 < len(new) else new[n] for n in range(len(new))]


@defect("ORD-1", "in_turn", profile="ordered-queue")
def newest_first_in_a_crowd(self: DomainPartition, free: list[Stored]) -> list[Stored]:
    """Where four messages wait for their first delivery the newest goes first."""
    returned, new = _apart(self, free)
    return free if len(new) < 4 else returned + new[::-1]


@defect("ORD-2", "in_flight", profile="ordered-queue")
def nothing_blocks(self: DomainPartition) -> set[str | None]:
    """The next message of a key goes out while one is in flight."""
    return set()


@defect("ORD-2", "in_flight", profile="ordered-queue")
def oldest_alone_blocks(self: DomainPartition) -> set[str | None]:
    """Of the messages in flight the oldest of the partition alone blocks its key."""
    locked = [stored for stored in self.store.live() if stored.lock is not None]
    return {self.domain_of(stored) for stored in locked[:1]} - {None}


@defect("ORD-3", "in_turn", profile="ordered-queue")
def returned_to_the_end(self: DomainPartition, free: list[Stored]) -> list[Stored]:
    """What came back is delivered again after all that waits."""
    return sorted(free, key=self.came_back)


@defect("ORD-3", "in_turn", profile="ordered-queue")
def returned_after_the_next(self: DomainPartition, free: list[Stored]) -> list[Stored]:
    """What came back lets the oldest message pass that was never delivered."""
    returned, new = _apart(self, free)
    return [*new[:1], *returned, *new[1:]]
