"""Defects in who gets partitions, when, and what flows see of it (REB), set aside."""

from __future__ import annotations

from typing import Any

from ...clock import HOP, Steps
from ...flowend import FlowEnd
from ...flows import PAUSED, READY, UNASSIGNED, UNBOUND, Assignments, Flow, Seat
from ...partition import Partition
from ...store import Stored
from ..rebalancing import LopsidedShares
from ..registry import held_out


@held_out("partition-lent-out", "REB-1", profile="solace")
class _PartitionLentOut(Assignments):
    """After each rebalance the first partition is assigned to a second flow for a moment."""

    def rebalance(self) -> None:
        super().rebalance()
        seat = self.seats[0]
        for flow in [flow for flow in self.flows if flow is not seat.flow][:1]:
            if seat.state == READY:
                self.report(seat.partition.name, flow.name, READY)
                self.report(seat.partition.name, flow.name, UNASSIGNED)


@held_out("former-owner-gets-load", "REB-2", profile="solace")
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


@held_out("kill-reverses-partitions", "REB-3", profile="solace")
class _KillReversesPartitions(Partition):
    """What is stored at a kill is delivered newest first afterwards."""

    def recover(self, counted: bool = False) -> None:
        super().recover(counted)
        self._free = sorted((-order, stored) for order, stored in self._free)


@held_out("plain-messages-overtake", "REB-3", profile="solace")
class _PlainMessagesOvertake(Partition):
    """Messages without user properties are delivered before the others of their partition."""

    def heads(self, most: int) -> list[Stored]:
        free = super().heads(len(self._free))
        free.sort(key=lambda stored: bool(stored.content.properties))
        for stored in free[most:]:
            self.release(stored)
        return free[:most]


@held_out("newcomer-left-out", "REB-4", profile="solace")
class _NewcomerLeftOut(Assignments):
    """A rebalance leaves out the flow that was bound last, if there are others."""

    def active(self) -> list[Flow]:
        flows = super().active()
        return [flow for flow in flows if flow is not self.flows[-1]] or flows


@held_out("surplus-redeals", "REB-5", profile="solace")
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


@held_out("disconnected-not-replaced", "REB-6", profile="solace")
class _DisconnectedNotReplaced(Assignments):
    """No standby takes over from a flow whose client has disconnected, until the delay ends."""

    _parting = False

    def part(self, proc: str) -> None:
        self._parting = True
        super().part(proc)
        self._parting = False

    def standby(self) -> Flow | None:
        return None if self._parting else super().standby()


@held_out("orphans-given-halfway", "REB-7", profile="solace")
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


@held_out("one-orphan-left", "REB-11", profile="solace")
class _OneOrphanLeft(Assignments):
    """Of several partitions that a lost flow had one stays unbound when the delay ends."""

    def rebalance(self) -> None:
        unbound = [seat for seat in self.seats if seat.state == UNBOUND]
        self._left = unbound[-1] if len(unbound) > 1 else None
        super().rebalance()

    def move(self, seat: Seat, flow: Flow) -> None:
        if seat is not self._left:
            super().move(seat, flow)


@held_out("lopsided-after-kill", "REB-12", profile="solace")
class _LopsidedAfterKill(LopsidedShares):
    """After a kill of the broker, of several flows the first keeps as much as it can."""

    _killed = False

    def reset(self) -> None:
        super().reset()
        self._killed = True

    def deal(self) -> dict[Seat, Flow]:
        return super().deal() if self._killed else Assignments.deal(self)


@held_out("orphans-to-one", "REB-12", profile="solace")
class _OrphansToOne(Assignments):
    """All partitions of lost flows go to one of the remaining ones."""

    def deal(self) -> dict[Seat, Flow]:
        dealt = super().deal()
        orphans = [seat for seat in dealt if seat.state == UNBOUND]
        return {**dealt, **dict.fromkeys(orphans, dealt[orphans[0]])} if orphans else dealt


@held_out("handoff-said-unbound", "REB-13", profile="solace")
class _HandoffSaidUnbound(Assignments):
    """A partition that is being handed off is said to be unbound, though its flow is there."""

    def set_state(self, seat: Seat, state: str) -> None:
        if state != PAUSED or seat.flow is None:
            super().set_state(seat, state)
            return
        seat.state = state
        self.report(seat.partition.name, seat.flow.name, UNBOUND)


@held_out("first-settlement-ends-handoff", "REB-14", profile="solace")
class _FirstSettlementEndsHandoff(Assignments):
    """A handoff ends when any one of the unacknowledged messages is settled."""

    def settled(self, seat: Seat) -> None:
        self.clock.spawn(self._end(seat))

    def _end(self, seat: Seat) -> Steps[None]:
        yield HOP
        if seat.state == PAUSED and seat.heir is not None:
            self.give_back(seat)
            self.give(seat, seat.heir)
            self.ring()


@held_out("handoff-of-half-the-time", "REB-14", profile="solace")
class _HandoffOfHalfTheTime(Assignments):
    """A handoff that finds messages unacknowledged waits for half of its time."""

    def time_handoff(self, seat: Seat) -> None:
        whole, self.max_handoff = self.max_handoff, self.max_handoff // 2
        super().time_handoff(seat)
        self.max_handoff = whole


@held_out("redelivery-shows-its-partition", "REB-15", profile="solace")
class _RedeliveryShowsItsPartition(FlowEnd):
    """A message that is delivered again says which partition it comes from."""

    def collect(self, flow: Flow, most: int, delete: bool) -> list[Any]:
        homes = {
            stored.content.id: seat.partition.name
            for seat in self.assignments.seats
            for stored in seat.partition.store.live()
        }
        shown = super().collect(flow, most, delete)
        return [m._replace(partition=homes[m.id]) if m.redelivered else m for m in shown]
