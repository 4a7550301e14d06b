"""How the verdicts of several runs become one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from partq.conformance.verdict.types import Status, Verdict, Verdicts, kept

_RANK: Final = {
    Status.VIOLATED: 5,
    Status.UNKNOWN: 4,
    Status.PASS: 3,
    Status.SEEN: 3,
    Status.NOT_EXERCISED: 2,
    Status.NOT_IMPLEMENTED: 1,
    Status.NOT_APPLICABLE: 0,
}
"""Of two statuses of one requirement the higher one stands."""


def merged(a: Verdict, b: Verdict) -> Verdict:
    """Both runs' verdict of one requirement: the worse status, the sum of what was exercised and found."""
    first, second = (a, b) if _RANK[a.status] >= _RANK[b.status] else (b, a)
    if first.status is second.status and second.candidates and not first.candidates:
        first, second = second, first
    return Verdict(
        first.status,
        a.exercised + b.exercised,
        kept(a.findings + b.findings) if b.findings else a.findings,
        first.reason or second.reason if first.status is second.status else first.reason,
        Counter(a.found) + Counter(b.found) if b.found else a.found,
        first.candidates,
        a.traces + b.traces,
        0 if _outweighs(a) or _outweighs(b) else a.undecided + b.undecided,
        first.together,
    )


def _outweighs(verdict: Verdict) -> bool:
    """Whether it is unknown for another reason than that histories were left undecided."""
    return verdict.status is Status.UNKNOWN and not verdict.undecided


def merge(runs: Iterable[Verdicts]) -> dict[str, Verdict]:
    """The verdicts of several runs as one, by priority violated > unknown > pass > not exercised."""
    total: dict[str, Verdict] = {}
    for run in runs:
        for requirement, verdict in run.items():
            known = total.get(requirement)
            total[requirement] = verdict if known is None else merged(known, verdict)
    return resolved(total)


def resolved(total: dict[str, Verdict]) -> dict[str, Verdict]:
    """Drop an either-or verdict where one of its rules is known to be violated, because the violated rule
    already explains the anomaly: the others are undecided."""
    certain = {requirement for requirement, verdict in total.items() if verdict.status is Status.VIOLATED}
    return {
        requirement: verdict if certain.isdisjoint(verdict.candidates) else replace(verdict, candidates=())
        for requirement, verdict in total.items()
    }


def ambiguities(verdicts: Verdicts) -> dict[tuple[str, ...], Verdict]:
    """Each set of rules of which one certainly is violated, or all together, and the verdict that says so."""
    return {verdict.candidates: verdict for verdict in verdicts.values() if verdict.candidates}
