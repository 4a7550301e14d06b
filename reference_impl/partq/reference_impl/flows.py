"""Flows: which consumer has which partition, as consumers come, go and are lost.

`Assignments` decides; it knows of messages only what is unacknowledged where. Delivering is `flowend.py`'s.
"""

from __future__ import annotations

from .clock import Steps
from .core import Core
from .handoffs import PAUSED, READY, UNASSIGNED, UNBOUND, Flow, Handoffs, Seat


class Assignments(Handoffs):
    """The flows of a queue and their partitions. ``delay`` is ns. While it is ``suspended`` (the broker is
    down, and keeps the flows) nothing changes hands."""

    def __init__(self, broker: Core) -> None:
        super().__init__(broker)
        self.delay = broker.config.rebalance_delay
        self.flows: list[Flow] = []
        self.delays = 0
        self.dealt_to = 0
        self.rebalancing = False
        self.lone: Flow | None = None
        self.suspended = False
        self.parted: list[str] = []

    # Coming and going.

    def bind(self, name: str, proc: str) -> None:
        """A new consumer: into the next rebalance while there are fewer than partitions, else a standby."""
        flow = Flow(name, proc, standby=len(self.flows) >= len(self.seats))
        self.flows.append(flow)
        if not flow.standby:
            self.lone = None
            self.may_cancel_handoffs()
            self.start_delay()

    def rebind(self, name: str, proc: str) -> None:
        """A consumer that was lost is back. What waits for it is its own again at once; it is a new one if
        nothing does, or others have its place."""
        mine = self.waiting_for(name, proc)
        if not mine or not self.rebalancing or len(self.flows) >= len(self.seats):
            self.bind(name, proc)
            return
        flow, gone = Flow(name, proc, standby=False), mine[0].flow
        self.flows.append(flow)
        for seat in mine:
            seat.flow = flow
            self.set_state(seat, READY)
        if self.lone is gone:
            self.call_off()
        self.lone = None
        self.ring()

    def waiting_for(self, name: str, proc: str) -> list[Seat]:
        """The partitions that wait for the client's lost flow of that name."""
        unbound = (seat for seat in self.seats if seat.state == UNBOUND and seat.heir is None)
        return [seat for seat in unbound if seat.flow and (seat.flow.name, seat.flow.proc) == (name, proc)]

    def call_off(self) -> None:
        """Whoever the delay was for is back: there is no rebalance, unless something has no flow."""
        if all(seat.state == READY for seat in self.seats):
            self.rebalancing = False
            self.delays += 1

    def find(self, name: str | None, proc: str) -> Flow | None:
        """The flow of that name, if it is the client's."""
        return next((flow for flow in self.flows if flow.name == name and flow.proc == proc), None)

    def lose(self, flow: Flow) -> None:
        """A consumer is gone: a standby takes its place at once, or its partitions wait out the delay."""
        self.flows.remove(flow)
        heir = self.standby()
        orphaned = False
        for seat in self.seats:
            if seat.heir is flow:
                orphaned = True
                self.replace_heir(seat, heir)
            if seat.flow is flow and seat.state != UNBOUND:
                orphaned = True
                self.leave(seat, heir)
        if heir is not None and not flow.standby:
            heir.standby = False
        elif not flow.standby and (orphaned or not self.rebalancing):
            self.lone = None if self.rebalancing else flow
            self.start_delay()
        self.ring()

    def part(self, proc: str) -> None:
        """A client is gone, with all its flows. While nothing can change hands that is kept in mind."""
        if self.suspended:
            self.parted.append(proc)
            return
        for flow in [flow for flow in self.flows if flow.proc == proc]:
            self.lose(flow)

    def standby(self) -> Flow | None:
        """The standby that takes over next."""
        standbys = [flow for flow in self.flows if flow.standby]
        if len(standbys) > 1 and self.takes(self.free.any_standby):
            return standbys[int(self.clock.random() * len(standbys))]
        return standbys[0] if standbys else None

    def replace_heir(self, seat: Seat, heir: Flow | None) -> None:
        """Find another heir for a handoff whose heir has left."""
        if heir is not None or seat.state == UNBOUND or self.takes(self.free.orphan_handoff):
            seat.heir = heir
        else:
            self.cancel_handoff(seat)

    def leave(self, seat: Seat, heir: Flow | None) -> None:
        """The flow of a partition has left."""
        self.give_back(seat)
        if seat.state == PAUSED and seat.heir is not None:
            if self.takes(self.free.late_handoffs):
                self.time_handoff(seat)
                self.set_state(seat, UNBOUND)
            else:
                self.give(seat, seat.heir)
        elif heir is not None:
            self.give(seat, heir)
        else:
            self.set_state(seat, UNBOUND)

    def reset(self) -> None:
        """The broker died: no flow is left, and no timer."""
        self.flows.clear()
        self.age += 1
        self.rebalancing = False
        self.tell_news()
        for seat in self.seats:
            self.give_back(seat)
            seat.state, seat.flow, seat.heir = UNASSIGNED, None, None

    def suspend(self) -> None:
        """The broker died, and keeps its flows: time stands still for them."""
        self.suspended = True
        self.age += 1
        for flow in self.flows:
            flow.left_over = True

    def resume(self) -> None:
        """The broker was started again: timers start anew, and what lost its lock is unsettled no more."""
        if not self.suspended:
            return
        self.suspended = False
        parted, self.parted = self.parted, []
        for seat in self.seats:
            seat.unacked = {token: stored for token, stored in seat.unacked.items() if stored.lock == token}
            if seat.heir is not None:
                if seat.unacked:
                    self.time_handoff(seat)
                else:
                    self.give(seat, seat.heir)
        if self.rebalancing:
            self.time_delay()
        for proc in parted:
            self.part(proc)

    # Other partitions.

    def vacate(self, seat: Seat) -> None:
        """A partition was deleted, with what its flow had not acknowledged."""
        seat.unacked.clear()
        if self.takes(self.free.untold_deletion):
            seat.flow = None
        self.set_state(seat, UNASSIGNED)
        seat.flow = seat.heir = None

    def scaled(self) -> None:
        """There are more partitions or fewer: rebalance, at once or after the delay."""
        self.lone = None
        if self.takes(self.free.scale_at_once):
            self.rebalancing = True
            self.time_delay(0)
        else:
            self.start_delay()

    # Rebalancing.

    def start_delay(self) -> None:
        """Rebalance after the delay, unless that is under way already; it may be started anew then."""
        if not self.rebalancing or self.takes(self.free.restart_delay):
            self.rebalancing = True
            self.time_delay()

    def time_delay(self, delay: int | None = None) -> None:
        """Start the delay; one before it no longer counts."""
        self.delays += 1
        wait = self.delay if delay is None else delay
        self.clock.spawn(self._rebalance_later(wait, self.age, self.delays))

    def _rebalance_later(self, delay: int, age: int, delays: int) -> Steps[None]:
        yield self.clock.now + delay + self.late(self.free.late_timers)
        if age == self.age and delays == self.delays:
            self.rebalancing = False
            self.rebalance()

    def rebalance(self) -> None:
        """Deal the partitions out anew; whoever has too many hands some over."""
        self.dealt_to = len(self.flows)
        self.lone = None
        for seat, flow in self.deal().items():
            self.move(seat, flow)
        if not self.flows:
            self.free_all()
        self.ring()

    def active(self) -> list[Flow]:
        """Who takes part: those that are no standby, then the standbys, as many as there are partitions."""
        order = sorted(self.flows, key=lambda flow: flow.standby)
        return order[: len(self.seats)]

    def deal(self) -> dict[Seat, Flow]:
        """What has to move where. Every flow keeps what it has, up to its share; shares differ by one at
        most, and those who have most get the larger ones."""
        flows = self.active()
        if not flows:
            return {}
        kept: dict[Flow, list[Seat]] = {flow: [] for flow in flows}
        spare: list[Seat] = []
        anew = self.takes(self.free.redeal)
        for seat in self.seats:
            mine = None if anew or seat.future is None else kept.get(seat.future)
            (spare if mine is None else mine).append(seat)
        share, larger = divmod(len(self.seats), len(flows))
        flows.sort(key=lambda flow: -len(kept[flow]))
        shares = {flow: share + (rank < larger) for rank, flow in enumerate(flows)}
        for flow in flows:
            spare += kept[flow][shares[flow] :]
        for flow in self.flows:
            flow.standby = flow not in flows
        hungry = [flow for flow in flows for _ in range(shares[flow] - len(kept[flow]))]
        dealt = dict(zip(self.shuffled(spare), hungry, strict=True))
        return {seat: flow for seat, flow in dealt.items() if seat.future is not flow}

    def shuffled(self, seats: list[Seat]) -> list[Seat]:
        """In random order: no rule says which flow gets which partition."""
        random = self.clock.random
        return [seats.pop(int(random() * len(seats))) for _ in range(len(seats))]

    def may_cancel_handoffs(self) -> None:
        """The flows may be as many again as when the partitions were dealt out last."""
        if self.rebalancing and len(self.flows) == self.dealt_to and self.takes(self.free.cancel_handoffs):
            for seat in self.seats:
                if seat.state == PAUSED:
                    self.cancel_handoff(seat)
            self.ring()

    def free_all(self) -> None:
        """No flow is left: unassign every partition."""
        for seat in self.seats:
            if seat.flow is not None:
                self.set_state(seat, UNASSIGNED)
                seat.flow = None
