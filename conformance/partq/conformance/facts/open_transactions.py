"""Whether a transaction certainly was open, with nothing in its way, when an operation was called in it.

Then the broker has no reason to refuse what is valid. Nothing here judges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from partq.conformance.facts.index import Facts
from partq.conformance.facts.outages import Outages
from partq.conformance.facts.records import returned
from partq.conformance.history import Record
from partq.model.messages import conflicting, effective_keys
from partq.model.operations import Outcome
from partq.model.profiles import MAX_IDLE


def begins(facts: Facts) -> Counter[str]:
    """How often each name of a transaction was begun. Use it by ``facts.derive(begins)``."""
    return Counter(record.args["txn"] for record in facts.begins)


def first_begins(facts: Facts) -> dict[str, int]:
    """When each transaction may first have been open. Use it by ``facts.derive(first_begins)``."""
    accepted = [record for record in facts.begins if record.outcome != Outcome.ERROR]
    return {record.args["txn"]: record.call for record in reversed(accepted)}


def certainly_open(facts: Facts, record: Record, ret: int) -> bool:
    """Whether the operation's transaction was open until ``ret``: begun under a name of its own, no fault
    near it since, never idle for too long (TXN-9), all that was asked for in it before accepted and nothing
    that has to be refused, which may come late and end it (KEY-3, KEY-7, TXN-1), and no end of it tried."""
    txn = facts.txns[record.args["txn"]]
    begin = txn.begin
    if begin is None or begin.outcome != Outcome.OK or facts.derive(begins)[txn.name] != 1:
        return False
    if returned(begin) >= record.call or not facts.derive(Outages).quiet(begin.call, ret):
        return False
    if any(fault.call <= ret and returned(fault) >= begin.call for fault in facts.disruptions):
        return False
    earlier = [one for one in (*txn.sends, *txn.settlements) if one is not record and one.call <= ret]
    if _may_idle(facts, (begin, *earlier), ret):
        return False
    if not all(one.outcome == Outcome.OK and returned(one) < record.call for one in earlier):
        return False
    if any(_has_to_be_refused(facts, one) for one in txn.sends if one.call <= ret and one is not record):
        return False
    return all(end is record or end.call > ret for end in txn.ends)


def _has_to_be_refused(facts: Facts, record: Record) -> bool:
    """Whether a send has no key, or several, or one in conflict with itself."""
    messages = record.args["messages"]
    if any(map(conflicting, messages)):
        return True
    keys = effective_keys(messages, facts.profile.key_rule)
    return facts.profile.partitioned and (None in keys or len(keys) > 1)


def _may_idle(facts: Facts, records: Sequence[Record], ret: int) -> bool:
    """Whether more than the time limit may have passed between two of these operations, or until ``ret``."""
    calls = sorted(record.call for record in records)
    returns = [*sorted(map(returned, records))[1:], ret]
    silences = (end - call for call, end in zip(calls, returns, strict=True))
    return any(silence >= MAX_IDLE - facts.header.skew_ns for silence in silences)
