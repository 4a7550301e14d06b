"""What the screens need not see though the judge does: each blind spot with its reason.

A blind spot is narrow: it covers a history only where what it names is really there. There are none for false
alarms.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from adequacy.comparison import BlindSpot

from partq.conformance.facts.index import Facts, Observation, facts_of
from partq.conformance.facts.outages import Outages
from partq.conformance.facts.records import deletes
from partq.conformance.history import History, Record
from partq.conformance.oracle.roles import COMMITS
from partq.conformance.screens.attribution import applies
from partq.model.operations import Outcome


def _never_shown(facts: Facts) -> Iterator[str]:
    """The messages that were certainly accepted, and no answer shows."""
    for sent in facts.sends:
        id = sent.message.id
        if sent.record.outcome == Outcome.OK and id not in facts.received and id not in facts.peeked:
            yield id


def _passed_unseen(history: History) -> bool:
    """Whether a peek was answered, or a drain ended with a partition down, and a message never shown."""
    for facts in facts_of(history):
        unreached = facts.drained is not None and not facts.derive(Outages).quiet(
            facts.drained, facts.drained
        )
        peeked = any(record.outcome == Outcome.OK for record in facts.peeks)
        if (unreached or peeked) and any(_never_shown(facts)):
            return True
    return False


def _uncertain_sends(facts: Facts) -> list[Record]:
    return [s.record for s in facts.sends if s.record.outcome == Outcome.UNKNOWN]


def _uncertain_send_observed(history: History) -> bool:
    """Whether a send of unknown outcome turns out to have happened, and when matters: to a peek, or because
    partitions went down."""
    for facts in facts_of(history):
        for record in _uncertain_sends(facts):
            ids = [message.id for message in record.args["messages"]]
            shown = any(id in facts.received or id in facts.peeked for id in ids)
            if shown and (facts.peeks or facts.down):
                return True
    return False


def _empty_peek_between(history: History) -> bool:
    """Whether a peek shows nothing, while one message goes and another comes."""
    for facts in facts_of(history):
        gone = [r for r in facts.receives if deletes(r)]
        for peek in facts.peeks:
            if peek.outcome == Outcome.OK and not peek.messages:
                changes = (*gone, *facts.settlements)
                if any(_overlap(peek, r) for r in changes) and any(_overlap(peek, r) for r in facts.requests):
                    return True
    return False


def _key_without_home(history: History) -> bool:
    """Whether partitions went down, and of one key sends were accepted and refused, and none is shown."""
    for facts in facts_of(history):
        outcomes: dict[str, set[str]] = {}
        for sent in facts.sends if facts.down else ():
            if sent.key is not None:
                id = sent.message.id
                shown = id in facts.received or id in facts.peeked
                outcomes.setdefault(sent.key, set()).add("shown" if shown else str(sent.record.outcome))
        if any({"ok", "error"} <= found and "shown" not in found for found in outcomes.values()):
            return True
    return False


def _uncommitted_after_fault(history: History) -> bool:
    """Whether a message completed in a transaction that a fault hit, and not committed, is missing."""
    for facts in facts_of(history):
        for txn in facts.txns.values():
            if txn.settlements and txn.committed_from is None and facts.disruptions:
                return facts.drained is not None
    return False


def _uncertain_deletion(history: History) -> bool:
    """Whether a receive that deletes has an unknown outcome, and a message is missing."""
    return any(
        record.outcome == Outcome.UNKNOWN and deletes(record)
        for facts in facts_of(history)
        for record in facts.receives
    )


def _uncertain_end(history: History) -> bool:
    """Whether a transaction that ended either way had settled something, or something of it shows."""
    for facts in facts_of(history):
        for txn in facts.txns.values():
            uncertain = any(end.outcome == Outcome.UNKNOWN for end in txn.ends)
            sent = (message.id for record in txn.sends for message in record.args["messages"])
            if uncertain and (
                txn.settlements or any(id in facts.received or id in facts.peeked for id in sent)
            ):
                return True
    return False


def _across_commit(history: History) -> bool:
    """Whether an answer that overlaps a commit shows what the transaction completed."""
    for facts in facts_of(history):
        for txn in facts.txns.values():
            completed = {
                facts.locks[lock].delivery.id
                for settlement in txn.settlements
                for lock in settlement.args["locks"]
                if lock in facts.locks
            }
            for end in txn.ends:
                for record in (*facts.receives, *facts.peeks):
                    if end.op == COMMITS and _overlap(end, record):
                        if any(shown.id in completed for shown in record.messages):
                            return True
    return False


def _peeked_though_gone(history: History) -> bool:
    """Whether a peek shows a message after the commit of a transaction that completed it."""
    for facts in facts_of(history):
        for txn in facts.txns.values():
            for lock in (lock for record in txn.settlements for lock in record.args["locks"]):
                seen = facts.locks.get(lock)
                if seen is not None and txn.committed_by is not None:
                    peeks = facts.peeked.get(seen.delivery.id, ())
                    if any(peek.record.call > txn.committed_by for peek in peeks):
                        return True
    return False


def _peeked_amid_locks(history: History) -> bool:
    """Whether a peek was answered beside a receive, or after one by which a front end fetched more than it
    shows: either may have locked what the peek left out."""
    for facts in facts_of(history):
        caching = facts.profile.caching_front_ends
        for peek in facts.peeks:
            beside = (one for one in facts.receives if one.call < (peek.ret or 0))
            if peek.outcome == Outcome.OK and any(caching or _overlap(one, peek) for one in beside):
                return True
    return False


def _overlap(one: Record, two: Record) -> bool:
    return one.call <= (two.ret or two.call) and two.call <= (one.ret or one.call)


def _settled_without_requirement(history: History) -> bool:
    """Whether a flow settled with a lock that was not given to it, or that it had lost."""
    for facts in facts_of(history):
        for record in facts.settlements if facts.profile.flows else ():
            if record.outcome == Outcome.OK:
                held = [facts.locks.get(lock) for lock in record.args["locks"]]
                if any(
                    seen is None or seen.record.proc != record.proc or _moved(facts, seen, record)
                    for seen in held
                ):
                    return True
    return False


def _moved(facts: Facts, seen: Observation, until: Record) -> bool:
    """Whether a partition was taken from the flow between the delivery and that record."""
    flow = seen.record.args.get("flow")
    taken = (r for r in facts.assignment_events if r.args.get("flow") == flow and r.args["state"] != "ready")
    parted = (r for r in facts.disruptions if r.args.get("proc") == seen.record.proc)
    return any(
        seen.record.call <= event.call <= (until.ret or until.call)
        for event in (*taken, *facts.flows, *parted)
    )


def _again_after_handoff(history: History) -> bool:
    """Whether a message came again, or its lock was refused, after its flow lost a partition."""
    for facts in facts_of(history):
        for seens in facts.received.values() if facts.profile.flows else ():
            if any(_moved(facts, one, two.record) for one, two in pairwise(seens)):
                return True
        for lock, settlements in facts.settled.items() if facts.profile.flows else ():
            seen = facts.locks.get(lock)
            refused = (record for record in settlements if record.outcome == Outcome.ERROR)
            if seen is not None and any(_moved(facts, seen, record) for record in refused):
                return True
    return False


def _more_than_asked(history: History) -> bool:
    """Whether an answer holds more messages than were asked for, where RCV-12 is no rule."""
    return any(
        len(record.messages) > record.args["max"]
        for facts in facts_of(history)
        for record in (() if applies(facts, "RCV-12") else facts.receives)
    )


BLIND_SPOTS: Final[tuple[BlindSpot, ...]] = (
    BlindSpot(
        "an accepted message is never shown",
        "its number, and mostly its partition, are not inferred from others: a peek that skips it is not "
        "told from one that cannot reach it, nor where in a drain it was out of reach",
        _passed_unseen,
    ),
    BlindSpot(
        "a send of unknown outcome happened after all",
        "a live broker may take it in after the client gave up, so when it was there is not inferred",
        _uncertain_send_observed,
    ),
    BlindSpot(
        "what a deletion of unknown outcome took",
        "it explains as many missing messages as it asked for, whatever their order",
        _uncertain_deletion,
    ),
    BlindSpot(
        "a transaction that ended, nobody knows how",
        "whether it was committed is not inferred from what else is seen",
        _uncertain_end,
    ),
    BlindSpot(
        "an answer across a commit",
        "it may be from before the commit, which removed the message; that it also shows what the commit "
        "brought is not held against it",
        _across_commit,
    ),
    BlindSpot(
        "flows settle with locks that they do not have",
        "RCV-8 is not a rule of families with flows",
        _settled_without_requirement,
    ),
    BlindSpot(
        "delivered again through flows, or refused, after a handoff",
        "whether the message was in the partition that changed hands is not inferred: it was locked (RCV-6), "
        "gone (RCV-7), handed over too early (REB-14) or delivered through a wrong flow (REB-2)",
        _again_after_handoff,
    ),
    BlindSpot(
        "an empty peek while one message goes and another comes",
        "messages are judged one by one: at each instant another of them may have been the only one",
        _empty_peek_between,
    ),
    BlindSpot(
        "completed in a transaction that a fault hit",
        "a fault may have ended lock and transaction in any order, so what is missing later has no one rule",
        _uncommitted_after_fault,
    ),
    BlindSpot(
        "a key whose partition is never shown",
        "where it lives is learned from what is shown: that it was accepted and refused while the same "
        "partition was down is not held against it",
        _key_without_home,
    ),
    BlindSpot(
        "a peek after the commit that removed the message",
        "RCV-7 is about deliveries, and visibility after a commit may lag (TXN-5)",
        _peeked_though_gone,
    ),
    BlindSpot(
        "a peek while somebody may hold what it leaves out",
        "what it leaves out may have been locked, so that PEEK-7 may be broken: the judge alone decides",
        _peeked_amid_locks,
    ),
    BlindSpot(
        "more messages than were asked for, without partitions",
        "RCV-12, which a partitioned entity would break by it, is no rule there, and no other row says so",
        _more_than_asked,
    ),
)
