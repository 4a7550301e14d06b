"""How fast the model's reachable states are enumerated, by itself and beside TLC on the specification."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from statistics import median

from partq.model.packed import Count, count
from partq.model.scope import Scope
from partq.spec.comparison.spec_side import SpecScope, counted
from partq.spec.tools.tlc import Answer

from .figure import Figure, timed

SCOPE = Scope(profile="azure-premium", partitions=2, messages=("a", "b", "-"), clients=2)
ROUNDS = 3

TOGETHER = (("a", "b", "a", "-"), ("a", "b", "a", "b", "-"))
"""The keys of the messages of two scopes that both sides explore: two clients receive, complete and peek, and
no lock ends by itself, so that no bound on delivery counts, of which each side has its own, is ever met."""

WORKERS = (1, 2)
BEST = ("-XX:TieredStopAtLevel=4", "-XX:-UseSerialGC", "-XX:+UseParallelGC")
"""Java as it is fastest for long searches (short ones start faster as `tlc.check` starts it)."""


def figures() -> list[Figure]:
    """States a second over a graph of at least 250,000 states, counted by `packed.count`."""
    found: list[Count] = []
    seconds = median(timed(lambda: found.append(count(SCOPE))) for _ in range(ROUNDS))
    states, transitions, _ = found[0]
    rate = states / seconds
    shown = f"{rate:,.0f} states/s ({states:,} states, {transitions:,} transitions in {seconds:.1f} s)"
    bar = "≥ 50,000 states/s over ≥ 250,000 states"
    return [Figure("model exploration", shown, bar, rate, rate >= 50_000 and states >= 250_000)]


def beside_tlc() -> list[Figure]:
    """How much longer TLC takes over the same graphs, whole processes both.

    Raises `ToolMissing`, and `AssertionError` where the two count different states or transitions.
    """
    return [_beside_tlc(keys) for keys in TOGETHER]


def _beside_tlc(keys: tuple[str, ...]) -> Figure:
    scope = Scope(messages=keys, operations=("receive", "complete", "peek"))
    same = SpecScope(("partitioned", "numbers"), keys, ("peek",))
    counts: list[Count] = []
    answers: list[Answer] = []
    ours: list[float] = []
    theirs: dict[int, list[float]] = {workers: [] for workers in WORKERS}
    for _ in range(ROUNDS):
        ours.append(timed(lambda: counts.append(_alone(scope))))
        for workers, times in theirs.items():
            times.append(timed(lambda: answers.append(counted(same, workers, BEST))))  # noqa: B023 (called at once)
    for answer in answers:
        _must_agree(counts[0], answer)
    best = min(theirs, key=lambda workers: median(theirs[workers]))
    states, transitions, _ = counts[0]
    ratio = median(theirs[best]) / median(ours)
    tlc = ", ".join(f"{median(taken):.1f} s with {n}" for n, taken in theirs.items())
    shown = f"{ratio:.1f} x (model {median(ours):.1f} s; TLC {tlc} workers; {os.cpu_count()} cores)"
    what = f"TLC / model on {states:,} states, {transitions:,} transitions"
    return Figure(what, shown, "≥ 2 x", ratio, ratio >= 2)


def _alone(scope: Scope) -> Count:
    """What a Python process of its own counts."""
    program = (
        f"from partq.model.packed import count\nfrom partq.model.scope import Scope\nprint(count({scope!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return Count(*map(int, re.findall(r"\d+", done.stdout)))


def _must_agree(ours: Count, theirs: Answer) -> None:
    """TLC counts the initial state among those that it generated."""
    assert (ours.states, ours.transitions) == (theirs.distinct, theirs.generated - 1), (ours, theirs)
