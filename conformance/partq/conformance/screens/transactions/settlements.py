"""What became of settlements in a transaction: TXN-5.

They take effect with the commit, and not at all without one. Where a lock that did not last (RCV-6), a lost
one that settles (RCV-8), a loss (RCV-2) or a fault that undid something (RCV-7) would look the same, the
rules are left open.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from partq.conformance.facts.index import FOREVER, Facts, Observation, Txn
from partq.conformance.facts.lifetimes import Lifetimes
from partq.conformance.facts.locks import may_be_given_up_on
from partq.conformance.facts.records import REMOVALS, returned
from partq.conformance.history import Record, time_text
from partq.conformance.screens.attribution import WIPING, possibly_taken
from partq.conformance.screens.protocol import Report
from partq.conformance.screens.transactions.sends import certainly_committed, ending
from partq.model.actions import GONE
from partq.model.operations import FOR_GOOD, Outcome


def judge_settlements(facts: Facts, report: Report, txn: Txn) -> None:
    """They take effect with the commit, and not at all without one. One finding a transaction."""
    committed, followed = certainly_committed(facts, txn), facts.derive(Lifetimes).by_id
    for record in txn.settlements:
        if record.outcome != Outcome.OK or txn.is_late(record):
            continue
        for lock in record.args["locks"]:
            seen = facts.locks.get(lock)
            if seen is None or seen.delivery.id not in followed:
                continue
            found = _before_the_end(facts, report, txn, record, seen)
            if not found and committed is not None:
                found = _after_commit(facts, report, txn, record, seen, committed)
            elif not found and txn.committed_from is None:
                found = _without_commit(facts, report, txn, record, seen)
            if found:
                return


def _before_the_end(facts: Facts, report: Report, txn: Txn, record: Record, seen: Observation) -> bool:
    """Whether a message was delivered to somebody although the lock, settled in the transaction, had to hold
    until its end."""
    until = txn.committed_from if txn.committed_from is not None else FOREVER
    released = _settled_again(facts, seen, record)
    held = min(seen.held_unsettled, until, FOREVER if released is None else released.call)
    for again in facts.received[seen.delivery.id]:
        if returned(record) < again.call and again.ret < held:
            _report_early(report, txn, record, seen, again)
            return True
    return False


def _report_early(report: Report, txn: Txn, record: Record, seen: Observation, again: Observation) -> None:
    """A completion that took effect would bring nothing back: then the lock itself did not exclude others.
    An abandon may have taken effect; if it did so by the rollback, or its lock ended, the history does not
    show which."""
    detail = (
        f"{seen.delivery.id!r}, whose lock {seen.delivery.lock!r} was settled in transaction {txn.name!r}, "
        f"was delivered again at {time_text(again.ret)}, while that lock had to hold"
    )
    witness = (seen.record, record, again.record, *ending(txn))
    allowed = "locked until the commit or rollback"
    if record.op in REMOVALS:
        title = "A locked message was delivered to somebody else"
        report.find("RCV-6", "overlap in a transaction", title, witness, detail, allowed)
    elif txn.end is not None and again.ret > txn.end.call:
        why = f"{detail}: the rollback did it (TXN-5), or the lock ended (RCV-6)"
        report.ambiguous(("TXN-5", "RCV-6"), why)
    else:
        title = "A settlement took effect before the commit"
        report.find("TXN-5", "settled before commit", title, witness, detail, allowed)


def _settled_again(facts: Facts, seen: Observation, record: Record) -> Record | None:
    """The first other settlement of that lock, called after this one, that was not rejected."""
    for other in seen.settlements:
        if other.call > record.call and other.outcome != Outcome.ERROR:
            return other
    return None


def _after_commit(
    facts: Facts, report: Report, txn: Txn, record: Record, seen: Observation, committed: int
) -> bool:
    """Whether a settlement that was committed did not last."""
    other = _settled_again(facts, seen, record)
    if (
        other is not None
        and other.call > committed
        and other.outcome == Outcome.OK
        and "txn" not in other.args
    ):
        detail = (
            f"lock {seen.delivery.lock!r} was settled in transaction {txn.name!r}, committed by "
            f"{time_text(committed)}; yet a later {other.op} with it answered ok"
        )
        why = f"{detail}: the commit did not settle it (TXN-5), or lost locks settle (RCV-8)"
        report.ambiguous(("TXN-5", "RCV-8"), why)
        return True
    if record.op not in REMOVALS:
        return False
    report.count("TXN-5", facts.drained is not None)
    id = seen.delivery.id
    for again in (*facts.received[id], *facts.peeked.get(id, ())):
        if again.call > committed:
            _report_undone(facts, report, txn, record, again)
            return True
    return False


def _report_undone(facts: Facts, report: Report, txn: Txn, record: Record, again: Observation) -> None:
    """A completion that was certainly committed, and whose message is shown again."""
    how = "delivered again by a receive" if again.record.op == "receive" else "shown by a peek"
    detail = (
        f"{again.delivery.id!r} was completed in transaction {txn.name!r}, which was committed, and {how} "
        f"called at {time_text(again.call)}"
    )
    if _struck(facts, txn.committed_from or 0, again.ret):
        why = f"{detail}: the commit did not do it (TXN-5), or a fault undid it (RCV-7)"
        report.ambiguous(("TXN-5", "RCV-7"), why)
        return
    title = "A message is still there after a committed completion"
    witness = (record, *ending(txn), again.record)
    report.find("TXN-5", "completion undone", title, witness, detail, "neither delivered nor shown again")


def _struck(facts: Facts, start: int, end: int) -> bool:
    """Whether a fault that may undo what was stored lies between."""
    return any(
        fault.op in WIPING and fault.call <= end and returned(fault) >= start for fault in facts.disruptions
    )


def _without_commit(facts: Facts, report: Report, txn: Txn, record: Record, seen: Observation) -> bool:
    """Whether after a rollback the lock no longer settles its message, or that is gone."""
    ended = None if txn.end is None else txn.end.ret
    again = _first_try(facts, seen, ended)
    if again is not None and again.outcome == Outcome.OK:
        report.count("TXN-5")
    elif (
        again is not None
        and again.error in FOR_GOOD
        and len(again.args["locks"]) == 1
        and not _possibly_open(txn)
        and returned(again) < seen.held_unsettled
    ):
        detail = (
            f"transaction {txn.name!r} settled {seen.delivery.id!r} by lock {seen.delivery.lock!r} and was "
            f"rolled back; {again.op} with that lock, which had to hold, answered {again.error}"
        )
        title = "The rollback did not give the lock back"
        witness = (seen.record, record, *ending(txn), again)
        report.find("TXN-5", "lock lost", title, witness, detail, "ok: the same lock still settles")
        return True
    return _gone(facts, report, txn, record, seen)


def _possibly_open(txn: Txn) -> bool:
    """Whether it may not be over: its end is unknown, or refused as by a broker that is busy or cut off."""
    end = txn.end
    return end is not None and (end.outcome == Outcome.UNKNOWN or end.error in GONE)


def _first_try(facts: Facts, seen: Observation, ended: int | None) -> Record | None:
    """The first settlement of the lock outside of transactions, called after the rollback; None if another
    transaction's settlement or an unknown one comes before it."""
    for other in seen.settlements:
        if ended is None or other.call <= ended:
            continue
        return None if "txn" in other.args or other.outcome == Outcome.UNKNOWN else other
    return None


def _gone(facts: Facts, report: Report, txn: Txn, record: Record, seen: Observation) -> bool:
    """Whether a message completed in a transaction without commit did not turn up again."""
    id = seen.delivery.id
    if record.op not in REMOVALS:
        return False
    shown = [*facts.received[id], *facts.peeked.get(id, ())]
    last = record if txn.end is None else txn.end
    if any(one.call > returned(last) for one in shown):
        report.count("TXN-5")
        return False
    if facts.drained is None or any(one.ret > last.call for one in shown):
        return False
    if _removed(facts, id, record):
        return False
    if possibly_taken(facts) or any(
        fault.op in WIPING and returned(fault) > record.call for fault in facts.disruptions
    ):
        return False
    detail = f"{id!r}, completed in transaction {txn.name!r} that was not committed, was never seen again"
    if may_be_given_up_on(facts, facts.received[id], max(seen.call for seen in shown)):
        report.open.setdefault("TXN-5", f"{detail}: it may have been dead-lettered (max_delivery_count)")
        return True
    if not _outlived(facts, id):
        why = (
            f"{detail}: the completion took effect (TXN-5), it was lost as its lock ended (RCV-2), or a "
            f"refused settlement removed it (RCV-8)"
        )
        report.ambiguous(("TXN-5", "RCV-2", "RCV-8"), why)
        return True
    title = "A completion took effect without a commit"
    allowed = "still there, and delivered again in the drain"
    report.find("TXN-5", "gone", title, (seen.record, record, *ending(txn)), detail, allowed)
    return True


def _outlived(facts: Facts, id: str) -> bool:
    """Whether another message came back after as many locks as this one had, all of which ran out: then
    messages are not lost as their locks end. (What a refused settlement may have done is RCV-8.)"""
    seens = facts.received[id]
    if any(settlement.outcome == Outcome.ERROR for seen in seens for settlement in seen.settlements):
        return False
    return any(
        life.id != id and _ran_out(facts, life.deliveries) >= len(seens)
        for life in facts.derive(Lifetimes).delivered
    )


def _ran_out(facts: Facts, seens: Sequence[Observation]) -> int:
    """After how many locks that nobody settled, and no fault ended, the message was delivered again."""
    return sum(
        seen.delivery.lock is not None
        and not seen.settlements
        and seen.ret < again.call
        and not _struck(facts, seen.call, again.ret)
        for seen, again in pairwise(seens)
    )


def _removed(facts: Facts, id: str, record: Record) -> bool:
    """Whether something else may have removed the message: another settlement, or a receive and delete."""
    for seen in facts.received[id]:
        if seen.delivery.lock is None:
            return True
        for other in seen.settlements:
            txn = facts.txns.get(other.args.get("txn", ""))
            counts = other.outcome != Outcome.ERROR and (txn is None or txn.committed_from is not None)
            if counts and other is not record and other.op != "abandon":
                return True
    return False
