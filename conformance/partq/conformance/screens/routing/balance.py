"""ROUTE-4: keyless messages are spread evenly, tested on many of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Final

from partq.conformance.history import Record
from partq.conformance.screens.protocol import Report

ALPHA: Final = 1e-9
"""The probability, at most, that a fair broker fails the test of one history."""


def judge_balance(
    report: Report, shares: Mapping[str, tuple[int, float]], accepted: Sequence[Record]
) -> None:
    """``shares``: name -> how many of the ``accepted`` choices came from there, and what part is fair. If
    choices are fair and independent, or more even than that, a share x of n obeys the Chernoff bound P ≤
    exp(-n KL(x/n || fair)) to either side; with as many shares and two sides, `ALPHA` is kept. What was
    accepted but not seen may be anywhere."""
    n, seen = len(accepted), sum(count for count, _ in shares.values())
    limit = log(2 * len(shares) / ALPHA)
    if len(shares) < 2 or not seen or seen * log(1 / min(fair for _, fair in shares.values())) < limit:
        return
    report.count("ROUTE-4")
    for name, (count, fair) in shares.items():
        most, least = count / n, (count + n - seen) / n
        uneven = most if most > fair else least if least < fair else fair
        if n * divergence(uneven, fair) > limit:
            why = (
                f"{count} of {n} keyless sends went to {name}, of {fair:.3g} of all partitions; fair choices "
            )
            why += f"do so with a probability below {ALPHA:g}"
            report.find("ROUTE-4", "unbalanced", accepted[:3], why)
            return


def divergence(x: float, p: float) -> float:
    """Kullback-Leibler divergence of a share x from a probability p, in nats."""
    gain = x * log(x / p) if x > 0 else 0.0
    return gain + ((1 - x) * log((1 - x) / (1 - p)) if x < 1 else 0.0)
