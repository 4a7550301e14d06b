"""The smallest program that still shows a finding. Works on programs alone; running them is the caller's.

Delta debugging over the steps, then over what is inside them. Every candidate is a program, since steps
are symbolic; each is tried one step at a time first, and under a few other interleavings, because taking
a step away shifts the schedule too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from .program import Program, Step

BUDGET: Final = 4000
"""How many candidates are tried at the most."""

SCHEDULES: Final = 4
"""How many other interleavings a concurrent candidate gets."""


class _Budget:
    def __init__(self, tries: int) -> None:
        self.left = tries

    def spend(self) -> bool:
        self.left -= 1
        return self.left >= 0


def shrink(program: Program, shows: Callable[[Program], bool], budget: int = BUDGET) -> Program:
    """A smaller program for which ``shows`` still holds; the same one if none is found.

    ``shows`` must hold for ``program``, and should be the same each time it is asked.
    """
    tries = _Budget(budget)

    def first_that_shows(candidates: Iterator[Program]) -> Program | None:
        for candidate in candidates:
            if not tries.spend():
                return None
            if shows(candidate):
                return candidate
        return None

    best = first_that_shows(iter((replace(program, sequential=True),))) or program
    while True:
        smaller = first_that_shows(_smaller(best))
        if smaller is None:
            return best
        best = smaller


def _smaller(program: Program) -> Iterator[Program]:
    """Candidates, most promising first: fewer steps, then simpler ones."""
    if not program.sequential:
        yield replace(program, sequential=True)
    for steps in _fewer(program.steps):
        yield from _schedules(program.with_steps(steps))
    for index, step in enumerate(program.steps):
        for simpler in _simpler(step):
            yield program.with_steps((*program.steps[:index], simpler, *program.steps[index + 1 :]))


def _fewer(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """Without ever smaller runs of steps, down to single ones, and then without pairs."""
    size = len(steps) // 2
    while size >= 1:
        for start in range(0, len(steps), size):
            yield steps[:start] + steps[start + size :]
        size //= 2
    for first in range(len(steps)):
        for second in range(first + 1, len(steps)):
            yield steps[:first] + steps[first + 1 : second] + steps[second + 1 :]


def _schedules(program: Program) -> Iterator[Program]:
    yield program
    if not program.sequential:
        for other in range(SCHEDULES):
            if other != program.seed:
                yield replace(program, seed=other)


def _simpler(step: Step) -> Iterator[Step]:
    args = step.args
    messages = args.get("messages", ())
    if len(messages) > 1:
        for drop in range(len(messages)):
            yield _with(step, messages=messages[:drop] + messages[drop + 1 :])
    if any(len(message.body) > 1 for message in messages):
        yield _with(step, messages=tuple(replace(m, body=m.body[:1]) for m in messages))
    if len(args.get("pick", ())) > 1:
        yield _with(step, pick=args["pick"][:1])
        yield _with(step, pick=args["pick"][1:])


def _with(step: Step, **changed: Any) -> Step:
    return step._replace(args={**step.args, **changed})
