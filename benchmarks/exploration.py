"""How fast the model's reachable states are enumerated."""

from __future__ import annotations

from statistics import median

from partq.model.packed import Count, count
from partq.model.scope import Scope

from .figure import Figure, timed

SCOPE = Scope(profile="azure-premium", partitions=2, messages=("a", "b", "-"), clients=2)
ROUNDS = 3


def figures() -> list[Figure]:
    """States a second over a graph of at least 250,000 states, counted by `packed.count`."""
    found: list[Count] = []
    seconds = median(timed(lambda: found.append(count(SCOPE))) for _ in range(ROUNDS))
    states, transitions, _ = found[0]
    rate = states / seconds
    shown = f"{rate:,.0f} states/s ({states:,} states, {transitions:,} transitions in {seconds:.1f} s)"
    bar = "≥ 50,000 states/s over ≥ 250,000 states"
    return [Figure("model exploration", shown, bar, rate, rate >= 50_000 and states >= 250_000)]
