"""Transactions: TXN-1, 2, 5, 7. (TXN-8, where a key's messages go, is judged in `routing.py`.)

A transaction may have taken effect from the call of a commit that was not rejected, and surely has by the
return of one that was ok, or by the time one of its messages was seen while a commit was under way. What
its sends and settlements did before, instead, or only in part is TXN-5.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from partq.conformance.facts import FOREVER, Facts, Seen, Txn
from partq.conformance.history import Record
from partq.model.messages import Message, effective_key
from partq.model.operations import UNAVAILABLE, Outcome

from .admission import homes
from .attribution import WIPING, applies, conflicting, missing, resurrected, unsurely_taken
from .locks import REMOVALS, Locks
from .outages import returned
from .protocol import Checker, Report


def check(facts: Facts) -> Report:
    """Judge every transaction."""
    report = Report()
    if not facts.txns:
        return report
    keyed = applies(facts, "TXN-2") and not facts.entity.duplicate_detection
    pinned = applies(facts, "TXN-7")
    for txn in facts.txns.values():
        if keyed:
            _keys(facts, report, txn)
        if pinned:
            _partitions(facts, report, txn)
        _visibility(facts, report, txn)
        _settlements(facts, report, txn)
    for sent, seen, rule in facts.derive(resurrected):
        if rule in ("TXN-1", "TXN-2"):
            detail = f"the send of {sent.message.id!r} was rejected or had to be; yet it was seen"
            _find(report, rule, "stored", (sent.record, seen.record), detail)
    for loss in facts.derive(missing):
        if loss.requirement == "TXN-5":
            also = f"; of the same transaction {', '.join(loss.siblings)} were" if loss.siblings else ""
            detail = f"{', '.join(loss.ids)} were committed and never seen, also not in the drain{also}"
            title = "A transaction took effect in part" if loss.siblings else "A committed send never visible"
            report.find("TXN-5", "in part", title, loss.records, detail, "all of it visible, or none")
    return report


def _find(report: Report, rule: str, cause: str, witness: tuple[Record, ...], detail: str) -> None:
    title, allowed = _RULES[rule]
    report.find(rule, cause, title, witness, detail, allowed)


# TXN-1 and TXN-2.


def _keys(facts: Facts, report: Report, txn: Txn) -> None:
    """Each send has a key, and all have the same. (Two in one request: KEY-7, KEY-3.)"""
    first: tuple[str, Record] | None = None
    rule = facts.profile.key_rule
    for record in txn.sends:
        messages = record.args["messages"]
        keys = {effective_key(message, rule) for message in messages}
        if None in keys:
            _keyless(report, txn, record, keys)
        elif len(keys) == 1 and not any(map(conflicting, messages)):
            key = str(keys.pop())
            if first is None:
                first = (key, record) if record.outcome == Outcome.OK else None
            elif key != first[0]:
                _second_key(facts, report, txn, first, (key, record))


def _keyless(report: Report, txn: Txn, record: Record, keys: set[str | None]) -> None:
    if record.outcome == Outcome.OK:
        if len(keys) <= 2:
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
    for record in txn.settlements:
        seen = [facts.locks.get(lock) for lock in record.args["locks"]]
        found = {facts.partition_of(one.delivery) for one in seen if one is not None} - {None}
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


# TXN-5: sends.


def _visibility(facts: Facts, report: Report, txn: Txn) -> None:
    """Nothing of it is seen before a commit, and nothing ever without one."""
    since = txn.committed_from
    for record in txn.sends:
        if record.outcome == Outcome.ERROR:
            continue
        for message in record.args["messages"]:
            if len(facts.by_id[message.id]) != 1 or _keyless_in(facts, message):
                continue
            shown = _first_seen(facts, message.id)
            if shown is None:
                if since is None and facts.drained is not None and txn.ends:
                    report.count("TXN-5")
            elif since is None or returned(shown.record) < since:
                if not _of_second_key(facts, txn, record):
                    _too_early(report, txn, record, message.id, shown)
                elif not any(found.requirement == "TXN-2" for found in report.findings):
                    detail = f"{message.id!r}, in transaction {txn.name!r} of another key, was stored at once"
                    _find(report, "TXN-2", "stored at once", (record, shown.record), detail)
                return
            elif txn.committed_by is not None:
                report.count("TXN-5")


def _of_second_key(facts: Facts, txn: Txn, record: Record) -> bool:
    """Whether the send brought in a second key, of another partition or of one not known (TXN-2)."""
    if not applies(facts, "TXN-2"):
        return False
    rule, known = facts.profile.key_rule, facts.derive(homes)
    first = next((send for send in txn.sends if send.outcome == Outcome.OK), record)
    one = effective_key(first.args["messages"][0], rule)
    other = effective_key(record.args["messages"][0], rule)
    return one != other and (one not in known or known[one] != known.get(other or ""))


def _keyless_in(facts: Facts, message: Message) -> bool:
    """Whether the message should not be in a transaction at all: then TXN-1 or KEY-3 owns it."""
    return applies(facts, "TXN-1") and (
        conflicting(message) or effective_key(message, facts.profile.key_rule) is None
    )


def _first_seen(facts: Facts, id: str) -> Seen | None:
    seen = [*facts.received.get(id, ()), *facts.peeked.get(id, ())]
    return min(seen, key=_returned, default=None)


def _returned(seen: Seen) -> int:
    return returned(seen.record)


def _too_early(report: Report, txn: Txn, send: Record, id: str, shown: Seen) -> None:
    rolled_back = txn.committed_from is None and txn.end is not None
    title = "Visible after the rollback" if rolled_back else "Visible before the commit"
    when = "which was not committed" if txn.committed_from is None else "before its commit was called"
    detail = f"{id!r}, sent in transaction {txn.name!r}, was seen by {shown.record.ret} ns, {when}"
    witness = (send, shown.record, *_end(txn))
    allowed = "not visible before the commit, and never after a rollback"
    cause = "visible after rollback" if rolled_back else "visible before commit"
    report.find("TXN-5", cause, title, witness, detail, allowed)


def _end(txn: Txn) -> tuple[Record, ...]:
    return () if txn.end is None else (txn.end,)


# TXN-5: settlements.


def _settlements(facts: Facts, report: Report, txn: Txn) -> None:
    """They take effect with the commit, and not at all without one. One finding a transaction."""
    committed = _surely_committed(facts, txn)
    for record in txn.settlements:
        if record.outcome != Outcome.OK:
            continue
        for lock in record.args["locks"]:
            seen = facts.locks.get(lock)
            if seen is None or len(facts.by_id.get(seen.delivery.id, ())) != 1:
                continue
            found = _before_the_end(facts, report, txn, record, seen)
            if not found and committed is not None:
                found = _after_commit(facts, report, txn, record, seen, committed)
            elif not found and txn.committed_from is None:
                found = _without_commit(facts, report, txn, record, seen)
            if found:
                return


def _surely_committed(facts: Facts, txn: Txn) -> int | None:
    """The instant by which the transaction surely had taken effect, or None."""
    if txn.committed_by is not None or txn.committed_from is None:
        return txn.committed_by
    sends = [
        record
        for record in txn.sends
        if record.outcome != Outcome.ERROR and not _of_second_key(facts, txn, record)
    ]
    ids = [message.id for record in sends for message in record.args["messages"]]
    shown = [_first_seen(facts, id) for id in ids if len(facts.by_id[id]) == 1]
    return min((returned(one.record) for one in shown if one is not None), default=None)


def _before_the_end(facts: Facts, report: Report, txn: Txn, record: Record, seen: Seen) -> bool:
    """Whether a message was delivered to somebody although the lock, settled in the transaction, had to hold
    until its end."""
    until = txn.committed_from if txn.committed_from is not None else FOREVER
    released = _settled_again(facts, seen, record)
    held = min(
        facts.derive(Locks).held_unsettled(seen), until, FOREVER if released is None else released.call
    )
    for again in facts.received[seen.delivery.id]:
        if returned(record) < again.record.call and returned(again.record) < held:
            _report_early(report, txn, record, seen, again)
            return True
    return False


def _report_early(report: Report, txn: Txn, record: Record, seen: Seen, again: Seen) -> None:
    """A completion that took effect would bring nothing back: then the lock itself did not exclude others.
    An abandon may have taken effect; if it did so by the rollback, or its lock ended, nobody can tell."""
    detail = (
        f"{seen.delivery.id!r}, whose lock {seen.delivery.lock!r} was settled in transaction {txn.name!r}, "
        f"was delivered again at {again.record.ret} ns, while that lock had to hold"
    )
    witness = (seen.record, record, again.record, *_end(txn))
    allowed = "locked until the commit or rollback"
    if record.op in REMOVALS:
        title = "A locked message was delivered to somebody else"
        report.find("RCV-6", "overlap in a transaction", title, witness, detail, allowed)
    elif txn.end is not None and returned(again.record) > txn.end.call:
        for rule in ("TXN-5", "RCV-6"):
            report.open.setdefault(rule, f"{detail}: the rollback did it (TXN-5), or the lock ended (RCV-6)")
    else:
        title = "A settlement took effect before the commit"
        report.find("TXN-5", "settled before commit", title, witness, detail, allowed)


def _settled_again(facts: Facts, seen: Seen, record: Record) -> Record | None:
    """The first other settlement of that lock, called after this one, that was not rejected."""
    for other in facts.settled.get(seen.delivery.lock or "", ()):
        if other.call > record.call and other.outcome != Outcome.ERROR:
            return other
    return None


def _after_commit(facts: Facts, report: Report, txn: Txn, record: Record, seen: Seen, committed: int) -> bool:
    """Whether a settlement that was committed did not last."""
    other = _settled_again(facts, seen, record)
    if (
        other is not None
        and other.call > committed
        and other.outcome == Outcome.OK
        and "txn" not in other.args
    ):
        detail = (
            f"lock {seen.delivery.lock!r} was settled in transaction {txn.name!r}, committed by {committed} "
            f"ns; yet a later {other.op} with it answered ok"
        )
        why = f"{detail}: the commit did not settle it (TXN-5), or lost locks settle (RCV-8)"
        report.open.setdefault("TXN-5", why)
        report.open.setdefault("RCV-8", why)
        return True
    if record.op not in REMOVALS:
        return False
    report.count("TXN-5", facts.drained is not None)
    for again in facts.received[seen.delivery.id]:
        if again.record.call > committed:
            detail = (
                f"{seen.delivery.id!r} was completed in transaction {txn.name!r}, committed by {committed} "
                f"ns, and delivered again by a receive called at {again.record.call} ns"
            )
            title = "Delivered again after a committed completion"
            witness = (record, *_end(txn), again.record)
            if _struck(facts, committed, returned(again.record)):
                why = f"{detail}: the commit did not do it (TXN-5), or a fault undid it (RCV-7)"
                report.open.setdefault("TXN-5", why)
                report.open.setdefault("RCV-7", why)
            else:
                report.find("TXN-5", "completion undone", title, witness, detail, "never delivered again")
            return True
    return False


def _struck(facts: Facts, start: int, end: int) -> bool:
    """Whether a fault that may undo what was stored lies between."""
    return any(
        fault.op in WIPING and fault.call <= end and returned(fault) >= start for fault in facts.disruptions
    )


def _without_commit(facts: Facts, report: Report, txn: Txn, record: Record, seen: Seen) -> bool:
    """Whether after a rollback the lock no longer settles its message, or that is gone."""
    ended = None if txn.end is None else txn.end.ret
    again = _first_try(facts, seen, ended)
    if again is not None and again.outcome == Outcome.OK:
        report.count("TXN-5")
    elif (
        again is not None
        and again.error in _DENIALS
        and len(again.args["locks"]) == 1
        and not _maybe_open(txn)
        and returned(again) < facts.derive(Locks).held_unsettled(seen)
    ):
        detail = (
            f"transaction {txn.name!r} settled {seen.delivery.id!r} by lock {seen.delivery.lock!r} and was "
            f"rolled back; {again.op} with that lock, which had to hold, answered {again.error}"
        )
        title = "The rollback did not give the lock back"
        witness = (seen.record, record, *_end(txn), again)
        report.find("TXN-5", "lock lost", title, witness, detail, "ok: the same lock still settles")
        return True
    return _gone(facts, report, txn, record, seen)


def _maybe_open(txn: Txn) -> bool:
    """Whether its commit was refused as by a busy broker: then it may be committed again."""
    return txn.end is not None and txn.end.op == "commit" and txn.end.error in UNAVAILABLE


def _first_try(facts: Facts, seen: Seen, ended: int | None) -> Record | None:
    """The first settlement of the lock outside of transactions, called after the rollback; None if another
    transaction's settlement or an unknown one comes before it."""
    for other in facts.settled.get(seen.delivery.lock or "", ()):
        if ended is None or other.call <= ended:
            continue
        return None if "txn" in other.args or other.outcome == Outcome.UNKNOWN else other
    return None


def _gone(facts: Facts, report: Report, txn: Txn, record: Record, seen: Seen) -> bool:
    """Whether a message completed in a transaction without commit did not turn up again."""
    id = seen.delivery.id
    if record.op not in REMOVALS:
        return False
    shown = [*facts.received[id], *facts.peeked.get(id, ())]
    if any(one.record.call > returned(record) for one in shown):
        report.count("TXN-5")
        return False
    if facts.drained is None or any(returned(one.record) > record.call for one in shown):
        return False
    if _removed(facts, id, record):
        return False
    if unsurely_taken(facts, record.call) or any(
        fault.op in WIPING and returned(fault) > record.call for fault in facts.disruptions
    ):
        return False
    detail = f"{id!r}, completed in transaction {txn.name!r} that was not committed, was never seen again"
    if not _outlived(facts, id):
        why = f"{detail}: the completion took effect (TXN-5), or it was lost as its lock ended (RCV-2)"
        report.open.setdefault("TXN-5", why)
        report.open.setdefault("RCV-2", why)
        return True
    title = "A completion took effect without a commit"
    allowed = "still there, and delivered again in the drain"
    report.find("TXN-5", "gone", title, (seen.record, record, *_end(txn)), detail, allowed)
    return True


def _outlived(facts: Facts, id: str) -> bool:
    """Whether another message came back after as many locks as this one had, all of which ran out: then
    messages are not lost as their locks end. (What a refused settlement may have done is RCV-8.)"""
    seens = facts.received[id]
    locks = [seen.delivery.lock or "" for seen in seens]
    if any(other.outcome == Outcome.ERROR for lock in locks for other in facts.settled.get(lock, ())):
        return False
    return any(
        other != id and len(facts.by_id.get(other, ())) == 1 and _ran_out(facts, found) >= len(locks)
        for other, found in facts.received.items()
    )


def _ran_out(facts: Facts, seens: list[Seen]) -> int:
    """After how many locks that nobody settled, and no fault ended, the message was delivered again."""
    return sum(
        (seen.delivery.lock or "") not in facts.settled
        and not _struck(facts, seen.record.call, returned(again.record))
        for seen, again in pairwise(seens)
    )


def _removed(facts: Facts, id: str, record: Record) -> bool:
    """Whether something else may have removed the message: another settlement, or a receive and delete."""
    for seen in facts.received[id]:
        if seen.delivery.lock is None:
            return True
        for other in facts.settled.get(seen.delivery.lock, ()):
            txn = facts.txns.get(other.args.get("txn", ""))
            counts = other.outcome != Outcome.ERROR and (txn is None or txn.committed_from is not None)
            if counts and other is not record and other.op != "abandon":
                return True
    return False


_DENIALS: Final = frozenset({"lock_lost", "not_found", "invalid_operation"})
"""Errors by which a settlement is told that its lock is no good."""

_RULES: Final = {
    "TXN-1": (
        "A send without a key in a transaction",
        "rejected as an invalid operation, nothing stored",
    ),
    "TXN-2": (
        "A second key in a transaction",
        "the second key rejected as an invalid operation, nothing of it stored",
    ),
    "TXN-7": (
        "Settlements of two partitions in one transaction",
        "the settlement in the second partition rejected",
    ),
}
"""Requirement -> the title of its findings, and what it allows."""

CHECKER: Final = Checker(
    "transactions",
    ("TXN-1", "TXN-2", "TXN-5", "TXN-7"),
    check,
    blind_spots=(
        "A second key is judged where both keys' partitions are known from messages seen, and differ.",
        "A settlement's partition is known where the delivery showed it.",
        "What a commit of unknown outcome did is judged by what was seen of its sends alone; a transaction "
        "of settlements only, whose commit is unknown, is not judged.",
        "That nothing of a transaction got lost is judged after a drain only, and where no fault of a "
        "partition or broker may have lost it (RCV-2).",
        "Whether all of a transaction took effect is not judged where a second key was accepted.",
        "Whether a transaction goes on after an operation in it was rejected is free.",
        "A lock that surely holds is needed to judge the lock after a rollback: with caching front ends its "
        "end must be shown.",
    ),
    needs=dict.fromkeys(("TXN-1", "TXN-2", "TXN-5", "TXN-7"), ("begin", "commit")),
)
