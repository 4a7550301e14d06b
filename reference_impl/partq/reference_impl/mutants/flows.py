"""Defects in what flows get, and how it is shown to them (REB)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..flowend import FlowEnd
from ..flows import PAUSED, READY, Flow, Seat
from ..partition import Partition
from ..store import Stored
from .delivery import NewestFirst
from .registry import defect
from .revealing import Revealing


@defect("newcomer-gets-load", "REB-2", profile="solace")
class _NewcomerGetsLoad(FlowEnd):
    """A flow that has no partition yet, and receives and deletes, is given messages of another's."""

    def collect(self, flow: Flow, most: int, delete: bool) -> list[Any]:
        shown = super().collect(flow, most, delete)
        if shown or not delete or not self.served(flow):
            return shown
        others = [seat for seat in self.assignments.seats if seat.flow is not flow and self.delivers(seat)]
        for seat in others[:1]:
            for stored in seat.partition.heads(most):
                shown.append(self.broker.show_to_flow(stored, self.hand_out(seat, stored, delete)))
        return shown

    def served(self, flow: Flow) -> bool:
        """Whether that flow is given what is not its own."""
        return not flow.standby and not self.seats_of(flow)


@defect("solace-newest-first", "REB-3", profile="solace")
class _SolaceNewestFirst(NewestFirst):
    """A partition delivers its newest message first."""


@defect("standby-gets-load", "REB-5", profile="solace")
class _StandbyGetsLoad(_NewcomerGetsLoad):
    """A standby that receives and deletes is given messages of an active flow's partition."""

    def served(self, flow: Flow) -> bool:
        return flow.standby


@defect("paused-still-delivers", "REB-13", profile="solace")
class _PausedStillDelivers(FlowEnd):
    """A partition that is being handed off goes on delivering to its old flow."""

    def delivers(self, seat: Seat) -> bool:
        return seat.state in (READY, PAUSED) and seat.partition.has_free(self.clock.now)


@defect("partition-chosen", "REB-15", profile="solace")
class _PartitionChosen(FlowEnd):
    """A consumer that asks for a partition is bound all the same."""

    def refuse_choice(self) -> None:
        return


@defect("partition-shown", "REB-15", profile="solace")
class _PartitionShown(Revealing):
    """Every message says which partition it comes from."""

    def reveals(self, message: Any, answer: Sequence[Any]) -> bool:
        return True


@defect("deleted-comes-back", "RCV-7", profile="solace")
class _DeletedComesBack(FlowEnd):
    """Every third message of a partition comes back once after it was received and deleted."""

    def hand_out(self, seat: Seat, stored: Stored, delete: bool) -> str | None:
        token = super().hand_out(seat, stored, delete)
        if delete and stored.order % 3 == 2 and stored.tries < 2:
            stored.gone = False
            seat.partition.store._holes -= 1
            stored.tries += 1
            seat.partition.release(stored)
        return token


@defect("former-owner-gets-load", "REB-2", profile="solace")
class _FormerOwnerGetsLoad(FlowEnd):
    """A flow that receives and deletes, and finds nothing, gets messages of a partition that it has lost."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._had: dict[Flow, list[Seat]] = {}

    def collect(self, flow: Flow, most: int, delete: bool) -> list[Any]:
        shown = super().collect(flow, most, delete)
        mine = self.seats_of(flow)
        lost = [seat for seat in self._had.setdefault(flow, []) if seat not in mine and self.delivers(seat)]
        self._had[flow] += [seat for seat in mine if seat not in self._had[flow]]
        for seat in lost if delete and not shown else ():
            for stored in seat.partition.heads(most - len(shown)):
                shown.append(self.broker.show_to_flow(stored, self.hand_out(seat, stored, delete)))
        return shown


@defect("kill-reverses-partitions", "REB-3", profile="solace")
class _KillReversesPartitions(Partition):
    """What is stored at a kill is delivered newest first afterwards."""

    def recover(self, counted: bool = False) -> None:
        super().recover(counted)
        self._free = sorted((-order, stored) for order, stored in self._free)


@defect("plain-messages-overtake", "REB-3", profile="solace")
class _PlainMessagesOvertake(Partition):
    """Messages without user properties are delivered before the others of their partition."""

    def heads(self, most: int) -> list[Stored]:
        free = super().heads(len(self._free))
        free.sort(key=lambda stored: bool(stored.content.properties))
        for stored in free[most:]:
            self.release(stored)
        return free[:most]


@defect("redelivery-shows-its-partition", "REB-15", profile="solace")
class _RedeliveryShowsItsPartition(Revealing):
    """A message that is delivered again says which partition it comes from."""

    def reveals(self, message: Any, answer: Sequence[Any]) -> bool:
        return bool(message.redelivered)
