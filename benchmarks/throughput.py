"""One process: programs generated, simulated and checked; and how checking grows with a history.

Times are the process's own (CPU), as nothing here waits: what else the machine does is left out.
"""

from __future__ import annotations

import math
from statistics import linear_regression, median
from time import process_time

from partq.conformance.adapters.reference import Reference
from partq.conformance.execution.runner import run
from partq.conformance.screens.assess import inspect
from partq.conformance.workload.generator import generate

from .figure import Figure, timed

PROFILE = "azure-premium"
PROGRAMS = 300
ROUNDS = 5
SIZES = (1_000, 10_000, 100_000)
SEEDS = (1, 2, 3)
REPEATS = 3


def figures() -> list[Figure]:
    """Checked operations a second on typical campaign traces, generation included."""
    rounds = [_round(n * PROGRAMS) for n in range(ROUNDS)]
    rate = median(operations / sum(times) for operations, *times in rounds)
    ratio = median(checking / simulating for _, _, simulating, checking in rounds)
    share = median(
        generating / (generating + simulating + checking) for _, generating, simulating, checking in rounds
    )
    return [
        Figure(
            "generate + simulate + check, one process, reference broker",
            f"{rate:,.0f} checked operations/s (generation takes {share:.0%})",
            "≥ 40,000/s",
            rate,
            rate >= 40_000,
        ),
        Figure("checking time / simulating time", f"{ratio:.2f}", "≤ 1", ratio, ratio <= 1),
    ]


def _round(first_seed: int) -> tuple[int, float, float, float]:
    """One trace after the other, as in a campaign: nothing is kept, so that no stage pays for the garbage
    collector's going through what another one left."""
    broker = Reference()
    broker.profile = PROFILE
    operations = 0
    generating = simulating = checking = 0.0
    for seed in range(first_seed, first_seed + PROGRAMS):
        began = process_time()
        program = generate(PROFILE, seed)
        generated = process_time()
        history = run(broker, program)
        simulated = process_time()
        inspect(history)
        checking += process_time() - simulated
        simulating += simulated - generated
        generating += generated - began
        operations += len(history)
    return operations, generating, simulating, checking


def growth() -> list[Figure]:
    """Checking one history of 10³, 10⁴ and 10⁵ operations: the exponent of n after log n is taken out, for
    each of several programs by itself; the median of them counts."""
    runs = [[_checked(size, seed) for size in SIZES] for seed in SEEDS]
    slope = median(map(_growth, runs))
    typical = [median(seconds for _, seconds in same_size) for same_size in zip(*runs, strict=True)]
    shown = ", ".join(f"{size:,}: {seconds:.3f} s" for size, seconds in zip(SIZES, typical, strict=True))
    return [
        Figure(
            "checking one long history",
            f"{shown}; time / log n grows as n^{slope:.2f}",
            "≤ n log n (exponent ≤ 1.1)",
            slope,
            slope <= 1.1,
        )
    ]


def _checked(size: int, seed: int) -> tuple[int, float]:
    """How many operations a history of about that size has, and the seconds to check it."""
    broker = Reference()
    broker.profile = PROFILE
    history = run(broker, generate(PROFILE, seed, length=int(size / 1.6)))
    return len(history), median(timed(lambda: inspect(history), process_time) for _ in range(REPEATS))


def _growth(run: list[tuple[int, float]]) -> float:
    """The exponent of n in time / log n."""
    x, y = [math.log(n) for n, _ in run], [math.log(t / math.log(n)) for n, t in run]
    return linear_regression(x, y).slope
