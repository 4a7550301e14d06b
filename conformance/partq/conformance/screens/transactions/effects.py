"""What a transaction did: TXN-5, nothing before its commit, nothing without one, and all with it.

A transaction may have taken effect from the call of a commit that was not rejected, and certainly has by the
return of one that was ok, or by the time one of its messages was seen while a commit was under way. What of
its sends is missing is `delivery.losses`' business; where a key's messages go (TXN-8) `routing.affinity`'s.
"""

from __future__ import annotations

from typing import Final

from partq.conformance.facts.index import RET, Facts, Observation, Txn
from partq.conformance.facts.lifetimes import Lifetimes
from partq.conformance.facts.records import REMOVALS
from partq.conformance.history import Record, time_text
from partq.conformance.screens.attribution import applies, homes, key_rule, unfit_in_session
from partq.conformance.screens.protocol import Report, Screen
from partq.model.messages import Message, conflicting

WIPING: Final = frozenset({"partition_down", "broker_kill"})
"""Faults by which a defective broker may lose, or undo, what it had stored."""


def check(facts: Facts) -> Report:
    """Judge every transaction."""
    report = Report()
    for txn in facts.txns.values():
        _judge_sends(facts, report, txn)
        _judge_settlements(facts, report, txn)
    return report


# Sends.


def _judge_sends(facts: Facts, report: Report, txn: Txn) -> None:
    """Nothing of it is seen before a commit, and nothing ever without one."""
    since, lives = txn.committed_from, facts.derive(Lifetimes)
    for record in txn.sends:
        if record.refused or txn.is_late(record):
            continue
        for message in record.sent:
            life = lives.get(message.id)
            if life is None or _keyless_in(facts, message) or unfit_in_session(facts, record):
                continue
            shown = min(life.appearances, key=RET, default=None)
            if shown is None:
                report.count("TXN-5", since is None and facts.drained is not None and bool(txn.ends))
            elif since is None or shown.ret < since:
                _find_too_early(facts, report, txn, record, shown)
                return
            else:
                report.count("TXN-5", txn.committed_by is not None)


def _keyless_in(facts: Facts, message: Message) -> bool:
    """Whether the message should not be in a transaction at all: then TXN-1 or KEY-3 owns it."""
    keyless = facts.key_of(message) is None
    return applies(facts, "TXN-1") and (conflicting(message) or keyless)


def _find_too_early(facts: Facts, report: Report, txn: Txn, send: Record, shown: Observation) -> None:
    rule, since = key_rule(facts) if of_second_key(facts, txn, send) else "TXN-5", txn.committed_from
    ended = "which was not committed" if since is None else f"whose commit was called at {time_text(since)}"
    when = "after rollback" if since is None and txn.end is not None else "before commit"
    cause = f"visible {when}" if rule == "TXN-5" else "stored at once"
    why = f"{shown.delivery.id!r}, sent in transaction {txn.name!r}, {ended}, was seen by "
    why += time_text(shown.ret)
    report.find(rule, cause, (send, shown.record, *_ending(txn)), why)


def of_second_key(facts: Facts, txn: Txn, record: Record) -> bool:
    """Whether the send brought in a second key, of another partition or of one not known (TXN-2), or a second
    session (TXN-4)."""
    rule = key_rule(facts)
    if not applies(facts, rule):
        return False
    known = facts.derive(homes)
    first = next((send for send in txn.sends if send.ok), record)
    one, other = (facts.key_of(send.sent[0]) for send in (first, record))
    return one != other and (rule == "TXN-4" or one not in known or known[one] != known.get(other or ""))


def _ending(txn: Txn) -> tuple[Record, ...]:
    return () if txn.end is None else (txn.end,)


# Settlements.


def _judge_settlements(facts: Facts, report: Report, txn: Txn) -> None:
    """They take effect with the commit, and not at all without one. One finding a transaction."""
    committed, followed = _certainly_committed(facts, txn), facts.derive(Lifetimes).by_id
    for record in txn.settlements:
        for lock in record.args["locks"] if record.ok and not txn.is_late(record) else ():
            seen = facts.locks.get(lock)
            if seen is None or seen.delivery.id not in followed:
                continue
            if committed is None:
                report.count("TXN-5", txn.committed_from is None and _is_left(facts, txn, record, seen))
            elif record.op in REMOVALS and _undone(facts, report, txn, record, seen, committed):
                return


def _is_left(facts: Facts, txn: Txn, record: Record, seen: Observation) -> bool:
    """Whether without a commit the lock settles its message still, or that turned up again."""
    ended = None if txn.end is None else txn.end.ret
    again = next((one for one in seen.settlements if ended is not None and one.call > ended), None)
    if again is not None and again.ok and "txn" not in again.args:
        return True
    id, last = seen.delivery.id, (txn.end or record).end
    shown = (*facts.received[id], *facts.peeked.get(id, ()))
    return record.op in REMOVALS and any(one.call > last for one in shown)


def _certainly_committed(facts: Facts, txn: Txn) -> int | None:
    """The instant by which the transaction certainly had taken effect, or None."""
    if txn.committed_by is not None or txn.committed_from is None:
        return txn.committed_by
    sends = (one for one in txn.sends if not one.refused and not of_second_key(facts, txn, one))
    ids = (message.id for record in sends for message in record.sent)
    lives = filter(None, map(facts.derive(Lifetimes).get, ids))
    return min((seen.ret for life in lives for seen in life.appearances), default=None)


def _undone(
    facts: Facts, report: Report, txn: Txn, record: Record, seen: Observation, committed: int
) -> bool:
    """Whether a message whose completion was committed is received again, and no fault may have undone it.
    Peeks may show it until one does not."""
    report.count("TXN-5", facts.drained is not None)
    id = seen.delivery.id
    again = next((one for one in facts.received[id] if one.call > committed), None)
    if again is not None and not _struck(facts, txn.committed_from or 0, again.ret):
        why = f"{id!r} was completed in transaction {txn.name!r}, which was committed, and received again "
        why += f"by a {again.record.op} called at {time_text(again.call)}"
        report.find("TXN-5", "completion undone", (record, *_ending(txn), again.record), why)
    return again is not None


def _struck(facts: Facts, start: int, end: int) -> bool:
    """Whether a fault that may undo what was stored lies between."""
    near = (fault for fault in facts.disruptions if fault.call <= end and fault.end >= start)
    return any(fault.op in WIPING for fault in near)


SCREEN: Final = Screen(
    "transactions",
    ("TXN-2", "TXN-4", "TXN-5"),
    check,
    blind_spots=(
        "What a commit of unknown outcome did is judged by what was seen of its sends alone; a transaction "
        "of settlements only, whose commit is unknown, is not judged.",
        "A message whose completion was committed, and that peeks go on showing, is left to the judge.",
        "What comes back while a lock that the transaction settled has to hold, that a send or a settlement "
        "was enlisted twice, what a fault may have undone, and what is gone, or does not settle, after a "
        "rollback, is left to the judge.",
    ),
    needs={
        "TXN-2": ("begin", "commit", "partitions"),
        "TXN-4": ("begin", "accept_session"),
        "TXN-5": ("begin", "commit"),
    },
)
