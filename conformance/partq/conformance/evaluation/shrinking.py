"""The smallest program that still shows a finding.

A shrinker tries hundreds of candidates, and the whole decision takes long where the judge rejects. So each
candidate is only asked what is cheap: whether the screens still suspect the same, or, where they suspected
nothing, whether the judge still rejects. What is left at the end is decided in full, and has to show the
finding's requirement; where it doesn't, that is asked of every candidate.

Besides, a candidate has to exercise the requirement on the reference, if the program does: otherwise a replay
on a broker that has been mended would say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

from partq.conformance.adapters import Broker, open_broker
from partq.conformance.evaluation.decision import SUITE, Decider, Exactness
from partq.conformance.evaluation.endings import unreceivable
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.screens.assess import inspect
from partq.conformance.verdict import Finding
from partq.conformance.workload.program import Program
from partq.conformance.workload.shrinker import BUDGET, shrink

REFERENCE: Final = "reference"

SHORT: Final = 10
"""A program of at most so many steps is short enough for a reader."""

NODES: Final = 1_000
"""The judge's budget in nodes for one candidate."""

ALL_NODES: Final = 100_000
"""The judge's budget in nodes for all candidates; when it is spent no candidate counts as rejected."""

SECONDS: Final = 10.0
"""More time than the judge needs for so many nodes, so that the result does not depend on the machine."""

DECIDED: Final = 15
"""The limit of candidates that are decided in full."""

DECIDING: Final = replace(SUITE, nodes=2 * NODES, after=NODES // 2)
"""How much the judge is asked about each of these; what is left at the end is decided as any program is."""


def shown(
    history: History, finding: Finding, same_cause: bool = True, exact: Exactness = SUITE
) -> Finding | None:
    """A finding of the whole decision on the finding's requirements: of the same cause, otherwise of any."""
    findings = [one for several in Decider(exact).decide(history).findings.values() for one in several]
    alike = [one for one in findings if not set(one.requirements).isdisjoint(finding.requirements)]
    same = next((one for one in alike if one.key == finding.key), None)
    return same if same_cause else same or next(iter(alike), None)


def shows_again(history: History, finding: Finding) -> bool:
    """Whether the history shows the finding, by a screen or by the whole decision."""
    return _suspected(finding, finding.key, history) or shown(history, finding) is not None


def exercises(rule: str, program: Program) -> bool:
    """Whether the program exercises the requirement on a conforming broker: the reference."""
    return rule in inspect(run(open_broker(REFERENCE), program)).exercised


def exercising(rule: str, program: Program) -> Callable[[Program], bool]:
    """Whether a smaller program still exercises the requirement, as far as this one does."""
    return partial(exercises, rule) if exercises(rule, program) else lambda candidate: True


def smallest(
    broker: Broker,
    program: Program,
    finding: Finding,
    budget: int = BUDGET,
    more: Callable[[], bool] = lambda: True,
) -> Program:
    """The smallest program found that shows the finding on the broker, which the program itself has to.

    Where one longer than `SHORT` is left, it is shrunk on by looser questions: the same defect may show in
    fewer steps by another cause. ``budget``: how many candidates are tried at the most, for each question.
    ``more``: whether another may be."""
    telling = exercising(finding.requirement, program)
    for questions in _ways(run(broker, program), finding):
        small = [program]
        for question in questions:
            if len(small[-1].steps) > SHORT or len(small) == 1:

                def shows(candidate: Program, holds: Callable[[History], bool] = question.holds) -> bool:
                    return holds(run(broker, candidate)) and telling(candidate)

                small.append(shrink(small[-1], shows, min(budget, question.tries), more))
        for least in reversed(small[1:]):
            if shown(run(broker, least), finding, same_cause=False) is not None:
                return least
    return program


class _Question(NamedTuple):
    """What candidates are asked, and how many of them at the most."""

    holds: Callable[[History], bool]
    tries: int = BUDGET


def _ways(history: History, finding: Finding) -> Iterator[tuple[_Question, ...]]:
    """What candidates are asked: the cheap questions first, and of each kind the strict ones first."""
    same_cause = partial(_suspected, finding, finding.key)
    rejected = _Question(_Rejecting())
    if same_cause(history):
        yield _Question(same_cause), _Question(partial(_suspected, finding, None)), rejected
    elif rejected.holds(history):
        yield (rejected,)
    yield (
        _Question(partial(_decided, finding, True), DECIDED),
        _Question(partial(_decided, finding, False), DECIDED),
    )


def _suspected(finding: Finding, key: str | None, history: History) -> bool:
    """Whether a screen finds it in the history, or the drain's end."""
    seen, left = inspect(history), unreceivable(history)
    if finding.candidates in seen.candidates.values():
        return True
    alike = [one for one in (left,) if one is not None and one.requirement == finding.requirement]
    alike += seen.findings.get(finding.requirement, ())
    return any(key is None or one.key == key for one in alike)


@dataclass(slots=True)
class _Rejecting:
    """Whether the judge rejects a history, as long as nodes are ``left``."""

    left: int = ALL_NODES

    def __call__(self, history: History) -> bool:
        if self.left <= 0:
            return False
        judgement = judge(history, seconds=SECONDS, nodes=NODES)
        self.left -= judgement.visited
        return judgement.status is Judged.REJECTED


def _decided(finding: Finding, same_cause: bool, history: History) -> bool:
    return shown(history, finding, same_cause, DECIDING) is not None
