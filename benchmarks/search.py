"""Our seeded generator and screens against Hypothesis' own rule-based machine, on the same broker."""

from __future__ import annotations

import time
from statistics import median

from partq.conformance.adapters import SimulatedBroker
from partq.conformance.adapters.reference import Reference
from partq.conformance.evaluation.decision import NONE
from partq.conformance.evaluation.suite import Ways
from partq.conformance.execution.runner import run
from partq.conformance.frontends import stateful
from partq.conformance.history import History
from partq.conformance.screens.assess import inspect
from partq.conformance.workload.generator import generate
from partq.conformance.workload.program import Program

from .figure import Figure

PROFILE = "azure-premium"
SCREENS = Ways(jobs=1, exact=NONE)
PROGRAMS = 300
EXAMPLES = 100
LENGTH = 24
ROUNDS = 5


def figures() -> list[Figure]:
    """Checked operations a second: seeded campaign traces over the rule-based machine, in turn."""
    rounds = [(_seeded(n), _machine(n)) for n in range(ROUNDS)]
    ratio = median(ours / theirs for ours, theirs in rounds)
    ours, theirs = median(a for a, _ in rounds), median(b for _, b in rounds)
    shown = f"{ratio:.1f} × ({ours:,.0f}/s against {theirs:,.0f}/s)"
    return [Figure("seeded traces over Hypothesis' rule-based machine", shown, "≥ 8 ×", ratio, ratio >= 8)]


def _seeded(turn: int) -> float:
    broker = Reference()
    broker.profile = PROFILE
    operations, began = 0, time.perf_counter()
    for number in range(turn * PROGRAMS, (turn + 1) * PROGRAMS):
        history = run(broker, generate(PROFILE, number))
        inspect(history)
        operations += len(history)
    return operations / (time.perf_counter() - began)


class _Counting(SimulatedBroker):
    """The reference; counts the operations of the histories that the machine asks for."""

    operations = 0
    reference = Reference()

    def lacks(self) -> frozenset[str]:
        self.reference.profile = self.profile
        return self.reference.lacks()

    def simulate(self, program: Program) -> History:
        history = run(self.reference, program)
        self.operations += len(history)
        return history


def _machine(turn: int) -> float:
    broker = _Counting()
    began = time.perf_counter()
    stateful.search_on(broker, PROFILE, examples=EXAMPLES, length=LENGTH, seed=turn, ways=SCREENS)
    return broker.operations / (time.perf_counter() - began)
