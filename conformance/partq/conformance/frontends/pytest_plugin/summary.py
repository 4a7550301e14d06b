"""What a pytest session's items said, rule by rule, as one verdict and as the table at the end.

What is reported comes as plain data, for an item may have been run in a worker of xdist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from partq.conformance.verdict import (
    Exit,
    Status,
    Verdict,
    Verdicts,
    ambiguities,
    binding_requirements,
    exit_code,
    merge,
    violated_one_of,
)
from partq.model.requirements import catalogue

SummaryRow = list[Any]
"""A rule's ID, status, how often it was exercised and violated, the reason, the runs that violate it, and the
rules of which one certainly is violated (`Verdict.candidates`)."""

COLOURS: Final[Mapping[Status, Mapping[str, bool]]] = {
    Status.PASS: {"green": True},
    Status.VIOLATED: {"red": True, "bold": True},
    Status.UNKNOWN: {"yellow": True},
}

NAMED: Final = 3
"""So many runs are named that violate a rule; the rest only count."""


def summary_row(requirement: str, verdict: Verdict, where: Sequence[str]) -> SummaryRow:
    """An item's word for a rule."""
    counts = verdict.exercised, verdict.times
    return [requirement, verdict.status.value, *counts, verdict.reason, list(where), list(verdict.candidates)]


def exercised_or_open(verdicts: Verdicts) -> dict[str, Verdict]:
    """Those of the rules that were put to the test, violated or left open."""
    return {name: verdict for name, verdict in verdicts.items() if verdict.status in COLOURS}


def unknown_of(verdicts: Verdicts) -> dict[str, str]:
    """The rules that are unknown, and why."""
    return {name: v.reason for name, v in verdicts.items() if v.status is Status.UNKNOWN}


class Reported:
    """What was said so far. ``strict``: a SHOULD binds too. ``items``: by how many items."""

    def __init__(self, strict: bool) -> None:
        self.binding = binding_requirements(strict)
        self.items = 0
        self.total: Verdicts = {}
        self.where: dict[str, dict[str, None]] = {}

    def add(self, said: Iterable[SummaryRow]) -> None:
        """Take in an item's rows."""
        self.items += 1
        rows: list[Verdicts] = [self.total]
        for name, status, exercised, times, reason, where, candidates in said:
            found = {"": times} if times else {}
            verdict = Verdict(
                Status(status), exercised, reason=reason, found=found, candidates=tuple(candidates)
            )
            rows.append({name: verdict})
            self.where.setdefault(name, {}).update(dict.fromkeys(where))
        self.total = merge(rows)

    def inconclusive(self) -> str:
        """Why all this decides nothing; empty if it does, or there was no item."""
        if unknown := [name for name in unknown_of(self.total) if name in self.binding]:
            return f"{', '.join(unknown)} unknown"
        idle = self.items and not any(verdict.exercised for verdict in self.total.values())
        return "nothing was exercised" if idle else ""

    def show(self, reporter: Any, title: str) -> None:
        """One line for each rule, to pytest's terminal reporter."""
        if not self.items:
            return
        reporter.section(f"partq: {title}")
        rows = {name: row for name, row in catalogue().items() if name in self.total}
        width = max((len(row.title) for row in rows.values()), default=0)
        for name, row in rows.items():
            verdict = self.total[name]
            reporter.write(f"{name:9} {row.level.value:6} {row.title:{width}} ")
            reporter.write(f"{verdict.status.value:14}", **COLOURS.get(verdict.status, {}))
            reporter.write_line(f" {self._counts(name, verdict)}".rstrip())
        counts = Counter(self.total[name].status.value for name in rows)
        reporter.write_line(", ".join(f"{count} {status}" for status, count in counts.items()))
        for candidates in ambiguities(self.total):
            binds = self.binding.issuperset(candidates)
            reporter.write_line(f"partq: {violated_one_of(candidates)}", red=binds, yellow=not binds)
        violated = exit_code(self.total, self.binding) == Exit.VIOLATED
        if not violated and (why := self.inconclusive()):
            reporter.write_line(f"partq: {why}: inconclusive", yellow=True)

    def _counts(self, requirement: str, verdict: Verdict) -> str:
        """How often a rule was put to the test, how often and where it did not hold, and why it is open."""
        words = [f"{verdict.exercised:,}×"] if verdict.exercised else []
        if where := list(self.where[requirement]):
            more = f" and {len(where) - NAMED} more" if len(where) > NAMED else ""
            words.append(f"{verdict.times:,} found in {', '.join(where[:NAMED])}{more}")
        if verdict.status is Status.UNKNOWN:
            words.append(verdict.reason)
        return ", ".join(words)
