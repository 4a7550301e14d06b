"""What the screens do not follow, and which rules that leaves undecided: sessions, management, deferred
messages, assignments known only by the looks between which they changed.

A history may hold every documented operation. Where the effects of one are not followed, a finding may only
be what that operation explains: so it is none, and the rule is undecided, with the reason. Scheduled
messages, and those whose time to live may end, `facts.lifetimes` leaves out one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from partq.conformance.facts.flow_timeline import GRACE
from partq.conformance.facts.index import Facts
from partq.conformance.facts.records import returned
from partq.conformance.history import Record
from partq.conformance.history.entities import is_dead_letters
from partq.conformance.screens.protocol import Report
from partq.model.operations import SETTLEMENTS

_SESSIONS: Final = frozenset(
    {
        *(f"RCV-{n}" for n in (3, 6, 7, 8, 9)),
        *(f"PEEK-{n}" for n in (1, 2, 4, 5, 6)),
        "TXN-5",
    }
)
"""A session's holder has its messages to itself, and their locks are the session's."""

_TRANSACTIONS: Final = frozenset({"KEY-9", *(f"TXN-{n}" for n in (1, 2, 3, 4, 5, 7, 8, 9))})
"""A transaction may schedule, too, or settle dead letters."""

_FILTERS: Final = frozenset({"RCV-2", "KEY-7", "TXN-5"})

TOUCHED: Final[Mapping[str, frozenset[str] | None]] = {
    **dict.fromkeys(("schedule", "cancel_scheduled"), _TRANSACTIONS),
    **dict.fromkeys(SETTLEMENTS, _TRANSACTIONS | {"RCV-12"}),
    "receive_deferred": frozenset({"RCV-3", "RCV-6", "RCV-9", "PEEK-6"}),
    "accept_session": _SESSIONS,
    "close_session": _SESSIONS,
    "add_rule": _FILTERS,
    "remove_rule": _FILTERS,
    **dict.fromkeys(("create", "update", "delete")),
}
"""Operation -> the rules that it may touch; None: every one."""

BY_ASSIGNMENTS: Final = tuple(f"REB-{n}" for n in range(1, 16))
"""The rules for which screens take an assignment event for an instant."""

DEAD_LETTERS: Final = frozenset({"RCV-1", "RCV-8"})
"""The rules that screens follow in a dead-letter queue."""

POLLED: Final = "when an assignment changed is known only to an interval, which screens do not follow yet"


def left_open(facts: Facts, report: Report) -> Report:
    """The report without the findings that something explains which the screens do not follow. What is
    certainly one of several rules may as well be none of them then."""
    if any(returned(event) - event.call > GRACE for event in facts.assignment_events):
        report = _without(report, BY_ASSIGNMENTS, POLLED)
    if is_dead_letters(facts.name):
        report = _of_dead_letters(report)
    if not facts.unfollowed or not (report.findings or report.candidates):
        return report
    findings, still_open = [], dict(report.open)
    for finding in report.findings:
        cause = _cause(facts, finding.requirement)
        if cause is None:
            findings.append(finding)
            continue
        why = f"the {cause.op} at {cause.i} may explain it, whose effects are not followed yet"
        still_open.setdefault(finding.requirement, f"{finding.title}, as it seems; {why}")
    violated = {finding.requirement for finding in findings}
    found = {requirement: causes for requirement, causes in report.found.items() if requirement in violated}
    candidates = {
        requirement: several
        for requirement, several in report.candidates.items()
        if not any(_cause(facts, one) for one in several)
    }
    return Report(report.exercised, findings, still_open, candidates, found)


def _of_dead_letters(report: Report) -> Report:
    """Of a dead-letter queue only what holds however its messages came there."""
    counts = {rule: count for rule, count in report.exercised.items() if rule in DEAD_LETTERS}
    found = {rule: causes for rule, causes in report.found.items() if rule in DEAD_LETTERS}
    findings = [finding for finding in report.findings if finding.requirement in DEAD_LETTERS]
    return Report(Counter(counts), findings, report.open, {}, found)


def _without(report: Report, rows: Collection[str], why: str) -> Report:
    """The report, in which these rules are undecided if it says anything of them."""
    found, candidates = report.found.keys() & rows, report.candidates
    touched = {id for several in candidates.values() if not set(several).isdisjoint(rows) for id in several}
    counted = report.exercised.keys() & rows
    return Report(
        report.exercised,
        [finding for finding in report.findings if finding.requirement not in rows],
        report.open | dict.fromkeys(sorted(found | counted | touched), why),
        {id: several for id, several in candidates.items() if id not in touched},
        {id: causes for id, causes in report.found.items() if id not in rows},
    )


def _cause(facts: Facts, requirement: str) -> Record | None:
    """The first operation that may explain what breaks that rule."""
    return next((record for record in facts.unfollowed if _touches(facts, record, requirement)), None)


def _touches(facts: Facts, record: Record, requirement: str) -> bool:
    rows = TOUCHED[record.op]
    return _amid(facts, record) if rows is None else requirement in rows


def _amid(facts: Facts, record: Record) -> bool:
    """Whether the entity may have been in use before and after it: making one first, or deleting it last,
    touches nothing."""
    others = [r for r in facts.records if not r.is_env and r.op not in ("create", "update", "delete")]
    return not (
        all(returned(record) < other.call for other in others)
        or all(other.ret is not None and other.ret < record.call for other in others)
    )
