"""What the runs that a pytest item is about show to be violated. Which item fails for it, the suite says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .suite import Run
from .telling import told
from .verdict import Finding, Verdicts

Rules = tuple[str, ...]
"""A rule that is violated, or several of which one surely is (`Verdict.among`)."""

Judged = Sequence[tuple[Run, Verdicts]]
"""Runs, and those of each one's verdicts that an item is about."""


class Shown(NamedTuple):
    """How these rules are shown to be violated: by a finding in that run if it is one rule, and why."""

    rules: Rules
    run: Run
    why: str
    finding: Finding | None = None

    @property
    def heading(self) -> str:
        """That they are violated, in words."""
        return f"{' or '.join(self.rules)} violated"

    def told(self) -> str:
        """All of it, for the report of a failure."""
        if self.finding is not None:
            return told(self.finding, self.run.history)
        return f"{self.heading}\n  {self.run.name}, one of them for sure\n  {self.why}"


def shown_by(judged: Judged) -> dict[Rules, Shown]:
    """What is violated, each by the first that shows it: the rules known by name, then several of which one
    surely is, unless one of these is known."""
    verdicts = [(run, verdict) for run, rows in judged for verdict in rows.values()]
    shown: dict[Rules, Shown] = {}
    for run, verdict in verdicts:
        for finding in verdict.findings:
            rules = (finding.requirement,)
            shown.setdefault(rules, Shown(rules, run, finding.title, finding))
    alone = {rule for rules in shown for rule in rules}
    for run, verdict in verdicts:
        if verdict.among and alone.isdisjoint(verdict.among):
            shown.setdefault(verdict.among, Shown(verdict.among, run, verdict.reason))
    return shown
