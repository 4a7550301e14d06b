"""Transactions: TXN-1, 2, 5, 7, 10. (TXN-8, where a key's messages go, is judged in `routing.affinity`.)

A transaction may have taken effect from the call of a commit that was not rejected, and certainly has by the
return of one that was ok, or by the time one of its messages was seen while a commit was under way. What
its sends and settlements did before, instead, or only in part is TXN-5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from partq.conformance.facts.index import Facts, Txn
from partq.conformance.history import Record
from partq.conformance.screens.admission.faults import homes
from partq.conformance.screens.attribution import applies, enlisted_only, missing, resurrected
from partq.conformance.screens.protocol import Report, Screen
from partq.conformance.screens.transactions.sends import SECOND_KEY, judge_visibility
from partq.conformance.screens.transactions.settlements import judge_settlements
from partq.model.messages import conflicting, effective_keys
from partq.model.operations import Outcome


def check(facts: Facts) -> Report:
    """Judge every transaction."""
    report = Report()
    if not facts.txns:
        return report
    keyed = applies(facts, "TXN-2")
    pinned = applies(facts, "TXN-7")
    for txn in facts.txns.values():
        if keyed:
            _keys(facts, report, txn)
        if pinned:
            _partitions(facts, report, txn)
        _after_the_end(report, txn)
        judge_visibility(facts, report, txn)
        judge_settlements(facts, report, txn)
    for sent, seen, requirement in facts.derive(resurrected):
        if requirement in ("TXN-1", "TXN-2"):
            detail = f"the send of {sent.message.id!r} was rejected or had to be; yet it was seen"
            _find(report, requirement, "stored", (sent.record, seen.record), detail)
    for loss in facts.derive(missing):
        if loss.requirement == "TXN-5":
            also = f"; of the same transaction {_were(loss.siblings)} seen" if loss.siblings else ""
            detail = f"{_were(loss.ids)} committed and never seen, also not in the drain{also}"
            title = "A transaction took effect in part" if loss.siblings else "A committed send never visible"
            if loss.doubtful:
                why = f"{detail}: the commit did not store all (TXN-5), or a fault lost them (RCV-2)"
                report.ambiguous(("TXN-5", "RCV-2"), why)
            else:
                report.find("TXN-5", "in part", title, loss.records, detail, "all of it visible, or none")
    return report


def _were(ids: Sequence[str]) -> str:
    """The messages as the subject of a sentence in the passive voice."""
    return f"{', '.join(map(repr, ids))} {'was' if len(ids) == 1 else 'were'}"


def _find(report: Report, requirement: str, cause: str, witness: tuple[Record, ...], detail: str) -> None:
    title, allowed = _REQUIREMENTS[requirement]
    report.find(requirement, cause, title, witness, detail, allowed)


# TXN-1 and TXN-2.


def _keys(facts: Facts, report: Report, txn: Txn) -> None:
    """Each send has a key, and all have the same. (Two in one request: KEY-7, KEY-3.)"""
    first: tuple[str, Record] | None = None
    requirement = facts.profile.key_rule
    for record in (one for one in txn.sends if not txn.is_late(one)):
        messages = record.args["messages"]
        keys = effective_keys(messages, requirement)
        if None in keys:
            _keyless(facts, report, txn, record, keys)
        elif len(keys) == 1 and not any(map(conflicting, messages)):
            key = str(keys.pop())
            if first is None:
                first = (key, record) if record.outcome == Outcome.OK else None
            elif key != first[0]:
                _second_key(facts, report, txn, first, (key, record))


def _keyless(facts: Facts, report: Report, txn: Txn, record: Record, keys: set[str | None]) -> None:
    if record.outcome == Outcome.OK:
        if len(keys) <= 2 and not enlisted_only(facts, record):
            ids = ", ".join(repr(message.id) for message in record.args["messages"])
            detail = f"a send of {ids} in transaction {txn.name!r}, not every one with a key, was accepted"
            _find(report, "TXN-1", "accepted", (record,), detail)
    elif record.error == "invalid_operation" and len(keys) == 1:
        report.count("TXN-1")


def _second_key(
    facts: Facts, report: Report, txn: Txn, first: tuple[str, Record], second: tuple[str, Record]
) -> None:
    """A send of another key than the transaction's: to be rejected unless both live in one partition."""
    known, record = facts.derive(homes), second[1]
    one, other = known.get(first[0]), known.get(second[0])
    if one is None or other is None or one == other:
        return
    if record.outcome == Outcome.OK:
        detail = (
            f"transaction {txn.name!r} has key {first[0]!r} (partition {one}); a send of key {second[0]!r} "
            f"(partition {other}) was accepted"
        )
        _find(report, "TXN-2", "accepted", (first[1], record), detail)
    elif record.error == "invalid_operation" and record.outcome == Outcome.ERROR:
        report.count("TXN-2")


# TXN-7.


def _partitions(facts: Facts, report: Report, txn: Txn) -> None:
    """All settlements of a transaction concern one partition."""
    first: tuple[int, Record] | None = None
    for record in (one for one in txn.settlements if not txn.is_late(one)):
        seen = [facts.locks.get(lock) for lock in record.args["locks"]]
        found = {one.partition for one in seen if one is not None} - {None}
        others = sorted(p for p in found if p is not None and (first is None or p != first[0]))
        if first is None and len(others) == 1:
            if record.outcome == Outcome.OK and len(found) == 1:
                first = (others[0], record)
        elif others and record.outcome == Outcome.OK:
            earlier = (record,) if first is None else (first[1], record)
            named = [first[0], *others] if first is not None else others
            detail = f"transaction {txn.name!r} settles in the partitions {', '.join(map(str, named))}"
            _find(report, "TXN-7", "accepted", earlier, detail)
        elif others and record.error == "invalid_operation" and record.outcome == Outcome.ERROR:
            report.count("TXN-7")


# TXN-10.


def _after_the_end(report: Report, txn: Txn) -> None:
    """What is asked for in a transaction after an end that was ok. (That the broker rolled it back, no client
    sees for certain.) Exercised by each operation of that kind that is refused."""
    over = txn.over
    for record in (*txn.sends, *txn.settlements, *txn.ends):
        if over is None or not txn.is_late(record):
            continue
        if record.outcome == Outcome.OK:
            detail = f"{record.op} in transaction {txn.name!r} answered ok after its {over.op} had"
            _find(report, "TXN-10", record.op, (over, record), detail)
        elif record.outcome == Outcome.ERROR:
            report.count("TXN-10")


_REQUIREMENTS: Final = {
    "TXN-1": (
        "A send without a key in a transaction",
        "rejected as an invalid operation, nothing stored",
    ),
    "TXN-2": SECOND_KEY,
    "TXN-7": (
        "Settlements of two partitions in one transaction",
        "the settlement in the second partition rejected",
    ),
    "TXN-10": (
        "Something done in a transaction that was over",
        "refused, as the transaction is not known any more",
    ),
}
"""Requirement -> the title of its findings, and what it allows."""

SCREEN: Final = Screen(
    "transactions",
    ("TXN-1", "TXN-2", "TXN-5", "TXN-7", "TXN-10"),
    check,
    blind_spots=(
        "A second key is judged where both keys' partitions are known from messages seen, and differ.",
        "A settlement's partition is known where the delivery showed it.",
        "What a commit of unknown outcome did is judged by what was seen of its sends alone; a transaction "
        "of settlements only, whose commit is unknown, is not judged.",
        "That nothing of a transaction got lost is judged after a drain only, and where no fault of a "
        "partition or broker may have lost it (RCV-2).",
        "Whether all of a transaction took effect is not judged where a second key was accepted.",
        "That a send or a settlement was enlisted twice, or in a transaction that had ended with a fault, is "
        "not inferred from counts and numbers (TXN-5, RCV-9).",
        "Whether a transaction goes on after an operation in it was rejected is free.",
        "That a transaction is over is known where a commit or rollback was ok, not where the broker rolled "
        "it back, nor where its name is used again (TXN-10).",
        "A lock that certainly holds is needed to judge the lock after a rollback: with caching front ends "
        "its end must be shown.",
    ),
    needs={
        **dict.fromkeys(("TXN-1", "TXN-5", "TXN-10"), ("begin", "commit")),
        **dict.fromkeys(("TXN-2", "TXN-7"), ("begin", "commit", "partitions")),
    },
)
