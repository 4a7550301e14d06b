"""What a rule's item says of what a profile's runs came to. Which item fails for it, the suite says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from partq.conformance.evaluation.finding_text import finding_text
from partq.conformance.evaluation.keeping import StoredFile
from partq.conformance.evaluation.suite import Run, SuiteResult
from partq.conformance.verdict import Finding, Matched, Status, Verdict

NAMED: Final = 3
"""So many runs are named that violate a rule; the rest only count."""

PROGRAMS: Final = "programs"
"""What seeded programs are called together."""

TESTED: Final = (Status.PASS, Status.VIOLATED, Status.UNKNOWN)
"""The statuses of a rule that a run exercised."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a profile's runs came to. ``directed``: the names of the cases among them; ``whole``: whether that
    is all cases. ``by_run``: rule -> run -> its verdict, of the runs that put the rule to the test.
    ``known``: what of it the baseline, if there is one, knows."""

    directed: frozenset[str]
    whole: bool
    by_run: Mapping[str, Mapping[str, Verdict]]
    result: SuiteResult
    known: Matched | None

    def violating(self, requirement: str) -> list[str]:
        """The runs that violate the rule, or one of several rules that it is one of."""
        runs = self.by_run.get(requirement, {})
        return [name for name, verdict in runs.items() if verdict.findings or verdict.candidates]

    def cases(self, requirement: str) -> str:
        """What each case, and the seeded programs together, say of the rule."""
        said: dict[str, list[Verdict]] = {}
        for name, verdict in self.by_run.get(requirement, {}).items():
            said.setdefault(name if name in self.directed else PROGRAMS, []).append(verdict)
        order = (Status.VIOLATED, Status.UNKNOWN, Status.PASS)
        worst = {name: min((one.status for one in each), key=order.index) for name, each in said.items()}
        times = {name: sum(one.exercised for one in each) for name, each in said.items()}
        return ", ".join(f"{name} {worst[name].words} {times[name]}×" for name in said)

    def evidence(self, verdict: Verdict) -> tuple[Run | None, Finding | None]:
        """The first run that violates the rule, or one of several, and by which finding, if there is one."""
        for finding in verdict.findings:
            return self.result.evidence(finding), finding
        run = self.result.evidence_of(verdict.candidates)
        several = (one for one in run.findings if one.candidates == verdict.candidates) if run else ()
        return run, next(iter(several), None)


def heading(requirement: str, verdict: Verdict) -> str:
    """That the rule, or one of several, is violated, in words."""
    return verdict.ambiguity or f"{requirement} violated"


def several_runs(names: list[str]) -> str:
    """Runs by name, of many the first ones."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def failure(ended: Ended, requirement: str, verdict: Verdict, stored: StoredFile | None) -> Iterator[str]:
    """All there is to say of a rule's violation, for the report of a failure, in lines."""
    run, finding = ended.evidence(verdict)
    if finding is not None and run is not None:
        yield finding_text(finding, run.history)
    else:
        yield heading(requirement, verdict)
        yield f"  {verdict.reason}"
    yield ""
    if run is not None:
        found = f"{verdict.times:,} found in " if verdict.times else ""
        yield f"shown by {run.name}; {found}{several_runs(ended.violating(requirement))}"
    for other in verdict.causes[1 : 1 + NAMED]:
        yield f"also: {other.title}"
    if stored is None:
        yield "with --partq-out=DIR a counterexample is kept"
    else:
        yield f"{stored.what} {stored.path}, {stored.size}"
        yield stored.command
