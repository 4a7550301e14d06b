"""Blame on rejected histories of mutants: does it name the requirement that is broken? The bars are for those
that were set aside; the others, which were looked at while blame was built, are measured beside them.

Each mutant's programs are run until the judge rejects one; this is shrunk by «the judge rejects it», and
blamed, with the history of the program as it was, both with the nodes that a single history has.
"""

from __future__ import annotations

from statistics import median
from time import thread_time
from typing import Final, NamedTuple

from partq.conformance.adapters.mutants import MUTANTS, open_mutant
from partq.conformance.evaluation.decision import EVERY, TIME_LIMIT
from partq.conformance.execution.runner import run
from partq.conformance.oracle.blame import blame
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.program import Program
from partq.conformance.workload.shrinker import shrink

from .figure import Figure

SEED: Final = 11
TRACES: Final = 300
"""How many programs of a mutant are tried."""
LENGTH: Final = 24
STEPS: Final = 400
"""How many runs shrinking may take."""


class Blamed(NamedTuple):
    """A mutant, the requirement it breaks, what blame says of its history, and how long that took, s."""

    mutant: str
    breaks: str
    candidates: tuple[str, ...]
    alone: bool
    seconds: float


def figures() -> list[Figure]:
    """The rates over the mutants that were set aside, and over the others."""
    return [*_rates(held_out=True), *_rates(held_out=False)]


def _rates(held_out: bool) -> list[Figure]:
    """The rates over all of these mutants that are rejected."""
    names = [name for name, mutant in MUTANTS.items() if mutant.held_out == held_out]
    found = [one for name in names if (one := blamed(name)) is not None]
    named = sum(one.breaks in one.candidates for one in found) / len(found)
    first = sum(one.candidates[:1] == (one.breaks,) for one in found) / len(found)
    wrong = sum(one.alone and one.candidates[0] != one.breaks for one in found) / len(found)
    typical = median(one.seconds for one in found if not MUTANTS[one.mutant].profile.startswith("solace"))
    what = f"blame, {len(found)} of {len(names)} mutants {'set aside' if held_out else 'looked at'}"
    return [
        Figure(
            f"{what}: own requirement among the candidates", f"{named:.1%}", "≥ 97 %", named, named >= 0.97
        ),
        Figure(f"{what}: alone or first", f"{first:.1%}", "≥ 95 %", first, first >= 0.95),
        Figure(f"{what}: a wrong one alone", f"{wrong:.1%}", "0 %", wrong, wrong == 0),
        Figure(
            f"{what}: all waivers, shrunk Azure history, median",
            f"{typical * 1000:.0f} ms",
            "≤ 30 ms",
            typical,
            typical <= 0.03,
        ),
    ]


def blamed(name: str) -> Blamed | None:
    """What blame says of the mutant's first rejected program, shrunk; None where none is rejected."""
    mutant = MUTANTS[name]
    broker = open_mutant(name)

    def rejected(program: Program) -> bool:
        return judge(run(broker, program), TIME_LIMIT, nodes=EVERY.nodes).status is Judged.REJECTED

    for trace in range(TRACES):
        program = generate(mutant.profile, trace_seed(SEED, trace), length=LENGTH, lacks=broker.lacks())
        if rejected(program):
            history, whole = run(broker, shrink(program, rejected, STEPS)), run(broker, program)
            began = thread_time()
            said = blame(history, TIME_LIMIT, nodes=EVERY.after, whole=whole)
            took = thread_time() - began
            alone = said.violated is not None
            return Blamed(name, mutant.breaks, said.candidates, alone, took)
    return None
