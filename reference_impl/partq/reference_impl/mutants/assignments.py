"""Defects in who is dealt partitions, and when, while flows come, go and are lost (REB)."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext

from ..flows import Assignments
from ..handoffs import PAUSED, READY, UNASSIGNED, UNBOUND, Flow, Seat
from ..settings import SECOND
from .families import LeavesOut, Parting, changed, kept, noted
from .forms import Frame, amid, answering, before, then
from .registry import defect

LATE = 4 * SECOND
"""What a careless broker adds to the rebalance delay."""


@defect("REB-1", "give", before, profile="solace")
def old_owner_stays(self: Assignments, seat: Seat) -> None:
    """A partition is given to a new flow, without a handoff, and not taken from the old one."""
    seat.flow = seat.flow if seat.state == PAUSED else None


@defect("REB-1", "start_handoff", then, profile="solace", also=("REB-14",))
def heir_ready_too_soon(self: Assignments, seat: Seat, flow: Flow) -> None:
    """When a handoff begins the partition is said to be ready at its new flow, too: no handoff at all."""
    self.report(seat.partition.name, flow.name, READY)


@defect("REB-1", "rebalance", then, profile="solace")
def partition_lent_out(self: Assignments) -> None:
    """After each rebalance the first partition is assigned to a second flow for a moment."""
    seat = self.seats[0]
    for flow in [flow for flow in self.flows if flow is not seat.flow and seat.state == READY][:1]:
        self.report(seat.partition.name, flow.name, READY)
        self.report(seat.partition.name, flow.name, UNASSIGNED)


@defect("REB-4", "bind", amid, profile="solace")
def bind_starts_nothing(self: Assignments) -> Frame:
    """Of those that bind only the first consumer starts a rebalance."""
    return changed(self, rebalancing=True) if self.flows else nullcontext()


@defect("REB-4", "bind", then, profile="solace")
def rebalance_without_delay(self: Assignments) -> None:
    """A bind rebalances at once."""
    if not self.flows[-1].standby:
        self.rebalance()


@defect("REB-4", "bind", amid, profile="solace")
def rebalance_overdue(self: Assignments) -> Frame:
    """The rebalance that a bind asks for comes four seconds after the delay."""
    return changed(self, delay=self.delay + LATE)


@defect("REB-4", "active", answering, profile="solace")
def newcomer_left_out(self: Assignments, flows: list[Flow]) -> list[Flow]:
    """A rebalance leaves out the flow that was bound last, if there are others."""
    return [flow for flow in flows if flow is not self.flows[-1]] or flows


@defect("REB-4", "reset", profile="solace")
def delay_survives_kill(self: Assignments) -> None:
    """A rebalance delay that ran before a kill goes on, so that the next flow does not wait its own delay."""
    running = self.rebalancing
    Assignments.reset(self)
    self.age, self.rebalancing = self.age - running, running


@defect("REB-4", "reset", amid, profile="solace")
def kill_stops_rebalancing(self: Assignments) -> Frame:
    """After a kill during a rebalance delay no flow gets anything: it waits for a timer that is gone."""
    return changed(self, rebalancing=self.rebalancing)


@defect("REB-5", "bind", then, profile="solace")
def surplus_rebalances(self: Assignments) -> None:
    """A consumer that is one too many is dealt in at once, in somebody's place."""
    seat, flow = self.seats[0], self.flows[-1]
    if flow.standby and seat.state == READY and not seat.unacked:
        self.give(seat, flow)
        flow.standby = False


@defect("REB-5", profile="solace")
class SurplusRedeals(Assignments):
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


def _waits_for(self: Assignments, proc: str) -> bool:
    """Whether partitions wait for a flow that the client has lost."""
    return any(
        seat.state == UNBOUND and seat.flow is not None and seat.flow.proc == proc for seat in self.seats
    )


@defect("REB-9", profile="solace")
class BackInTimeLeftOut(LeavesOut):
    """Who binds another flow while partitions wait for its lost one is left out of the rebalance."""

    def bind(self, name: str, proc: str) -> None:
        waited_for = _waits_for(self, proc)
        super().bind(name, proc)
        self.left_out += self.flows[-1:] if waited_for else []


@defect("REB-10", profile="solace")
class BackLateStartsNothing(Assignments):
    """A client that had a flow before, for which no partition waits any more, binds another one, and no
    rebalance follows."""

    _known = kept(set[str])

    def bind(self, name: str, proc: str) -> None:
        late = proc in self._known and not (self.rebalancing or _waits_for(self, proc))
        self._known.add(proc)
        with changed(self, rebalancing=True) if late else nullcontext():
            super().bind(name, proc)


def _idle(assignments: Assignments) -> Flow | None:
    """The first flow that is no standby and has no partition, nor will get one by a handoff."""
    busy = {seat.future for seat in assignments.seats}
    return next((flow for flow in assignments.flows if not flow.standby and flow not in busy), None)


@defect("REB-6", "standby", profile="solace")
def standby_waits(self: Assignments) -> Flow | None:
    """A standby takes over only after the delay."""
    return None


@defect("REB-6", "replaces", profile="solace")
def disconnected_not_replaced(self: Parting, disconnected: bool) -> bool:
    """No standby takes over from a flow whose client has disconnected, until the delay ends."""
    return not disconnected


@defect("REB-6", "standby", answering, profile="solace")
def standby_passed_over(self: Assignments, waiting: Flow | None) -> Flow | None:
    """Where a flow waits for its first partition, it takes over a lost flow's instead of the standby."""
    return waiting and (_idle(self) or waiting)


@defect("REB-6", profile="solace")
class TakeoverInPart(Assignments):
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


@defect("REB-7", "standby", profile="solace")
def idle_flow_takes_over(self: Assignments) -> Flow | None:
    """Where no standby exists, a flow that waits for its first partition takes over a lost flow's at once."""
    return Assignments.standby(self) or _idle(self)


@defect("REB-7", profile="solace")
class OrphansGivenAtOnce(Assignments):
    """The partitions of a lost flow go to another one without waiting for the delay and the rebalance."""

    def standby(self) -> Flow | None:
        return super().standby() or next(iter(self.flows), None)

    def lose(self, flow: Flow) -> None:
        nobody_waits = super().standby() is None
        super().lose(flow)
        if nobody_waits and not flow.standby:
            self.start_delay()


@defect("REB-7", "lose", amid, profile="solace")
def orphans_given_halfway(self: Assignments) -> Frame:
    """The partitions of a lost flow are given to others after half of the delay."""
    return changed(self, delay=self.delay // 2)


@defect("REB-7", "lose", amid, profile="solace")
def orphans_overdue(self: Assignments) -> Frame:
    """The partitions of a lost flow stay unbound until four seconds after the delay."""
    return changed(self, delay=self.delay + LATE)


@defect("REB-11", "move", profile="solace")
def orphans_forgotten(self: Assignments, seat: Seat, flow: Flow) -> None:
    """What a lost flow had stays unbound when the delay ends."""
    if seat.state != UNBOUND:
        Assignments.move(self, seat, flow)


@defect("REB-11", "deal", profile="solace")
def one_orphan_left(self: Assignments) -> dict[Seat, Flow]:
    """Of several partitions that a lost flow had one stays unbound when the delay ends."""
    unbound = [seat for seat in self.seats if seat.state == UNBOUND]
    left = unbound[-1] if len(unbound) > 1 else None
    return {seat: flow for seat, flow in Assignments.deal(self).items() if seat is not left}


@defect("REB-11", profile="solace")
class SecondOrphansForgotten(Assignments):
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


class Lopsided(Assignments):
    """Of several flows the first keeps as much as it can, if `tilts` says so."""

    def tilts(self) -> bool:
        """Whether it does, in this rebalance."""
        return True

    def deal(self) -> dict[Seat, Flow]:
        flows, tilts = self.active(), self.tilts()
        dealt = super().deal()
        if not tilts or len(flows) < 2 or len(self.seats) < 4:
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


@defect("REB-12", "tilts", profile="solace")
def lopsided_shares(self: Lopsided) -> bool:
    """Of several flows the first keeps as much as it can."""
    return True


@defect("REB-12", "tilts", profile="solace")
def lopsided_after_kill(self: Lopsided) -> bool:
    """After a kill of the broker, of several flows the first keeps as much as it can."""
    return self.age > 0


@defect("REB-12", "tilts", profile="solace")
def fourth_rebalance_lopsided(self: Lopsided) -> bool:
    """From the fourth rebalance on, of several flows the first keeps as much as it can."""
    noted(self)["rebalances"] += 1
    return noted(self)["rebalances"] > 3


@defect("REB-12", "deal", answering, profile="solace")
def orphans_to_one(self: Assignments, dealt: dict[Seat, Flow]) -> dict[Seat, Flow]:
    """All partitions of lost flows go to one of the remaining ones."""
    orphans = [seat for seat in dealt if seat.state == UNBOUND]
    return {**dealt, **dict.fromkeys(orphans, dealt[orphans[0]])} if orphans else dealt
