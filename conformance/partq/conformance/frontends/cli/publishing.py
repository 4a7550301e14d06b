"""Verdicts where continuous integration looks for them: a file of JUnit XML, GitHub Actions. What
is said there, `junit` and `github` know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from partq.conformance.frontends.cli import github
from partq.conformance.frontends.cli.common import failing
from partq.conformance.frontends.cli.junit import RuleTimes, junit
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.rule_outcomes import rule_outcomes
from partq.conformance.frontends.cli.shown import Evidence
from partq.conformance.verdict import Finding, Matched, Verdicts

with lazily():
    from partq.conformance.evaluation import finding_text


class Told(NamedTuple):
    """Findings in lines. ``again``: a profile's finding and its place -> the command that shows it again."""

    evidence: Evidence
    again: Callable[[str, Finding, str], str]

    def text(self, profile: str, finding: Finding) -> str:
        """The finding, what shows it, and the command."""
        seen = self.evidence(profile, finding)
        if seen is None:
            return f"{finding.heading}\n{finding.detail}\nexpected: {finding.allowed}"
        place, history = seen
        return f"{finding_text.finding_text(finding, history)}\nagain: {self.again(profile, finding, place)}"


class NewFile(NamedTuple):
    """A file to be written. ``times``: how long each rule took since the command set out."""

    path: Path
    times: RuleTimes


def new_file(file: Path | None) -> NewFile | None:
    """Where the file is, wherever an adapter makes the current folder be meanwhile; its folder is made. Ends
    with one line where that can't be."""
    if file is None:
        return None
    with failing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.open("a").close()
    return NewFile(file.absolute(), RuleTimes())


def publish(
    document: Mapping[str, Any],
    results: Mapping[str, Verdicts],
    strict: bool,
    matched: Matched | None,
    told: Told,
    xml: NewFile | None,
) -> None:
    """Write JUnit XML to that file, if there is one, and tell GitHub Actions, if that runs this.
    ``document``: what the command says of these results. Where no lap was told of, all the time is theirs."""
    outcomes = rule_outcomes(results, strict, matched, told.text)
    broker, code, conclusion = document["broker"], document["exit"], document["conclusion"]
    if xml is not None:
        if not xml.times.seconds:
            xml.times.lap(results)
        xml.path.write_bytes(junit(broker, outcomes, code, conclusion, xml.times))
    github.publish(broker, outcomes, matched.absent if matched else (), conclusion)
