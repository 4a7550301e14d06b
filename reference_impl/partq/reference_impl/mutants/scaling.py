"""Defects in what becomes of a queue whose number of partitions changes (REB-17)."""

from __future__ import annotations

from typing import Final

from ..flows import Assignments
from ..handoffs import Seat
from ..scaling import Scaling
from .forms import before
from .registry import defect

_ALL: Final = 2**20


@defect("REB-17", "scale", profile="solace")
def number_stays(self: Scaling, count: int) -> None:
    """A change of the number of partitions is accepted, and nothing changes."""


@defect("REB-17", "scale", before, profile="solace")
def deleted_messages_move(self: Scaling, count: int) -> None:
    """What is in partitions that are deleted moves to the first one."""
    for seat in self.assignments.seats[count:]:
        _move(seat, self.assignments.seats[0], self)


@defect("REB-17", "scale", before, profile="solace")
def lowest_are_emptied(self: Scaling, count: int) -> None:
    """The first partitions lose their messages, and those of the ones that are deleted take their place."""
    seats = self.assignments.seats
    for first, last in zip(seats[:count], seats[count:], strict=False):
        _empty(first, self)
        _move(last, first, self)


@defect("REB-17", "scale", before, profile="solace")
def the_rest_is_emptied(self: Scaling, count: int) -> None:
    """The partitions that remain lose their messages, too."""
    for seat in self.assignments.seats[:count]:
        _empty(seat, self)


@defect("REB-17", "scaled", profile="solace")
def no_rebalance(self: Assignments) -> None:
    """Another number of partitions is followed by no rebalance."""


@defect("REB-17", "scale", profile="solace")
def one_too_many(self: Scaling, count: int) -> None:
    """When partitions are added there is one more than was asked for."""
    Scaling.scale(self, count + (count > len(self.broker.partitions)))


def _empty(seat: Seat, scaling: Scaling) -> None:
    """Let a partition lose its messages."""
    scaling.deleted |= seat.unacked.keys()
    for stored in (*seat.unacked.values(), *seat.partition.heads(_ALL)):
        seat.partition.complete(stored)
    seat.unacked.clear()


def _move(old: Seat, new: Seat, scaling: Scaling) -> None:
    """Store what one partition has in another one, too."""
    contents = [stored.content for stored in old.partition.store.live()]
    new.partition.accept(contents, scaling.broker.clock.now)
