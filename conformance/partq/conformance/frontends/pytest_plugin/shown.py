"""What a pytest session says: of each rule its item, by what a profile's runs came to; at the end the table
and the conclusion of ``partq run``. Which item fails for a rule, the suite says.

What is reported comes as plain data, for an item may have been run in a worker of xdist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from partq.conformance.evaluation.finding_text import finding_text
from partq.conformance.evaluation.keeping import StoredFile
from partq.conformance.evaluation.suite import Run, SuiteResult
from partq.conformance.verdict import (
    Besides,
    Entry,
    Exit,
    Finding,
    Matched,
    Status,
    Verdict,
    conclusion,
    from_plain,
    match_known,
    merge,
    plain,
    required,
    some,
    verdicts_document,
)
from partq.model.requirements import catalogue

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


def teller(reporter: Any, profile_name: str, cases: int, programs: int) -> Callable[[Run], None]:
    """Say what is run; with ``-v`` each run as it ends, too. A worker of xdist has no reporter."""
    if reporter is None or reporter.verbosity < 0:
        return lambda run: None
    reporter.ensure_newline()
    reporter.write_line(f"partq: {profile_name}: cases: {cases}, seeded programs: {programs}")
    total, ended = cases + programs, count(1)
    if reporter.verbosity < 1:
        return lambda run: None
    return lambda run: reporter.write_line(f"partq: {run.name} ({next(ended)} of {total})")


def heading(requirement: str, verdict: Verdict) -> str:
    """That the rule, or one of several, is violated, in words."""
    return verdict.ambiguity or f"{requirement} violated"


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
        yield f"shown by {run.name}; {found}{some(ended.violating(requirement), NAMED)}"
    for other in verdict.causes[1 : 1 + NAMED]:
        yield f"also: {other.summary}"
    if stored is None:
        yield "with --partq-out=DIR a counterexample is kept"
    else:
        yield f"{stored.what} {stored.path}, {stored.size}"
        yield stored.command


# --- the summary --------------------------------------------------------------------------------------

Said = dict[str, Any]
"""An item's word for a rule: the profile, the verdict, the runs that violate it, and what else the session's
exit code comes from."""

COLOURS: Final[Mapping[Status, Mapping[str, bool]]] = {
    Status.PASS: {"green": True},
    Status.VIOLATED: {"red": True, "bold": True},
    Status.UNKNOWN: {"yellow": True},
}

CODE_COLOURS: Final[Mapping[int, Mapping[str, bool]]] = {
    Exit.CONFORMANT: {"green": True, "bold": True},
    Exit.VIOLATED: {"red": True, "bold": True},
    Exit.INCONCLUSIVE: {"yellow": True, "bold": True},
}


def said(profile: str, requirement: str, verdict: Verdict, where: Sequence[str], ended: Ended) -> Said:
    """An item's word, as plain data."""
    return {
        "profile": profile,
        "rows": plain({requirement: verdict}),
        "where": list(where),
        "besides": [list(one) for one in ended.result.besides],
        "whole": ended.whole,
    }


@dataclass(slots=True)
class Reported:
    """What was said so far. ``strict``: a SHOULD binds too; ``require``: what has to be exercised;
    ``baseline``: what is known. ``verdicts``: by profile and rule. ``where``: profile -> rule -> the runs
    that violate it. ``whole``: whether all cases were run."""

    strict: bool
    require: Sequence[str]
    baseline: Sequence[Entry] | None
    whole: bool = True
    verdicts: dict[str, dict[str, Verdict]] = field(default_factory=dict)
    where: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    besides: dict[Besides, None] = field(default_factory=dict)

    def add(self, word: Said) -> None:
        """Take in an item's word."""
        profile = word["profile"]
        self.verdicts.setdefault(profile, {}).update(from_plain(word["rows"]))
        self.where.setdefault(profile, {}).update(dict.fromkeys(word["rows"], word["where"]))
        self.whole = self.whole and word["whole"]
        self.besides.update(dict.fromkeys((code, why) for code, why in word["besides"]))

    def conclusion(self) -> tuple[int, str]:
        """What all this comes to, as ``partq run`` says it."""
        return conclusion(self.verdicts, self.strict, self._besides(), self._matched())

    def document(self, broker: str) -> dict[str, Any]:
        """All this as ``partq.verdicts/1``."""
        return verdicts_document(broker, self.verdicts, self.strict, self._besides(), self._matched())

    def _besides(self) -> list[Besides]:
        """What else the exit code comes from. A part of the suite need not exercise what is required."""
        return [*self.besides, *required(self.verdicts, self.strict, self.require if self.whole else ())]

    def _matched(self) -> Matched | None:
        """All this held against the baseline."""
        return match_known(self.verdicts, self.baseline, self.whole)

    def show(self, reporter: Any, title: str) -> None:
        """One line for each rule that has a screen, and the conclusion, to pytest's terminal reporter."""
        if not self.verdicts:
            return
        reporter.section(f"partq: {title}")
        total = merge(self.verdicts.values())
        rows = {name: row for name, row in catalogue().items() if name in total}
        width = max((len(row.title) for row in rows.values()), default=0)
        for name, row in rows.items():
            verdict = total[name]
            if verdict.status is Status.NOT_IMPLEMENTED:
                continue
            reporter.write(f"{name:9} {row.level.value:6} {row.title:{width}} ")
            reporter.write(f"{verdict.status.words:14}", **COLOURS.get(verdict.status, {}))
            reporter.write_line(f" {self._counts(name, verdict)}".rstrip())
        counts = Counter(total[name].status.words for name in rows)
        reporter.write_line(", ".join(f"{count} {status}" for status, count in counts.items()))
        code, words = self.conclusion()
        reporter.write_line(f"partq: {words}", **CODE_COLOURS[code])

    def _counts(self, requirement: str, verdict: Verdict) -> str:
        """How often a rule was exercised, how often and where it was violated, and why it is undecided."""
        words = [f"{verdict.exercised:,}×"] if verdict.exercised else []
        if verdict.times:
            words.append(f"{verdict.times:,} found in {some(self._places(requirement), NAMED)}")
        if verdict.undecided:
            words.append(verdict.openness)
        if verdict.status is Status.UNKNOWN:
            words.append(verdict.reason)
        return ", ".join(words)

    def _places(self, requirement: str) -> list[str]:
        """The runs that violate the rule; of several profiles, with the profile."""
        several = len(self.verdicts) > 1
        return [
            name + f" ({profile})" * several
            for profile, where in self.where.items()
            for name in where.get(requirement, ())
        ]
