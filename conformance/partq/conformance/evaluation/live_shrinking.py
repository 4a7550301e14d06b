"""The smallest program that still shows a finding on a live broker, within so many seconds.

Each candidate takes its time there, so few are tried: first what the finding's witness needs, redone as a
program of its own (`retracing`), then what the shrinker takes away from that. A race need not show each time:
what did not show is not tried again, and the smallest that did is kept with its history.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from partq.conformance.adapters import Broker, Unreachable
from partq.conformance.evaluation.shrinking import exercising, shown
from partq.conformance.evaluation.suite import Run, lacks_of
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.verdict import Finding, Recurrence
from partq.conformance.workload.program import Program, dumps
from partq.conformance.workload.retracing import guesses, with_locks
from partq.conformance.workload.shrinker import shrink

AGAIN: Final = 4
"""How often the smallest program is run again, to count how often it shows the finding."""

SECONDS: Final = 60
"""The default time for shrinking all counterexamples of a live broker together."""


@dataclass(slots=True)
class LiveShrinking:
    """One finding being shrunk. ``program``, ``history``, ``finding``: the smallest that showed it so far.
    ``seconds``: for how long; ``over``: that time cut it short. ``seen``: how often the smallest showed it,
    where there was time to run it again. ``telling``: whether a candidate exercises the rule where it is
    kept."""

    broker: Broker
    program: Program
    history: History
    finding: Finding
    seconds: float
    clock: Callable[[], float] = time.monotonic
    over: bool = False
    tried: set[str] = field(default_factory=set)
    seen: Recurrence | None = None
    telling: Callable[[Program], bool] = field(init=False)

    def __post_init__(self) -> None:
        self.telling = exercising(self.finding.requirement, self.program)

    @classmethod
    def of(
        cls,
        broker: Broker,
        done: Run,
        finding: Finding,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> LiveShrinking:
        """Shrink what the run found."""
        begun = cls(broker, done.program, done.history, finding, seconds, clock)
        begun.shrink()
        return begun

    def shrink(self) -> None:
        """Try guesses until one shows the finding, then remove what it does not need."""
        end = self.clock() + self.seconds

        def more() -> bool:
            self.over = self.clock() >= end
            return not (self.over or self.broker.hung)

        for guess in self._guesses():
            if more() and self.shows(guess):
                break
        lacks = lacks_of(self.broker)
        steps = tuple(step for step in self.program.steps if step.op not in lacks)
        self.program = self.program.with_steps(steps)  # such a step is never done
        shrink(self.program, self.shows, more=more)
        if not self.over:
            self.seen = self._again(lambda: self.clock() < end and not self.broker.hung)

    def _guesses(self) -> Iterator[Program]:
        """Shorter programs, and the program itself; first with locks as short as the broker says they may
        be, as most of the time is waiting for them to end."""
        found, lasts = self.program, self.broker.lock_duration
        tried = guesses(found, self.history, self.finding.witness)
        parts = [one for one in tried if len(one.steps) < len(found.steps)]
        if lasts is not None and lasts < found.entity.lock_duration:
            yield from (with_locks(one, lasts) for one in (*parts, found))
        yield from parts

    def _again(self, more: Callable[[], bool]) -> Recurrence | None:
        """How often the smallest program shows the finding, in up to `AGAIN` runs."""
        shows: list[bool] = []
        while len(shows) < AGAIN and more():
            shows.append(self._found(self.program) is not None)
        return Recurrence(1 + sum(shows), 1 + len(shows)) if shows else None

    def shows(self, candidate: Program) -> bool:
        """Whether the candidate shows the finding, by the same or another cause; if so it is kept."""
        text = dumps(candidate)
        if text in self.tried or not self.telling(candidate):
            return False
        self.tried.add(text)
        if (found := self._found(candidate)) is None:
            return False
        self.program, (self.history, self.finding) = candidate, found
        return True

    def _found(self, candidate: Program) -> tuple[History, Finding] | None:
        try:
            history = run(self.broker, candidate, on_problem=lambda problem: None)  # all were told before
        except Unreachable:
            return None
        found = shown(history, self.finding, same_cause=False)
        return found and (history, found)
