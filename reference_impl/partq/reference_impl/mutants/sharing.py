"""Defects in who is dealt partitions when flows come, go and are lost (REB)."""

from __future__ import annotations

from ..clock import Steps
from ..flows import READY, UNASSIGNED, UNBOUND, Assignments, Flow, Seat
from .parting import Parting
from .rebalancing import LopsidedShares
from .registry import defect


@defect("partition-lent-out", "REB-1", profile="solace")
class _PartitionLentOut(Assignments):
    """After each rebalance the first partition is assigned to a second flow for a moment."""

    def rebalance(self) -> None:
        super().rebalance()
        seat = self.seats[0]
        for flow in [flow for flow in self.flows if flow is not seat.flow][:1]:
            if seat.state == READY:
                self.report(seat.partition.name, flow.name, READY)
                self.report(seat.partition.name, flow.name, UNASSIGNED)


@defect("newcomer-left-out", "REB-4", profile="solace")
class _NewcomerLeftOut(Assignments):
    """A rebalance leaves out the flow that was bound last, if there are others."""

    def active(self) -> list[Flow]:
        flows = super().active()
        return [flow for flow in flows if flow is not self.flows[-1]] or flows


@defect("surplus-redeals", "REB-5", profile="solace")
class _SurplusRedeals(Assignments):
    """A bind while there are flows enough starts the delay, and each partition moves on to the next flow."""

    _moving = False

    def bind(self, name: str, proc: str) -> None:
        super().bind(name, proc)
        if self.flows[-1].standby:
            self._moving = True
            self.start_delay()

    def deal(self) -> dict[Seat, Flow]:
        moving, self._moving = self._moving, False
        owners = [seat.future for seat in self.seats]
        if not moving or None in owners or not {*self.active()} <= {*owners}:
            return super().deal()
        turned = zip(self.seats, [*owners[1:], owners[0]], strict=True)
        return {seat: flow for seat, flow in turned if flow is not None and flow is not seat.future}


@defect("disconnected-not-replaced", "REB-6", profile="solace")
class _DisconnectedNotReplaced(Parting):
    """No standby takes over from a flow whose client has disconnected, until the delay ends."""

    def replaces(self, disconnected: bool) -> bool:
        return not disconnected


@defect("orphans-given-halfway", "REB-7", profile="solace")
class _OrphansGivenHalfway(Assignments):
    """The partitions of a lost flow are given to others after half of the delay."""

    def lose(self, flow: Flow) -> None:
        whole, self.delay = self.delay, self.delay // 2
        super().lose(flow)
        self.delay = whole

    def time_delay(self) -> None:
        self.delays += 1
        self.clock.spawn(self._rebalance_after(self.delay, self.age, self.delays))

    def _rebalance_after(self, delay: int, age: int, delays: int) -> Steps[None]:
        yield self.clock.now + delay
        if age == self.age and delays == self.delays:
            self.rebalancing = False
            self.rebalance()


@defect("one-orphan-left", "REB-11", profile="solace")
class _OneOrphanLeft(Assignments):
    """Of several partitions that a lost flow had one stays unbound when the delay ends."""

    def rebalance(self) -> None:
        unbound = [seat for seat in self.seats if seat.state == UNBOUND]
        self._left = unbound[-1] if len(unbound) > 1 else None
        super().rebalance()

    def move(self, seat: Seat, flow: Flow) -> None:
        if seat is not self._left:
            super().move(seat, flow)


@defect("lopsided-after-kill", "REB-12", profile="solace")
class _LopsidedAfterKill(LopsidedShares):
    """After a kill of the broker, of several flows the first keeps as much as it can."""

    _killed = False

    def reset(self) -> None:
        super().reset()
        self._killed = True

    def deal(self) -> dict[Seat, Flow]:
        return super().deal() if self._killed else Assignments.deal(self)


@defect("orphans-to-one", "REB-12", profile="solace")
class _OrphansToOne(Assignments):
    """All partitions of lost flows go to one of the remaining ones."""

    def deal(self) -> dict[Seat, Flow]:
        dealt = super().deal()
        orphans = [seat for seat in dealt if seat.state == UNBOUND]
        return {**dealt, **dict.fromkeys(orphans, dealt[orphans[0]])} if orphans else dealt
