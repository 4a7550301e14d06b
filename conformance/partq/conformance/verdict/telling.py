"""In which order a reader is told what was found, on the terminal and on a page alike. Pure."""

from __future__ import annotations

from typing import NamedTuple

from partq.conformance.verdict.baseline import Matched
from partq.conformance.verdict.types import Finding, Verdicts


class Cause(NamedTuple):
    """The first finding of a cause, how many there were, and why they are accepted; empty where not."""

    finding: Finding
    times: int
    known: str = ""


def causes_of(profile: str, verdicts: Verdicts, known: Matched | None = None) -> list[Cause]:
    """The causes of one profile's findings: those certainly of one rule first, by rule as the catalogue has
    them, those of a rule as they were found, what is known last. Where only a part of a cause's findings is
    known, that part and the rest are told apart, and the kept findings are counted."""

    def reason(finding: Finding) -> str:
        return known.reason(profile, finding) if known else ""

    causes = [
        Cause(finding, times, reason(finding))
        for verdict in verdicts.values()
        for finding, times in verdict.counted(reason)
    ]
    return sorted(causes, key=lambda cause: (bool(cause.known), bool(cause.finding.candidates)))
