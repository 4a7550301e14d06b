"""Defects in which flow has which partition, and from when (REB), set aside."""

from __future__ import annotations

from typing import Any

from ...clock import Steps
from ...flows import PAUSED, READY, UNBOUND, Assignments, Flow, Seat
from ..keeping import Keeping
from ..parting import Parting
from ..registry import held_out


@held_out("handed-over-and-kept", "REB-1", profile="solace")
class _HandedOverAndKept(Keeping):
    """A partition that is handed over is not taken from its old flow."""

    def keeps(self, seat: Seat) -> bool:
        return seat.state == PAUSED


@held_out("taken-over-and-kept", "REB-1", profile="solace")
class _TakenOverAndKept(Keeping):
    """A partition that a standby takes over is not taken from the flow that went."""

    def keeps(self, seat: Seat) -> bool:
        return seat.state == READY and seat.flow not in self.flows


@held_out("bound-during-delay-left-out", "REB-4", profile="solace")
class _BoundDuringDelayLeftOut(Assignments):
    """A rebalance leaves out the flows that were bound after its delay had begun, if there are others."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._late: list[Flow] = []

    def bind(self, name: str, proc: str) -> None:
        running = self.rebalancing
        super().bind(name, proc)
        if running:
            self._late.append(self.flows[-1])

    def active(self) -> list[Flow]:
        flows = super().active()
        early = [flow for flow in flows if flow not in self._late]
        return early if 0 < len(early) < len(flows) else flows

    def rebalance(self) -> None:
        super().rebalance()
        self._late.clear()


@held_out("bind-halves-the-delay", "REB-4", profile="solace")
class _BindHalvesTheDelay(Assignments):
    """The rebalance that a bind asks for comes after half of the delay."""

    def bind(self, name: str, proc: str) -> None:
        before = self.delays
        super().bind(name, proc)
        if self.delays != before and self.delay > 0:
            self.clock.spawn(self._halfway(self.age, self.delays))

    def _halfway(self, age: int, delays: int) -> Steps[None]:
        yield self.clock.now + self.delay // 2
        if age == self.age and delays == self.delays:
            self.delays += 1
            self.rebalancing = False
            self.rebalance()


@held_out("surplus-displaces-the-oldest", "REB-5", profile="solace")
class _SurplusDisplacesTheOldest(Assignments):
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


@held_out("unbound-not-replaced", "REB-6", profile="solace")
class _UnboundNotReplaced(Parting):
    """No standby takes over from a flow that has unbound, until the delay ends."""

    def replaces(self, disconnected: bool) -> bool:
        return disconnected


@held_out("first-orphan-given-at-once", "REB-7", profile="solace")
class _FirstOrphanGivenAtOnce(Assignments):
    """Where no standby exists, the first partition of a lost flow goes to another one at once."""

    _given = False

    def lose(self, flow: Flow) -> None:
        self._given = False
        super().lose(flow)

    def leave(self, seat: Seat, heir: Flow | None) -> None:
        orphan = heir is None and seat.heir is None and not self._given
        if orphan and self.flows:
            self._given, heir = True, self.flows[0]
        super().leave(seat, heir)


@held_out("newcomer-gets-orphans-at-once", "REB-7", profile="solace")
class _NewcomerGetsOrphansAtOnce(Assignments):
    """A flow that binds gets the partitions of lost flows without waiting for the delay and the rebalance."""

    def bind(self, name: str, proc: str) -> None:
        super().bind(name, proc)
        for seat in self.seats:
            if seat.state == UNBOUND and not self.flows[-1].standby:
                self.give(seat, self.flows[-1])
        self.ring()


@held_out("lone-flow-inherits-later", "REB-11", profile="solace")
class _LoneFlowInheritsLater(Assignments):
    """Where one flow remains, and has partitions, a rebalance leaves unbound what others had."""

    def deal(self) -> dict[Seat, Flow]:
        dealt = super().deal()
        lone = len(self.flows) == 1 and any(seat.flow is self.flows[0] for seat in self.seats)
        orphans = [seat for seat in dealt if lone and seat.state == UNBOUND]
        return {seat: flow for seat, flow in dealt.items() if seat not in orphans}


@held_out("disconnected-orphans-wait", "REB-11", profile="solace")
class _DisconnectedOrphansWait(Assignments):
    """What the flows of a client that disconnects had stays unbound until the second rebalance."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._waiting: list[Seat] = []

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


@held_out("newcomer-gets-just-one", "REB-12", profile="solace")
class _NewcomerGetsJustOne(Assignments):
    """A rebalance moves no more than one partition from other flows to the one that was bound last."""

    def deal(self) -> dict[Seat, Flow]:
        dealt, flows = super().deal(), self.active()
        mine = [seat for seat, flow in dealt.items() if flow is self.flows[-1] and seat.future in flows]
        return {seat: flow for seat, flow in dealt.items() if seat not in mine[1:]}


@held_out("orphans-said-paused", "REB-13", profile="solace")
class _OrphansSaidPaused(Assignments):
    """A partition whose flow is gone is said to be paused."""

    def set_state(self, seat: Seat, state: str) -> None:
        if state != UNBOUND or seat.flow is None:
            super().set_state(seat, state)
            return
        seat.state = state
        self.report(seat.partition.name, seat.flow.name, PAUSED)


@held_out("rebalance-says-unbound", "REB-13", profile="solace")
class _RebalanceSaysUnbound(Assignments):
    """What stays where it is in a rebalance is said to be unbound for a moment, though its flow is there."""

    def rebalance(self) -> None:
        before = {seat: seat.flow for seat in self.seats if seat.state == READY}
        super().rebalance()
        for seat, flow in before.items():
            if flow is not None and seat.flow is flow and seat.state == READY:
                self.report(seat.partition.name, flow.name, UNBOUND)
                self.report(seat.partition.name, flow.name, READY)


@held_out("settlement-restarts-handoff", "REB-14", profile="solace")
class _SettlementRestartsHandoff(Assignments):
    """Each message that is settled during a handoff starts its time anew, if others are unacknowledged."""

    def settled(self, seat: Seat) -> None:
        super().settled(seat)
        if seat.state == PAUSED and seat.unacked:
            self.time_handoff(seat)


@held_out("single-unacknowledged-not-awaited", "REB-14", profile="solace")
class _SingleUnacknowledgedNotAwaited(Assignments):
    """A partition with just one unacknowledged message changes hands at once."""

    def start_handoff(self, seat: Seat, flow: Flow) -> None:
        super().start_handoff(seat, flow)
        if len(seat.unacked) == 1:
            self.give_back(seat)
            self.give(seat, flow)
