"""One process: programs generated, simulated and checked; and how checking grows with a history."""

from __future__ import annotations

import math
from statistics import median

from partq.conformance.adapters.reference import Reference
from partq.conformance.assess import inspect
from partq.conformance.history import History
from partq.conformance.program import Program
from partq.conformance.workload import generate

from .figure import Figure, timed

PROFILE = "azure-premium"
PROGRAMS = 300
ROUNDS = 5
SIZES = (1_000, 10_000, 100_000)


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
    broker = Reference()
    broker.profile = PROFILE
    programs: list[Program] = []
    generating = timed(lambda: programs.extend(generate(PROFILE, first_seed + n) for n in range(PROGRAMS)))
    histories: list[History] = []
    simulating = timed(lambda: histories.extend(broker.simulate(program) for program in programs))
    checking = timed(lambda: [inspect(history) for history in histories])
    return sum(map(len, histories)), generating, simulating, checking


def growth() -> list[Figure]:
    """Checking one history of 10³, 10⁴ and 10⁵ operations: the exponent of n after n log n is taken out."""
    sizes, seconds = zip(*(_checked(size) for size in SIZES), strict=True)
    slope = _slope(
        [math.log(n) for n in sizes], [math.log(t / math.log(n)) for n, t in zip(sizes, seconds, strict=True)]
    )
    shown = ", ".join(f"{n:,}: {t:.3f} s" for n, t in zip(sizes, seconds, strict=True))
    return [
        Figure(
            "checking one long history",
            f"{shown}; time / log n grows as n^{slope:.2f}",
            "≤ n log n (exponent ≤ 1.1)",
            slope,
            slope <= 1.1,
        )
    ]


def _checked(size: int) -> tuple[int, float]:
    broker = Reference()
    broker.profile = PROFILE
    history = broker.simulate(generate(PROFILE, 1, length=int(size / 1.6)))
    return len(history), median(timed(lambda: inspect(history)) for _ in range(3))


def _slope(x: list[float], y: list[float]) -> float:
    """The least-squares slope of y over x."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return above / sum((a - mean_x) ** 2 for a in x)
