"""Handoffs: how a partition changes hands, and who is told of it.

Which flow gets which partition is `flows.py`'s business. Every change of hands is told to ``tell`` at the
moment it happens, or a little later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from .clock import Steps
from .core import Core
from .freedoms import taken
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


class Handoffs:
    """The partitions of a queue, each with its flow, and the changes of hands that are under way.

    ``max_handoff`` is ns. ``tell(partition, flow, state)`` hears of every change, ``ring()`` wakes those who
    wait for messages. ``lateness``: how late, in ns, timers and news may be.
    """

    def __init__(self, broker: Core) -> None:
        config = broker.config
        self.seats = [Seat(partition) for partition in broker.partitions]
        self.clock = broker.clock
        self.free = broker.free
        self.max_handoff = config.max_handoff
        self.lateness = config.lateness
        self.tell = config.tell
        self.ring = broker.ring
        self.age = 0
        self.news: list[tuple[int, str, str]] = []

    def takes(self, freedom: float) -> bool:
        """Whether the broker uses that freedom now."""
        return taken(freedom, self.clock.random)

    def late(self, freedom: float) -> int:
        """The delay in ns of a timer or report that may be late."""
        return int(self.lateness * self.clock.random()) if self.lateness and self.takes(freedom) else 0

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
