"""What a pytest session's items said, rule by rule: as verdicts, as the table at the end and as the
conclusion of ``partq run``.

What is reported comes as plain data, for an item may have been run in a worker of xdist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from partq.conformance.frontends.pytest_plugin.shown import Ended, several_runs
from partq.conformance.verdict import (
    Besides,
    Entry,
    Exit,
    Matched,
    Status,
    Verdict,
    conclusion,
    from_plain,
    match_known,
    merge,
    plain,
    required,
    verdicts_document,
)
from partq.model.requirements import catalogue

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
            words.append(f"{verdict.times:,} found in {several_runs(self._places(requirement))}")
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
