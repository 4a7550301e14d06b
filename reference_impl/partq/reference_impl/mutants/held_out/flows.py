"""Defects in what flows are delivered, in what order, and what they see of partitions (REB), set aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...clock import Steps
from ...flowend import FlowEnd
from ...flows import PAUSED, Assignments, Flow, Seat
from ...network import Connection
from ...partition import Partition
from ...store import Stored
from ..registry import held_out
from ..revealing import Revealing

CROWD = 4
"""So many free messages make a crowd."""

LARGE = 3
"""So many messages make a large answer."""


@held_out("room-filled-from-others", "REB-2", profile="solace")
class _RoomFilledFromOthers(FlowEnd):
    """An answer that has room, and deletes what it holds, gets one message of each other flow's partition."""

    def collect(self, flow: Flow, most: int, delete: bool) -> list[Any]:
        shown = super().collect(flow, most, delete)
        others = [seat for seat in self.assignments.seats if seat.flow not in (None, flow)]
        for seat in others if delete and self.seats_of(flow) else ():
            if len(shown) < most and self.delivers(seat):
                for stored in seat.partition.heads(1):
                    shown.append(self.broker.show_to_flow(stored, self.hand_out(seat, stored, delete)))
        return shown


@held_out("crowd-served-from-the-back", "REB-3", profile="solace")
class _CrowdServedFromTheBack(Partition):
    """Of four free messages or more the newest are delivered first."""

    def heads(self, most: int) -> list[Stored]:
        if not (len(self._free) >= CROWD and most > 0):
            return super().heads(most)
        free = super().heads(len(self._free))
        for stored in free[:-most]:
            self.release(stored)
        return free[: -most - 1 : -1]


@held_out("given-back-in-reverse", "REB-3", profile="solace")
class _GivenBackInReverse(Assignments):
    """What a flow had not acknowledged when it lost the partition is delivered in reverse order."""

    def give_back(self, seat: Seat) -> None:
        unacked = sorted(seat.unacked.values(), key=lambda stored: stored.order)
        orders = [stored.order for stored in reversed(unacked)]
        for stored, order in zip(unacked, orders, strict=True):
            stored.order = order
        super().give_back(seat)


@held_out("request-ends-handoff", "REB-14", profile="solace")
class _RequestEndsHandoff(FlowEnd):
    """A handoff ends when the new flow asks for messages."""

    def collect(self, flow: Flow, most: int, delete: bool) -> list[Any]:
        for seat in self.assignments.seats:
            if seat.state == PAUSED and seat.heir is flow and seat.unacked:
                self.assignments.give_back(seat)
                self.assignments.give(seat, flow)
        return super().collect(flow, most, delete)


@held_out("first-partition-can-be-chosen", "REB-15", profile="solace")
class _FirstPartitionCanBeChosen(FlowEnd):
    """A bind that asks for partition zero is taken for one that asks for none."""

    def bind(self, connection: Connection, name: str, partition: int | None) -> Steps[None]:
        yield from super().bind(connection, name, partition or None)


@held_out("large-answers-show-partitions", "REB-15", profile="solace")
class _LargeAnswersShowPartitions(Revealing):
    """Messages of an answer of more than three say which partition they come from."""

    def reveals(self, message: Any, answer: Sequence[Any]) -> bool:
        return len(answer) > LARGE
