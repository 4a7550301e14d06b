"""What the runs that a pytest item is about show to be violated. Which item fails for it, the suite says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from partq.conformance.evaluation.finding_text import finding_text
from partq.conformance.evaluation.suite import Run
from partq.conformance.verdict import Finding, Verdicts, violated_one_of

Requirements = tuple[str, ...]
"""A rule that is violated, or several of which one certainly is (`Verdict.candidates`)."""

JudgedRuns = Sequence[tuple[Run, Verdicts]]
"""Runs, and those of each one's verdicts that an item is about."""


class Violation(NamedTuple):
    """How these rules are shown to be violated: in that run, by a finding if there is one, and why."""

    requirements: Requirements
    run: Run
    why: str
    finding: Finding | None = None

    @property
    def ambiguous(self) -> bool:
        """Whether it is not known which of several rules is violated."""
        return len(self.requirements) > 1 or (self.finding is not None and self.finding.candidates != ())

    @property
    def heading(self) -> str:
        """That they are violated, in words."""
        return violated_one_of(self.requirements) if self.ambiguous else f"{self.requirements[0]} violated"

    def text(self) -> str:
        """All of it, for the report of a failure."""
        if self.finding is not None:
            return finding_text(self.finding, self.run.history)
        return f"{self.heading}\n  {self.run.name}\n  {self.why}"


def violations_in(judged: JudgedRuns) -> dict[Requirements, Violation]:
    """What is violated, each by the first that shows it: the rules known by name, then several of which one
    certainly is, unless one of these is known."""
    verdicts = [(run, verdict) for run, rows in judged for verdict in rows.values()]
    found = [(run, finding) for run, verdict in verdicts for finding in verdict.findings]
    shown: dict[Requirements, Violation] = {}
    for run, finding in sorted(found, key=lambda each: len(each[1].requirements) > 1):
        if shown.keys().isdisjoint((one,) for one in finding.requirements):
            violation = Violation(finding.requirements, run, finding.title, finding)
            shown.setdefault(finding.requirements, violation)
    alone = {requirements[0] for requirements in shown if len(requirements) == 1}
    for run, verdict in verdicts:
        if verdict.candidates and alone.isdisjoint(verdict.candidates):
            shown.setdefault(verdict.candidates, Violation(verdict.candidates, run, verdict.reason))
    return shown
