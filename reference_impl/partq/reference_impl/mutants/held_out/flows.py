"""Set aside: what flows are delivered, in what order, and what they see of partitions (REB)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import Refused
from ...flowend import FlowEnd
from ...flows import Assignments
from ...handoffs import PAUSED, READY, UNBOUND, Flow, Seat
from ...partition import Partition
from ...store import Content, Stored
from ..families import Revealing, Sharing, kept
from ..forms import before, then
from ..registry import defect

CROWD = 4
"""So many free messages make a crowd."""

LARGE = 3
"""So many messages make a large answer."""


@defect("REB-2", profile="solace")
class RoomFilledFromOthers(Sharing):
    """An answer that has room, and deletes what it holds, gets one message of each other flow's partition."""

    LIMIT = 1

    def serves(self, flow: Flow, shown: Sequence[Any]) -> Sequence[Seat]:
        others = [seat for seat in self.assignments.seats if seat.flow not in (None, flow)]
        return others if self.seats_of(flow) else ()


@defect("REB-3", "heads", profile="solace")
def crowd_served_from_the_back(self: Partition, most: int) -> list[Stored]:
    """Of four free messages or more the newest are delivered first."""
    waiting = self.waiting()
    return self.take((waiting[::-1] if len(waiting) >= CROWD else waiting)[:most])


@defect("REB-3", "give_back", before, profile="solace")
def given_back_in_reverse(self: Assignments, seat: Seat) -> None:
    """What a flow had not acknowledged when it lost the partition is delivered in reverse order."""
    unacked = sorted(seat.unacked.values(), key=lambda stored: stored.order)
    orders = [stored.order for stored in reversed(unacked)]
    for stored, order in zip(unacked, orders, strict=True):
        stored.order = order


@defect("REB-13", "set_state", profile="solace")
def orphans_said_paused(self: Assignments, seat: Seat, state: str) -> None:
    """A partition whose flow is gone is said to be paused."""
    Assignments.set_state(self, seat, PAUSED if state == UNBOUND else state)
    seat.state = state


@defect("REB-13", "rebalance", profile="solace")
def rebalance_says_unbound(self: Assignments) -> None:
    """What stays where it is in a rebalance is said to be unbound for a moment, though its flow is there."""
    before = {seat: seat.flow for seat in self.seats if seat.state == READY}
    Assignments.rebalance(self)
    for seat, flow in before.items():
        if flow is not None and seat.flow is flow and seat.state == READY:
            self.report(seat.partition.name, flow.name, UNBOUND)
            self.report(seat.partition.name, flow.name, READY)


@defect("REB-14", "collect", before, profile="solace")
def request_ends_handoff(self: FlowEnd, flow: Flow) -> None:
    """A handoff ends when the new flow asks for messages."""
    for seat in self.assignments.seats:
        if seat.state == PAUSED and seat.heir is flow and seat.unacked:
            self.assignments.give_back(seat)
            self.assignments.give(seat, flow)


@defect("REB-14", "settled", then, profile="solace")
def settlement_restarts_handoff(self: Assignments, seat: Seat) -> None:
    """Each message that is settled during a handoff starts its time anew, if others are unacknowledged."""
    if seat.state == PAUSED and seat.unacked:
        self.time_handoff(seat)


@defect("REB-14", "start_handoff", then, profile="solace")
def single_unacknowledged_not_awaited(self: Assignments, seat: Seat, flow: Flow) -> None:
    """A partition with just one unacknowledged message changes hands at once."""
    if len(seat.unacked) == 1:
        self.give_back(seat)
        self.give(seat, flow)


@defect("REB-15", "admit_bind", profile="solace")
def first_partition_can_be_chosen(self: FlowEnd, proc: str, name: str, partition: int | None) -> None:
    """A bind that asks for partition zero is taken for one that asks for none."""
    FlowEnd.admit_bind(self, proc, name, partition or None)


@defect("REB-15", "reveals", profile="solace")
def large_answers_show_partitions(self: Revealing, answer: Sequence[Any]) -> bool:
    """Messages of an answer of more than three say which partition they come from."""
    return len(answer) > LARGE


@defect("REB-18", profile="solace")
class FirstKeyOwnsItsPartition(FlowEnd):
    """The first key that comes to a partition has it for itself; messages of others there are refused."""

    _owners = kept(dict[Partition, str])

    def admit(self, contents: Sequence[Content], txn: str | None) -> str | None:
        for key in map(self.broker.rules.key_of, contents):
            if key is not None and self._owners.setdefault(self.broker.partition_for(key), key) != key:
                raise Refused("invalid_operation", "the partition has an owner")
        return FlowEnd.admit(self, contents, txn)
