"""In which order a reader is told what was found, on the terminal and on a page alike. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from partq.conformance.verdict.baseline import Matched
from partq.conformance.verdict.types import Finding, Verdict, Verdicts


class Cause(NamedTuple):
    """The first finding of a cause, how many there were, and why they are accepted; empty where not."""

    finding: Finding
    times: int
    known: str = ""


def causes_of(profile: str, verdicts: Verdicts, known: Matched | None = None) -> list[Cause]:
    """The causes of one profile's findings: by rule as the catalogue has them, those of a rule as they were
    found, what is known last. Where only a part of a cause's findings is known, that part and the rest are
    told apart, and the kept findings are counted."""
    causes = [cause for verdict in verdicts.values() for cause in _causes(profile, verdict, known)]
    return sorted(causes, key=lambda cause: bool(cause.known))


def _causes(profile: str, verdict: Verdict, known: Matched | None) -> Iterator[Cause]:
    parts: dict[str, dict[str, list[Finding]]] = {}
    for finding in verdict.findings:
        reason = known.reason(profile, finding) if known else ""
        parts.setdefault(finding.key, {}).setdefault(reason, []).append(finding)
    for key, by_reason in parts.items():
        for reason, findings in by_reason.items():
            yield Cause(findings[0], verdict.found[key] if len(by_reason) == 1 else len(findings), reason)
