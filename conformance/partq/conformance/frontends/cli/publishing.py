"""A run's verdicts where continuous integration looks for them: a file of JUnit XML, GitHub Actions. What
is said there, `junit` and `github` know."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from partq.conformance.frontends.cli import github
from partq.conformance.frontends.cli.common import fail
from partq.conformance.frontends.cli.junit import junit
from partq.conformance.frontends.cli.rule_outcomes import RuleOutcome
from partq.conformance.verdict import Finding, Matched

if TYPE_CHECKING:
    from partq.conformance.evaluation.keeping import StoredFile
    from partq.conformance.evaluation.suite import SuiteResult


class Told(NamedTuple):
    """Findings in lines, with the command that shows each again. ``broker``: its name as it may be shown;
    ``options``: those that make the same run again."""

    broker: str
    results: Mapping[str, SuiteResult]
    stored: Sequence[StoredFile]
    options: Sequence[str]

    def text(self, profile: str, finding: Finding) -> str:
        """The finding, where it was seen, and the command."""
        from partq.conformance.evaluation.finding_text import finding_text

        done = self.results[profile].evidence(finding)
        if done is None:
            return f"{finding.heading}\n{finding.detail}\nallowed: {finding.allowed}"
        return f"{finding_text(finding, done.history)}\nagain: {self._again(profile, finding, done.name)}"

    def _again(self, profile: str, finding: Finding, run: str) -> str:
        """Replays what is stored; else runs the case, or all of it."""
        from partq.conformance.workload.cases import ALL_CASES

        for one in self.stored:
            if one.cause == (profile, finding.requirement, finding.key):
                return one.command
        only = ("--profile", profile, "--case", run) if run in ALL_CASES else self.options
        return shlex.join(["partq", "run", self.broker, *only])


def new_file(file: Path | None) -> Path | None:
    """Where the file is, wherever an adapter makes the current folder be meanwhile; its folder is made. Ends
    with one line where that can't be."""
    if file is None:
        return None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.open("a").close()
    except OSError as error:
        fail(f"{file}: {error.strerror}")
    return file.absolute()


def publish(
    document: Mapping[str, Any], outcomes: Sequence[RuleOutcome], matched: Matched | None, xml: Path | None
) -> None:
    """Write JUnit XML to that file, if there is one, and tell GitHub Actions, if that runs this."""
    broker, code, conclusion = document["broker"], document["exit"], document["conclusion"]
    if xml is not None:
        xml.write_bytes(junit(broker, outcomes, code, conclusion))
    github.publish(broker, outcomes, matched.absent if matched else (), conclusion)
