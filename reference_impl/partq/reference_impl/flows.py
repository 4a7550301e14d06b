"""Flows: which consumer has which partition, and how a partition changes hands.

`Assignments` decides; it knows of messages only what is unacknowledged where. Delivering is `flowend.py`'s.
Every change of hands is told to ``tell`` at the moment it happens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from .clock import Clock, Steps
from .freedoms import Freedoms, taken
from .partition import Partition
from .store import Stored

READY: Final = "ready"
PAUSED: Final = "paused"
UNBOUND: Final = "unbound"
UNASSIGNED: Final = "unassigned"

OVER: Final = 0
"""The end of a handoff that is over."""


@dataclass(eq=False, repr=False, slots=True)
class Flow:
    """One consumer's binding. ``standby``: it was bound when there were consumers enough. ``left_over``: it
    outlived a kill of the broker, and its client has not bound it again yet."""

    name: str
    proc: str
    standby: bool
    left_over: bool = False


@dataclass(eq=False, repr=False, slots=True)
class Seat:
    """One partition's place in the assignment.

    ``flow`` has it (in `UNBOUND`: had it until it went). In a handoff ``heir`` is who gets it, at
    ``handoff_ends`` at the latest; while `PAUSED` that may be None: nobody, or whom the rebalance finds.
    ``unacked``: what its flow got and has not settled, by token.
    """

    partition: Partition
    state: str = UNASSIGNED
    flow: Flow | None = None
    heir: Flow | None = None
    handoff_ends: int = OVER
    unacked: dict[str, Stored] = field(default_factory=dict)

    @property
    def future(self) -> Flow | None:
        """The flow that has the partition after all handoffs; None if no flow is left."""
        if self.state in (UNBOUND, UNASSIGNED):
            return None
        return self.heir if self.state == PAUSED else self.flow


class Assignments:
    """The flows of a queue and their partitions.

    ``delay`` and ``max_handoff`` are ns. ``tell(partition, flow, state)`` hears of every change, ``ring()``
    wakes those who wait for messages. ``lateness``: how late, in ns, timers and news may be. While it is
    ``suspended`` (the broker is down, and keeps the flows) nothing changes hands.
    """

    def __init__(
        self,
        partitions: list[Partition],
        clock: Clock,
        delay: int,
        max_handoff: int,
        tell: Callable[[int, str, str], None],
        ring: Callable[[], None],
    ) -> None:
        self.seats = [Seat(partition) for partition in partitions]
        self.clock = clock
        self.delay = delay
        self.max_handoff = max_handoff
        self.tell = tell
        self.ring = ring
        self.free = Freedoms.none()
        self.lateness = 0
        self.flows: list[Flow] = []
        self.age = 0
        self.delays = 0
        self.dealt_to = 0
        self.rebalancing = False
        self.lone: Flow | None = None
        self.suspended = False
        self.parted: list[str] = []
        self.news: list[tuple[int, str, str]] = []

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

    def takes(self, freedom: float) -> bool:
        """Whether the broker uses that freedom now."""
        return taken(freedom, self.clock.random)

    def late(self, freedom: float) -> int:
        """The delay in ns of a timer or report that may be late."""
        return int(self.lateness * self.clock.random()) if self.lateness and self.takes(freedom) else 0

    # Other partitions.

    def furnish(self, partition: Partition) -> None:
        """A partition was added; the next rebalance gives it a flow."""
        self.seats.append(Seat(partition))

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

    def move(self, seat: Seat, flow: Flow) -> None:
        """Let that flow have the partition, after a handoff where messages are unsettled."""
        if seat.state == PAUSED:
            again = flow is not seat.heir and self.takes(self.free.restart_handoff)
            seat.heir = flow
            if flow is seat.flow:
                self.cancel_handoff(seat)
            elif again or seat.handoff_ends == OVER:
                self.time_handoff(seat)
        elif seat.state == READY and (seat.unacked or self.takes(self.free.late_handoffs)):
            self.start_handoff(seat, flow)
        else:
            self.give(seat, flow)

    def start_handoff(self, seat: Seat, flow: Flow) -> None:
        """Stop delivering from the partition until its messages are settled, or the handoff time is over."""
        seat.heir = flow
        self.time_handoff(seat)
        self.set_state(seat, PAUSED)

    def time_handoff(self, seat: Seat) -> None:
        """Start the handoff time; one before it no longer counts."""
        if seat.unacked:
            wait = self.max_handoff + self.late(self.free.late_timers)
        else:
            wait = self.late(self.free.late_handoffs)
        seat.handoff_ends = self.clock.now + wait
        self.clock.spawn(self._end_handoff(seat, seat.handoff_ends, self.age))

    def _end_handoff(self, seat: Seat, until: int, age: int) -> Steps[None]:
        yield until
        if age == self.age and seat.state in (PAUSED, UNBOUND) and seat.handoff_ends == until:
            self.end_handoff(seat)

    def end_handoff(self, seat: Seat) -> None:
        """The partition goes to its new flow. If that has gone it has none until the rebalance, or stays
        paused until then."""
        seat.handoff_ends = OVER
        if seat.heir is not None:
            self.give_back(seat)
            self.give(seat, seat.heir)
            self.ring()
        elif seat.state == PAUSED and not self.takes(self.free.orphan_handoff):
            self.give_back(seat)
            self.set_state(seat, UNASSIGNED)
            seat.flow = None

    def may_cancel_handoffs(self) -> None:
        """The flows may be as many again as when the partitions were dealt out last."""
        if self.rebalancing and len(self.flows) == self.dealt_to and self.takes(self.free.cancel_handoffs):
            for seat in self.seats:
                if seat.state == PAUSED:
                    self.cancel_handoff(seat)
            self.ring()

    def cancel_handoff(self, seat: Seat) -> None:
        """Leave the partition with its present flow."""
        seat.heir = None
        self.set_state(seat, READY)

    def settled(self, seat: Seat) -> None:
        """A message of the partition was settled: the last one ends a handoff."""
        if seat.state == PAUSED and not seat.unacked:
            self.end_handoff(seat)

    def give(self, seat: Seat, flow: Flow) -> None:
        """Assign the partition to that flow."""
        if seat.flow is not None:
            self.set_state(seat, UNASSIGNED)
        seat.flow, seat.heir = flow, None
        self.set_state(seat, READY)

    def free_all(self) -> None:
        """No flow is left: unassign every partition."""
        for seat in self.seats:
            if seat.flow is not None:
                self.set_state(seat, UNASSIGNED)
                seat.flow = None

    def give_back(self, seat: Seat) -> None:
        """Make the flow's unacknowledged messages available again."""
        for stored in seat.unacked.values():
            seat.partition.release(stored)
        seat.unacked.clear()

    def set_state(self, seat: Seat, state: str) -> None:
        """Change the state, and report it."""
        seat.state = state
        if seat.flow is not None:
            self.report(seat.partition.name, seat.flow.name, state)

    def report(self, partition: int, flow: str, state: str) -> None:
        """Report a change, now or a little later, but never before an earlier one."""
        late = self.late(self.free.late_events)
        if not late and not self.news:
            self.tell(partition, flow, state)
            return
        self.news.append((partition, flow, state))
        if len(self.news) == 1:
            self.clock.spawn(self._tell_later(late))

    def _tell_later(self, late: int) -> Steps[None]:
        yield self.clock.now + late
        self.tell_news()

    def tell_news(self) -> None:
        """Report the changes that wait."""
        news, self.news = self.news, []
        for change in news:
            self.tell(*change)
