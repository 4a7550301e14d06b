"""Verdicts: what the checkers' findings mean for each requirement, and how runs are merged.

Detecting is the checkers' work, showing the reports'. Here are the statuses, their order, the merge
and the exit codes; no history is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple

from partq.model.requirements import Level, catalogue

SCHEMA: Final = "partq.verdicts/1"
FILE: Final = "verdicts.json"
"""Where in a folder of results they lie."""


class Status(StrEnum):
    """What is known of one requirement after a run."""

    PASS = "pass"
    VIOLATED = "violated"
    UNKNOWN = "unknown"
    NOT_EXERCISED = "not exercised"
    NOT_APPLICABLE = "not applicable"
    NOT_IMPLEMENTED = "not implemented"


_RANK: Final = {
    Status.VIOLATED: 5,
    Status.UNKNOWN: 4,
    Status.PASS: 3,
    Status.NOT_EXERCISED: 2,
    Status.NOT_IMPLEMENTED: 1,
    Status.NOT_APPLICABLE: 0,
}
"""Of two statuses of one requirement the higher one stands."""


class Exit:
    """Exit codes of every command."""

    CONFORMANT: Final = 0
    VIOLATED: Final = 1
    BAD_INPUT: Final = 2
    INCONCLUSIVE: Final = 3


class Finding(NamedTuple):
    """One violation in one history.

    ``witness``: the ``i`` of the few records that show it. ``allowed``: what the requirement would have
    allowed instead. ``key``: equal for findings of the same cause, so that a campaign can group them.
    """

    requirement: str
    title: str
    witness: tuple[int, ...]
    detail: str
    allowed: str
    key: str


@dataclass(slots=True)
class Verdict:
    """One requirement's verdict. ``exercised``: how often it was put to the test. ``reason``: why it is
    unknown, not applicable or not implemented. ``among``: where it is unknown, the rules of which one surely
    is violated, if one is. ``findings``: the earliest of each cause, see `KEPT_FINDINGS`. ``found``: by key,
    how many there were of that cause; unless given, those in ``findings``."""

    status: Status
    exercised: int = 0
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    found: Mapping[str, int] = field(default_factory=dict)
    among: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.findings and not self.found:
            self.found = Counter(finding.key for finding in self.findings)

    @property
    def either(self) -> str:
        """That one of several rules surely is violated, in words; empty if that is not so."""
        return f"{' or '.join(self.among)} violated" if self.among else ""

    @property
    def times(self) -> int:
        """How many findings there were, kept or not."""
        return sum(self.found.values())

    @property
    def causes(self) -> tuple[Finding, ...]:
        """The first finding of each cause."""
        first: dict[str, Finding] = {}
        for finding in self.findings:
            first.setdefault(finding.key, finding)
        return tuple(first.values())


Verdicts = Mapping[str, Verdict]
"""By requirement ID, in the order of the catalogue."""

KEPT_FINDINGS: Final = 20
"""Of each cause (`Finding.key`) so many findings are kept, the earliest; the rest only count."""


def kept(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those of the findings, in order of time, that are kept: `KEPT_FINDINGS` of each cause."""
    seen: Counter[str] = Counter()
    chosen = []
    for finding in findings:
        seen[finding.key] += 1
        if seen[finding.key] <= KEPT_FINDINGS:
            chosen.append(finding)
    return tuple(chosen)


def merged(a: Verdict, b: Verdict) -> Verdict:
    """Both runs' verdict of one requirement: the worse status, the sum of what was exercised and found."""
    first, second = (a, b) if _RANK[a.status] >= _RANK[b.status] else (b, a)
    if first.status is second.status and second.among and not first.among:
        first, second = second, first
    return Verdict(
        first.status,
        a.exercised + b.exercised,
        kept(a.findings + b.findings) if b.findings else a.findings,
        first.reason or second.reason if first.status is second.status else first.reason,
        Counter(a.found) + Counter(b.found) if b.found else a.found,
        first.among,
    )


def merge(runs: Iterable[Verdicts]) -> dict[str, Verdict]:
    """The verdicts of several runs as one, by priority violated > unknown > pass > not exercised."""
    total: dict[str, Verdict] = {}
    for run in runs:
        for requirement, verdict in run.items():
            known = total.get(requirement)
            total[requirement] = verdict if known is None else merged(known, verdict)
    return told_once(total)


def told_once(total: dict[str, Verdict]) -> dict[str, Verdict]:
    """Without saying that one of several rules is violated where one of them is known to be, for that says no
    more: the others are merely unknown."""
    surely = {requirement for requirement, verdict in total.items() if verdict.status is Status.VIOLATED}
    return {
        requirement: verdict if surely.isdisjoint(verdict.among) else replace(verdict, among=())
        for requirement, verdict in total.items()
    }


def eithers(verdicts: Verdicts) -> dict[tuple[str, ...], str]:
    """Each set of rules of which one surely is violated, and why it is not known which."""
    return {verdict.among: verdict.reason for verdict in verdicts.values() if verdict.among}


def plain(verdicts: Verdicts) -> dict[str, Any]:
    """The verdicts as plain data: ``{ID: {status, exercised, findings, found, reason, among}}`` of
    ``partq.verdicts/1``."""
    return {
        requirement: {
            "status": verdict.status.value,
            "exercised": verdict.exercised,
            "findings": [{**f._asdict(), "witness": list(f.witness)} for f in verdict.findings],
            "found": dict(verdict.found),
            "reason": verdict.reason,
            "among": list(verdict.among),
        }
        for requirement, verdict in verdicts.items()
    }


def from_plain(rows: Mapping[str, Any]) -> dict[str, Verdict]:
    """`plain` the other way round. Raises `ValueError`, `TypeError` or `KeyError` where it is none of it."""
    return {requirement: _verdict(row) for requirement, row in rows.items()}


def _verdict(row: Mapping[str, Any]) -> Verdict:
    findings = tuple(finding_of(finding) for finding in row["findings"])
    found = {str(key): int(times) for key, times in row.get("found", {}).items()}
    if found and not found.keys() >= {finding.key for finding in findings}:
        raise ValueError(f"found: a cause is missing: {found!r}")
    among = tuple(str(requirement) for requirement in row.get("among", ()))
    return Verdict(
        Status(row["status"]), int(row["exercised"]), findings, text_of(row, "reason"), found, among
    )


def finding_of(data: Mapping[str, Any]) -> Finding:
    """A finding from plain data: from JSON, or the row of a table. Raises as `from_plain`."""
    texts = {name: text_of(data, name) for name in ("requirement", "title", "detail", "allowed", "key")}
    witness = data["witness"]
    if not isinstance(witness, list) or not all(type(i) is int for i in witness):
        raise ValueError(f"witness: expected a list of record numbers: {witness!r}")
    return Finding(**texts, witness=tuple(witness))


def text_of(data: Mapping[str, Any], name: str) -> str:
    """The text in that field. Raises as `from_plain`."""
    value = data[name]
    if not isinstance(value, str):
        raise ValueError(f"{name}: expected text: {value!r}")
    return value


def exit_code(verdicts: Verdicts, failing: Iterable[str] | None = None) -> int:
    """The exit code of a run: 1 if any requirement in ``failing`` (default: all) is violated, be it not known
    which of several, 3 if one is unknown or nothing at all was exercised, else 0."""
    counted = set(verdicts if failing is None else failing)
    judged = [verdict for requirement, verdict in verdicts.items() if requirement in counted]
    statuses = {verdict.status for verdict in judged}
    if Status.VIOLATED in statuses or any(v.among and counted.issuperset(v.among) for v in judged):
        return Exit.VIOLATED
    if Status.UNKNOWN in statuses or Status.PASS not in statuses:
        return Exit.INCONCLUSIVE
    return Exit.CONFORMANT


def failing_rows(strict: bool) -> set[str]:
    """The requirements whose violation fails a run: MUST rows, with ``strict`` the SHOULD rows too."""
    levels = {Level.MUST, Level.SHOULD} if strict else {Level.MUST}
    return {requirement for requirement, row in catalogue().items() if row.level in levels}


def worst(codes: Iterable[int]) -> int:
    """The exit code of several runs: 1 before 3 before 0. Of none it is 3."""
    given = set(codes) or {Exit.INCONCLUSIVE}
    return next(code for code in (Exit.VIOLATED, Exit.INCONCLUSIVE, Exit.CONFORMANT) if code in given)
