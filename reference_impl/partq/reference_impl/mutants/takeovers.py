"""Defects in who gets partitions, and when, while flows come and go together (REB)."""

from __future__ import annotations

from ..clock import Steps
from ..flowend import FlowEnd
from ..flows import READY, UNBOUND, Assignments, Flow, Seat
from ..partition import Partition
from .rebalancing import LopsidedShares
from .registry import defect

LATE = 4_000_000_000
"""ns that a careless broker adds to the rebalance delay."""


class _Idling(Assignments):
    """Assignments that know who waits for a rebalance with nothing to do."""

    def idle(self) -> Flow | None:
        """The first flow that is no standby and has no partition, nor will get one by a handoff."""
        busy = {seat.future for seat in self.seats}
        return next((flow for flow in self.flows if not flow.standby and flow not in busy), None)


@defect("heir-ready-too-soon", "REB-1", profile="solace", also=("REB-14",))
class _HeirReadyTooSoon(Assignments):
    """When a handoff begins the partition is said to be ready at its new flow, too: no handoff at all."""

    def start_handoff(self, seat: Seat, flow: Flow) -> None:
        super().start_handoff(seat, flow)
        self.report(seat.partition.name, flow.name, READY)


@defect("idle-flow-takes-over", "REB-7", profile="solace")
class _IdleFlowTakesOver(_Idling):
    """Where no standby exists, a flow that waits for its first partition takes over a lost flow's at once."""

    def standby(self) -> Flow | None:
        return super().standby() or self.idle()


@defect("standby-passed-over", "REB-6", profile="solace")
class _StandbyPassedOver(_Idling):
    """Where a flow waits for its first partition, it takes over a lost flow's instead of the standby."""

    def standby(self) -> Flow | None:
        waiting = super().standby()
        return waiting and (self.idle() or waiting)


@defect("takeover-in-part", "REB-6", profile="solace")
class _TakeoverInPart(Assignments):
    """A standby takes over one partition of a lost flow; the others wait for the next rebalance."""

    _taken = False

    def lose(self, flow: Flow) -> None:
        self._taken = False
        super().lose(flow)
        if any(seat.state == UNBOUND for seat in self.seats):
            self.start_delay()

    def leave(self, seat: Seat, heir: Flow | None) -> None:
        super().leave(seat, None if self._taken else heir)
        self._taken = heir is not None


@defect("second-orphans-forgotten", "REB-11", profile="solace")
class _SecondOrphansForgotten(Assignments):
    """What a flow had that is lost while another's partitions are still unbound stays unbound for good."""

    def leave(self, seat: Seat, heir: Flow | None) -> None:
        waiting = any(other.state == UNBOUND and other.flow is not seat.flow for other in self.seats)
        super().leave(seat, heir)
        if waiting and seat.state == UNBOUND:
            seat.handoff_ends = -1

    def move(self, seat: Seat, flow: Flow) -> None:
        if seat.state != UNBOUND or seat.handoff_ends >= 0:
            super().move(seat, flow)

    def reset(self) -> None:
        super().reset()
        for seat in self.seats:
            seat.handoff_ends = 0


class _Overdue(Assignments):
    """Assignments whose next rebalance may come late."""

    _late = False

    def _rebalance_later(self, age: int, delays: int) -> Steps[None]:
        if self._late:
            self._late = False
            yield self.clock.now + LATE
        yield from super()._rebalance_later(age, delays)


@defect("rebalance-overdue", "REB-4", profile="solace")
class _RebalanceOverdue(_Overdue):
    """The rebalance that a bind asks for comes four seconds after the delay."""

    def bind(self, name: str, proc: str) -> None:
        self._late = not self.rebalancing
        super().bind(name, proc)


@defect("orphans-overdue", "REB-7", profile="solace")
class _OrphansOverdue(_Overdue):
    """The partitions of a lost flow stay unbound until four seconds after the delay."""

    def lose(self, flow: Flow) -> None:
        self._late = not self.rebalancing
        super().lose(flow)


@defect("flows-of-one-client-share", "REB-2", profile="solace")
class _FlowsOfOneClientShare(FlowEnd):
    """A client gets through each of its flows what belongs to all of them."""

    def seats_of(self, flow: Flow) -> list[Seat]:
        seats = self.assignments.seats
        return [seat for seat in seats if seat.flow is not None and seat.flow.proc == flow.proc]


@defect("fourth-rebalance-lopsided", "REB-12", profile="solace")
class _FourthRebalanceLopsided(LopsidedShares):
    """From the fourth rebalance on, of several flows the first keeps as much as it can."""

    _rebalances = 0

    def deal(self) -> dict[Seat, Flow]:
        self._rebalances += 1
        return super().deal() if self._rebalances > 3 else Assignments.deal(self)


@defect("solace-sticky-keyless", "ROUTE-4", profile="solace")
class _StickyKeyless(FlowEnd):
    """Keyless messages all go to the first partition."""

    def next_partition(self) -> Partition:
        return self.partitions[0]
