"""Defects in the sharing-out of partitions among flows (REB)."""

from __future__ import annotations

from collections import Counter

from ..flows import PAUSED, READY, UNBOUND, Assignments, Flow, Seat
from .keeping import Keeping
from .registry import defect


@defect("old-owner-stays", "REB-1", profile="solace")
class _OldOwnerStays(Keeping):
    """A partition is given to a new flow, without a handoff, and not taken from the old one."""

    def keeps(self, seat: Seat) -> bool:
        return seat.state != PAUSED


@defect("bind-starts-nothing", "REB-4", profile="solace")
class _BindStartsNothing(Assignments):
    """Of those that bind only the first consumer starts a rebalance."""

    _unmoved = False

    def bind(self, name: str, proc: str) -> None:
        self._unmoved = bool(self.flows)
        super().bind(name, proc)
        self._unmoved = False

    def start_delay(self) -> None:
        if not self._unmoved:
            super().start_delay()


@defect("rebalance-without-delay", "REB-4", profile="solace")
class _RebalanceWithoutDelay(Assignments):
    """A bind rebalances at once."""

    def bind(self, name: str, proc: str) -> None:
        super().bind(name, proc)
        if not self.flows[-1].standby:
            self.rebalance()


@defect("surplus-rebalances", "REB-5", profile="solace")
class _SurplusRebalances(Assignments):
    """A consumer that is one too many is dealt in at once, in somebody's place."""

    def bind(self, name: str, proc: str) -> None:
        super().bind(name, proc)
        flow = self.flows[-1]
        if flow.standby:
            seat = self.seats[0]
            if seat.state == READY and not seat.unacked:
                self.give(seat, flow)
                flow.standby = False


@defect("standby-waits", "REB-6", profile="solace")
class _StandbyWaits(Assignments):
    """A standby takes over only after the delay."""

    def standby(self) -> Flow | None:
        return None


@defect("orphans-given-at-once", "REB-7", profile="solace")
class _OrphansGivenAtOnce(Assignments):
    """The partitions of a lost flow go to another one without waiting for the delay and the rebalance."""

    def standby(self) -> Flow | None:
        return super().standby() or (self.flows[0] if self.flows else None)

    def lose(self, flow: Flow) -> None:
        nobody_waits = super().standby() is None
        super().lose(flow)
        if nobody_waits and not flow.standby:
            self.start_delay()


@defect("orphans-forgotten", "REB-11", profile="solace")
class _OrphansForgotten(Assignments):
    """What a lost flow had stays unbound when the delay ends."""

    def move(self, seat: Seat, flow: Flow) -> None:
        if seat.state != UNBOUND:
            super().move(seat, flow)


@defect("lopsided-shares", "REB-12", profile="solace")
class LopsidedShares(Assignments):
    """Of several flows the first keeps as much as it can."""

    def deal(self) -> dict[Seat, Flow]:
        flows = self.active()
        dealt = super().deal()
        if len(flows) < 2 or len(self.seats) < 4:
            return dealt
        target = {seat: dealt.get(seat, seat.future or flows[0]) for seat in self.seats}
        counts = Counter(dict.fromkeys(flows, 0))
        counts.update(target.values())
        poorest = min(flows, key=lambda flow: counts[flow])
        if counts[poorest] < 2:
            return dealt
        taken = [seat for seat, flow in target.items() if flow is poorest][1:]
        richest = max(flows, key=lambda flow: counts[flow])
        return {**dealt, **dict.fromkeys(taken, richest if richest is not poorest else flows[-1])}


@defect("handoff-at-once", "REB-14", profile="solace")
class _HandoffAtOnce(Assignments):
    """A handoff happens though the old flow has unacknowledged messages."""

    def start_handoff(self, seat: Seat, flow: Flow) -> None:
        self.set_state(seat, PAUSED)
        seat.heir = flow
        self.give_back(seat)
        self.give(seat, flow)


@defect("handoff-without-end", "REB-14", profile="solace")
class _HandoffWithoutEnd(Assignments):
    """A handoff waits for the old flow's settlements for ever."""

    def start_handoff(self, seat: Seat, flow: Flow) -> None:
        seat.heir = flow
        seat.handoff_ends = -1
        self.set_state(seat, PAUSED)


@defect("handoff-overdue", "REB-14", profile="solace")
class _HandoffOverdue(Assignments):
    """A handoff may take twice as long as it is allowed to."""

    def start_handoff(self, seat: Seat, flow: Flow) -> None:
        within, self.max_handoff = self.max_handoff, 2 * self.max_handoff
        super().start_handoff(seat, flow)
        self.max_handoff = within


@defect("unbound-said-ready", "REB-13", profile="solace")
class _UnboundSaidReady(Assignments):
    """A partition whose flow is gone is said to be ready."""

    def set_state(self, seat: Seat, state: str) -> None:
        super().set_state(seat, state)
        if state == UNBOUND and seat.flow is not None:
            self.tell(seat.partition.name, seat.flow.name, READY)
