"""The smallest program that still shows a finding.

A shrinker tries hundreds of candidates, and the whole decision takes long where the judge rejects. So each
candidate is only asked what is cheap: whether the screens still suspect the same, or, where they suspected
nothing, whether the judge still rejects. What is left at the end is decided in full, and has to show the
finding's requirement; where it doesn't, that is asked of every candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from partq.conformance.adapters import Broker
from partq.conformance.evaluation.decision import decide
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.screens.assess import inspect
from partq.conformance.verdict import Finding
from partq.conformance.workload.program import Program
from partq.conformance.workload.shrinker import BUDGET, shrink

SHORT: Final = 10
"""Steps of a program that a reader takes in at a glance."""

NODES: Final = 1_000
"""How many nodes the judge visits at the most for one candidate."""

Question = Callable[[History], bool]


def shown(history: History, finding: Finding, same_cause: bool = True) -> Finding | None:
    """What the whole decision finds of the finding's requirements: of the same cause, or else of any."""
    findings = [one for several in decide(history).findings.values() for one in several]
    alike = [one for one in findings if not set(one.requirements).isdisjoint(finding.requirements)]
    same = next((one for one in alike if one.key == finding.key), None)
    return same if same_cause else same or next(iter(alike), None)


def smallest(broker: Broker, program: Program, finding: Finding, budget: int = BUDGET) -> Program:
    """The smallest program found that shows the finding on the broker, which the program itself has to.

    Where one longer than `SHORT` is left, it is shrunk on by looser questions: the same defect may show in
    fewer steps by another cause. ``budget``: how many candidates are tried at the most, for each question."""
    for questions in _ways(run(broker, program), finding):
        small = [program]
        for question in questions:
            if len(small[-1].steps) > SHORT or len(small) == 1:
                small.append(shrink(small[-1], partial(_shows, broker, question), budget))
        for least in reversed(small[1:]):
            if shown(run(broker, least), finding, same_cause=False) is not None:
                return least
    return program


def _shows(broker: Broker, question: Question, candidate: Program) -> bool:
    return question(run(broker, candidate))


def _ways(history: History, finding: Finding) -> Iterator[tuple[Question, ...]]:
    """What candidates are asked: the cheap questions first, and of each kind the strict ones first."""
    suspected, loosely = partial(_suspected, finding, finding.key), partial(_suspected, finding, None)
    if suspected(history):
        yield suspected, loosely, _rejected
    elif _rejected(history):
        yield (_rejected,)
    yield partial(_decided, finding, True), partial(_decided, finding, False)


def _suspected(finding: Finding, key: str | None, history: History) -> bool:
    findings = inspect(history).findings.get(finding.requirement, ())
    return any(key is None or one.key == key for one in findings)


def _rejected(history: History) -> bool:
    return judge(history, seconds=1.0, nodes=NODES).status is Judged.REJECTED


def _decided(finding: Finding, same_cause: bool, history: History) -> bool:
    return shown(history, finding, same_cause) is not None
