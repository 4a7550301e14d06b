"""Set aside: which flow has which partition, and from when (REB)."""

from __future__ import annotations

from ...flows import Assignments
from ...handoffs import PAUSED, READY, UNBOUND, Flow, Seat
from ..families import LeavesOut, Parting, changed, kept
from ..forms import Frame, amid, before, then
from ..registry import defect


@defect("REB-1", "give", before, profile="solace")
def handed_over_and_kept(self: Assignments, seat: Seat) -> None:
    """A partition that is handed over is not taken from its old flow."""
    seat.flow = None if seat.state == PAUSED else seat.flow


@defect("REB-1", "give", before, profile="solace")
def taken_over_and_kept(self: Assignments, seat: Seat) -> None:
    """A partition that a standby takes over is not taken from the flow that went."""
    seat.flow = None if seat.state == READY and seat.flow not in self.flows else seat.flow


@defect("REB-4", profile="solace")
class BoundDuringDelayLeftOut(LeavesOut):
    """A rebalance leaves out the flows that were bound after its delay had begun, if there are others."""

    def bind(self, name: str, proc: str) -> None:
        running = self.rebalancing
        super().bind(name, proc)
        self.left_out += self.flows[-1:] if running else []

    def rebalance(self) -> None:
        super().rebalance()
        self.left_out.clear()


@defect("REB-4", "bind", amid, profile="solace")
def bind_halves_the_delay(self: Assignments) -> Frame:
    """The rebalance that a bind asks for comes after half of the delay."""
    return changed(self, delay=self.delay // 2)


@defect("REB-9", profile="solace")
class BackInTimeFeedsAnother(Assignments):
    """What a flow would be dealt whose client is back in time goes to another one, if there is any."""

    _back = kept(list[Flow])

    def bind(self, name: str, proc: str) -> None:
        unbound = [seat.flow for seat in self.seats if seat.state == UNBOUND and seat.flow is not None]
        super().bind(name, proc)
        self._back += [flow for flow in self.flows[-1:] if any(gone.proc == proc for gone in unbound)]

    def deal(self) -> dict[Seat, Flow]:
        dealt, others = super().deal(), [flow for flow in self.active() if flow not in self._back]
        return {seat: others[0] if others and flow in self._back else flow for seat, flow in dealt.items()}


@defect("REB-10", profile="solace")
class BackLateDealtNothing(LeavesOut):
    """A client that had a flow before, and comes back when all partitions are with others, is dealt none."""

    _known = kept(set[str])

    def bind(self, name: str, proc: str) -> None:
        at_rest = all(seat.state == READY for seat in self.seats)
        super().bind(name, proc)
        self.left_out += self.flows[-1:] if proc in self._known and at_rest else []
        self._known.add(proc)


@defect("REB-5", profile="solace")
class SurplusDisplacesTheOldest(Assignments):
    """A bind while there are flows enough starts the delay; at its end the flow takes the place of the one
    that was bound first."""

    def bind(self, name: str, proc: str) -> None:
        super().bind(name, proc)
        if self.flows[-1].standby:
            self.start_delay()

    def active(self) -> list[Flow]:
        return self.flows[-len(self.seats) :]

    def rebalance(self) -> None:
        super().rebalance()
        for flow in self.flows[: -len(self.seats)]:
            flow.standby = True


@defect("REB-6", "replaces", profile="solace")
def unbound_not_replaced(self: Parting, disconnected: bool) -> bool:
    """No standby takes over from a flow that has unbound, until the delay ends."""
    return disconnected


@defect("REB-7", profile="solace")
class FirstOrphanGivenAtOnce(Assignments):
    """Where no standby exists, the first partition of a lost flow goes to another one at once."""

    _given = False

    def lose(self, flow: Flow) -> None:
        self._given = False
        super().lose(flow)

    def leave(self, seat: Seat, heir: Flow | None) -> None:
        if heir is None and seat.heir is None and not self._given and self.flows:
            self._given, heir = True, self.flows[0]
        super().leave(seat, heir)


@defect("REB-7", "bind", then, profile="solace")
def newcomer_gets_orphans_at_once(self: Assignments) -> None:
    """A flow that binds gets the partitions of lost flows without waiting for the delay and the rebalance."""
    for seat in self.seats:
        if seat.state == UNBOUND and not self.flows[-1].standby:
            self.give(seat, self.flows[-1])
    self.ring()


@defect("REB-11", "deal", profile="solace")
def lone_flow_inherits_later(self: Assignments) -> dict[Seat, Flow]:
    """Where one flow remains, and has partitions, a rebalance leaves unbound what others had."""
    lone = len(self.flows) == 1 and any(seat.flow is self.flows[0] for seat in self.seats)
    dealt = Assignments.deal(self).items()
    return {seat: flow for seat, flow in dealt if not (lone and seat.state == UNBOUND)}


@defect("REB-11", profile="solace")
class DisconnectedOrphansWait(Assignments):
    """What the flows of a client that disconnects had stays unbound until the second rebalance."""

    _waiting = kept(list[Seat])

    def part(self, proc: str) -> None:
        before = [seat for seat in self.seats if seat.state == UNBOUND]
        super().part(proc)
        self._waiting += [seat for seat in self.seats if seat.state == UNBOUND and seat not in before]

    def rebalance(self) -> None:
        super().rebalance()
        self._waiting.clear()

    def move(self, seat: Seat, flow: Flow) -> None:
        if not (seat in self._waiting and seat.state == UNBOUND):
            super().move(seat, flow)


@defect("REB-12", "deal", profile="solace")
def newcomer_gets_just_one(self: Assignments) -> dict[Seat, Flow]:
    """A rebalance moves no more than one partition from other flows to the one that was bound last."""
    dealt, flows = Assignments.deal(self), self.active()
    mine = [seat for seat, flow in dealt.items() if flow is self.flows[-1] and seat.future in flows]
    return {seat: flow for seat, flow in dealt.items() if seat not in mine[1:]}
