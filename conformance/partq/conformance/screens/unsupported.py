"""What the screens do not follow, and which rules that leaves undecided: sessions, management, deferred
messages, flows that come back to what they had, another number of partitions, assignments known only by the
looks between which they changed.

A history may hold every documented operation. Where the effects of one are not followed, a finding may only
be what that operation explains: so it is none, and the rule is undecided, with the reason. Scheduled
messages, and those whose time to live may end, `facts.lifetimes` leaves out one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import chain
from typing import Final

from partq.conformance.facts.flow_timeline import GRACE
from partq.conformance.facts.index import Facts
from partq.conformance.history import Record
from partq.conformance.history.entities import is_dead_letters, whole_of
from partq.conformance.screens.protocol import Report
from partq.conformance.verdict import Finding
from partq.model.operations import OPS, SETTLEMENTS

_SESSIONS: Final = frozenset(
    {*(f"RCV-{n}" for n in (3, 6, 7, 8, 9)), *(f"PEEK-{n}" for n in (1, 2, 4, 5, 6)), "TXN-5"}
)
"""A session's holder has its messages to itself, and their locks are the session's."""

_TRANSACTIONS: Final = frozenset({"KEY-9", *(f"TXN-{n}" for n in (1, 2, 3, 4, 5, 7, 8, 9))})
"""A transaction may schedule, too, or settle dead letters."""

_FILTERS: Final = frozenset({"RCV-2", "KEY-7", "TXN-5"})

BY_ASSIGNMENTS: Final = tuple(f"REB-{n}" for n in range(1, 16))
"""The rules for which screens take an assignment event for an instant."""

TOUCHED: Final[Mapping[str, frozenset[str] | None]] = {
    **dict.fromkeys(("schedule", "cancel_scheduled"), _TRANSACTIONS),
    **dict.fromkeys(SETTLEMENTS, _TRANSACTIONS | {"RCV-12"}),
    "receive_deferred": frozenset({"RCV-3", "RCV-6", "RCV-9", "PEEK-6"}),
    **dict.fromkeys(("accept_session", "receive_session", "renew_session", "close_session"), _SESSIONS),
    "add_rule": _FILTERS,
    "remove_rule": _FILTERS,
    **dict.fromkeys(("create", "update", "delete")),
}
"""Operation -> the rules that it may touch; None: every one."""

_RULES: Final = tuple(name for name, op in OPS.items() if "rule" in op.args)
_RETURNS: Final = frozenset(BY_ASSIGNMENTS) - {"REB-8"}
"""The rules of which screens know nothing where a flow came back to what it had."""

OF_RULES: Final = frozenset({"TOPIC-1", "TOPIC-2", "TXN-6"})
"""The rules that are counted in a subscription that is followed no further."""

DEAD_LETTERS: Final = frozenset({"RCV-1", "RCV-8", "FWD-2"})
"""The rules that screens follow in a dead-letter queue, or count there."""

POLLED: Final = "when an assignment changed is known only to an interval, which screens do not follow yet"


def left_open(facts: Facts, report: Report) -> Report:
    """The report without the findings that something explains which the screens do not follow. What is
    certainly one of several rules may as well be none of them then."""
    if facts.derive(_is_polled):
        several = chain.from_iterable(report.candidates.values())
        if said := {*report.found, *report.exercised, *several}.intersection(BY_ASSIGNMENTS):
            touched = (all for all in report.candidates.values() if not said.isdisjoint(all))
            said.update(*touched)
            report = _without(report, said, dict.fromkeys(sorted(said), POLLED))
    if facts.derive(_is_not_followed):
        return Report({id: count for id, count in report.exercised.items() if id in OF_RULES})
    if is_dead_letters(facts.name):
        report = _without(report, _spoken_of(report) - DEAD_LETTERS, {})
        report.exercised = {id: count for id, count in report.exercised.items() if id in DEAD_LETTERS}
    elif facts.entity.requires_session:
        report = _without(report, _SESSIONS, {})
        report.exercised = {id: count for id, count in report.exercised.items() if id not in _SESSIONS}
    elif facts.of("rebind"):
        report = _without(report, _RETURNS, {})
        report.exercised = {id: count for id, count in report.exercised.items() if id not in _RETURNS}
        report.open = {id: why for id, why in report.open.items() if id not in _RETURNS}
    elif facts.profile.flows and facts.of("update"):
        return Report({id: count for id, count in report.exercised.items() if id == "REB-17"})
    if facts.unfollowed and (rules := _spoken_of(report)):
        causes = {rule: cause for rule in rules if (cause := _cause(facts, rule)) is not None}
        seeming = {one.requirement: one for one in report.findings if one.requirement in causes}
        report = _without(report, causes.keys(), {id: _seems(one, causes[id]) for id, one in seeming.items()})
    return report


def _is_polled(facts: Facts) -> bool:
    """Whether assignments are known by looks alone."""
    return any(event.end - event.call > GRACE for event in facts.assignment_events)


def _is_not_followed(facts: Facts) -> bool:
    """Whether several messages may have one ID, or it is not known which partitions were down."""
    copied = any(record.args.get("rule", {}).get("action") for record in facts.of(*_RULES))
    return copied or bool(facts.entity.subscriptions and facts.down and whole_of(facts.name))


def _spoken_of(report: Report) -> set[str]:
    """The rules that are violated, or may be one of several of which one is."""
    return {*report.found, *chain.from_iterable(report.candidates.values())}


def _seems(finding: Finding, cause: Record) -> str:
    why = f"the {cause.op} at {cause.i} may explain it, whose effects are not followed yet"
    return f"{finding.title}, as it seems; {why}"


def _without(report: Report, rules: Set[str], why: Mapping[str, str]) -> Report:
    """The report without what it finds of these rules. ``why``: why some are undecided then."""
    return Report(
        report.exercised,
        [finding for finding in report.findings if finding.requirement not in rules],
        {**report.open, **why},
        {id: several for id, several in report.candidates.items() if rules.isdisjoint(several)},
        {id: causes for id, causes in report.found.items() if id not in rules},
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
        all(record.end < other.call for other in others)
        or all(other.ret is not None and other.ret < record.call for other in others)
    )
