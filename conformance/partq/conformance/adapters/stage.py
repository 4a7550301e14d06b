"""A broker in virtual time as its driver sees it: the scheduler, and a stage for one program.

Who does which step when is `execution.simulation`'s; here are the shapes that the two agree on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from partq.conformance.adapters.protocol import SimulatedBroker
from partq.conformance.workload.operations.record import Args
from partq.conformance.workload.program import Program
from partq.model.messages import Delivery

OnEvent = Callable[[str, Args], None]
"""Records an event that the broker reports, by its name and arguments."""

Steps = Generator[int | None, None, Any]
"""A coroutine: yields None to let others go first, or an instant to sleep until."""

Reply = tuple[str, str | None, Sequence[Delivery]]
"""Outcome, error, messages."""


class Scheduler(Protocol):
    """Runs coroutines in an order that its seed decides."""

    now: int

    @property
    def random(self) -> Callable[[], float]:
        """The seed's numbers, from 0 to 1."""

    def spawn(self, steps: Steps) -> Any:
        """Run a coroutine beside the others; gives its task."""

    def wake(self, task: Any) -> None:
        """Resume a sleeping task."""

    def run(self) -> bool:
        """Run until no task can go on. False where the broker did not come to rest within as many steps as it
        may take: it gets nowhere."""


class Stage(Protocol):
    """A fresh broker for one program. ``lacks``: the operations and faults that it does not offer.
    ``late_ns``: how late its timers may be (None: they are punctual). ``skew_ns``: how late it may report
    assignments."""

    lacks: frozenset[str]
    late_ns: int | None
    skew_ns: int

    @property
    def clock(self) -> Scheduler:
        """Who runs next, and what time it is."""

    def connect(self, proc: str) -> Any:
        """A client's connection."""

    def operate(self, connection: Any, op: str, args: Args) -> Generator[int | None, None, Reply]:
        """A client's operation."""

    def strike(self, op: str, args: Args) -> Generator[int | None, None, Args]:
        """A fault; gives the arguments of its event."""

    def is_empty(self) -> bool:
        """Whether nothing is stored."""


class StagedBroker(SimulatedBroker):
    """A simulated broker that leaves the driving to partq: it builds a stage for each program."""

    def stage(self, program: Program, on_event: OnEvent) -> Stage:
        """A fresh broker, scheduled by the program's seed."""
        raise NotImplementedError("a staged broker must override stage")
