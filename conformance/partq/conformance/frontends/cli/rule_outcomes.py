"""What became of each rule under each profile, as test reports have it: passed, failed, known, in error or
skipped. Pure; JUnit XML and GitHub Actions are made of it.

Where the verdicts' exit code is 0 nothing failed or is in error. What else an exit code may come from, the
conclusion says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from partq.conformance.frontends.cli.streams import printable
from partq.conformance.verdict import Finding, Matched, Status, Verdict, Verdicts, binding_requirements
from partq.model.requirements import catalogue


class Outcome(StrEnum):
    """How a rule ended, as a test."""

    FAILED = "failed"
    ERROR = "error"
    KNOWN = "known"
    PASSED = "passed"
    SKIPPED = "skipped"


class RuleOutcome(NamedTuple):
    """One rule under one profile. ``message``: a line. ``text``: all there is to say, in lines."""

    profile: str
    requirement: str
    outcome: Outcome
    message: str
    text: str = ""

    @property
    def title(self) -> str:
        """The rule in words."""
        return catalogue()[self.requirement].title


Tells = Callable[[str, Finding], str]
"""A profile's finding in lines, with what shows it and how to see it again."""


def rule_outcomes(
    results: Mapping[str, Verdicts], strict: bool, known: Matched | None, tell: Tells
) -> list[RuleOutcome]:
    """Every rule of the catalogue under every profile, in this order."""
    binding = binding_requirements(strict)
    found = []
    for profile, verdicts in results.items():
        beyond = verdicts if known is None else known.beyond(profile, verdicts)
        for id, verdict in beyond.items():
            reasons = "; ".join(known.reasons(profile, id)) if known else ""
            accepted = verdicts[id].status is not verdict.status
            outcome = Outcome.KNOWN if accepted else _outcome(id, verdict, binding)
            message = f"{_message(verdicts[id])} (known: {reasons})" if accepted else _message(verdict)
            text = "\n\n".join(tell(profile, finding) for finding in verdict.causes)
            found.append(RuleOutcome(profile, id, outcome, printable(message), printable(text)))
    return found


_BY_STATUS: Final = {
    Status.PASS: Outcome.PASSED,
    Status.VIOLATED: Outcome.FAILED,
    Status.UNKNOWN: Outcome.ERROR,
}


def _outcome(id: str, verdict: Verdict, binding: Collection[str]) -> Outcome:
    """That a rule is violated, or undecided, which does not bind, fails nothing."""
    if verdict.status is not Status.PASS and id not in binding:
        return Outcome.SKIPPED
    if verdict.candidates and all(rule in binding for rule in verdict.candidates):
        return Outcome.FAILED
    return _BY_STATUS.get(verdict.status, Outcome.SKIPPED)


def _message(verdict: Verdict) -> str:
    """The verdict in one line."""
    headings = [finding.heading for finding in verdict.causes if not finding.candidates]
    if verdict.status is Status.VIOLATED and headings:
        return "; ".join(dict.fromkeys(headings))
    if verdict.candidates:
        return verdict.ambiguity
    if verdict.status is Status.UNKNOWN:
        return f"undecided: {verdict.reason}"
    if verdict.undecided:
        return f"{verdict.status.words}, {verdict.openness}: {verdict.reason}"
    return f"{verdict.status.words}: {verdict.reason}" if verdict.reason else verdict.status.words
