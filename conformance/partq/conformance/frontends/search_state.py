"""What a search has seen so far, and what it raises when it finds something. Programs are drawn and shrunk
elsewhere: `stateful` does it on simulated brokers, `live_search` on live ones.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from partq.conformance.evaluation.activity import activity
from partq.conformance.evaluation.finding_text import steps as steps_of
from partq.conformance.evaluation.finding_text import wrong_in
from partq.conformance.evaluation.suite import Run
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import Verdicts, merge, narrowed, plural
from partq.conformance.workload import program as programs
from partq.conformance.workload.program import Program


class NotConformant(AssertionError):
    """Raised when a program violates a rule. The message holds the program, the findings and the replay
    command.

    ``verdicts``: of its run. ``steady``: whether it showed each time that the program was run; a live
    broker's races need not.
    """

    def __init__(self, program: Program, trouble: list[str], verdicts: Verdicts, steady: bool = True) -> None:
        self.program = program
        self.trouble = trouble
        self.verdicts = verdicts
        self.steady = steady
        super().__init__(f"{self.story}\n{again(program, 'BROKER')}")

    @property
    def story(self) -> str:
        """What was found, and the program that shows it."""
        lines = steps_of(self.program)
        heading = f"The program, {plural(len(lines), 'step')}:"
        seldom = [] if self.steady else ["It did not show each time that the program was run."]
        return "\n".join([*self.trouble, *seldom, heading, *(f"  {text}" for text in lines)])


def again(program: Program, broker: str) -> str:
    """How to run a program again that is stored nowhere; its last line is the program."""
    command = f"partq replay program.json --broker {broker}"
    return f"To run it again, save the next line as program.json: {command}\n{programs.dumps(program)}"


@dataclass(slots=True)
class SearchState:
    """What a search has seen so far: of how many programs, their verdicts, merged, and what they show of the
    broker's ``activity``, added up. ``examples``: how many programs were asked for. ``failing``: the smallest
    failure, from which on it shrinks. ``broken``: the broker could not be run, for this reason.
    ``on_program``: called with the state after each program. ``seconds``: so long by the ``clock`` it may
    search, and as long again shrink. ``over``: that time is up."""

    examples: int = 0
    on_program: Callable[[SearchState], None] = lambda seen: None
    seconds: float | None = None
    clock: Callable[[], float] = time.monotonic
    programs: int = 0
    verdicts: Verdicts = field(default_factory=dict)
    activity: Counter[str] = field(default_factory=Counter)
    failing: NotConformant | None = None
    broken: Exception | None = None
    over: bool = False
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.since = self.clock()

    def enough(self) -> bool:
        """Whether the time is over, which it never is while nothing was seen."""
        if self.seconds is not None and self.programs and self.clock() - self.since > self.seconds:
            self.over = True
        return self.over

    def add(self, done: Run) -> None:
        """Take in one more program's run, and tell."""
        self.programs += 1
        self.activity.update(activity(done.history))
        both = merge((self.verdicts, done.verdicts))
        self.verdicts = narrowed(both, done.history.header.profile, ALL, self.activity)
        if trouble := wrong_in(done):
            self._fail(NotConformant(done.program, trouble, done.verdicts))
        self.on_program(self)

    def _fail(self, failure: NotConformant) -> None:
        if self.failing is None:
            self.since = self.clock()
        if self.failing is None or len(failure.program.steps) <= len(self.failing.program.steps):
            self.failing = failure
