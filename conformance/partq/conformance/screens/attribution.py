"""One requirement for one anomaly that several could claim; and queries that several screens share.

| anomaly | owner |
|---|---|
| a message seen whose send was, or had to be, rejected | the rule of it (`rejected_by`), else RCV-1 |
| a message that was never seen, after a drain | KEY-7, TXN-5 where the rest of it was, else RCV-2 |
| one message with two numbers | RCV-6, RCV-7 where it was delivered twice, else SEQ-6 |
| one number for two messages, a gap | SEQ-5 at the roll-over, else SEQ-1, SEQ-4 |
| equal keys in two partitions | `routing.splits`, whose table is there |

What is certainly one of several is a suspicion that names them all (`Report.ambiguous`), or none where the
judge finds it anyhow. Nothing here makes a finding.
"""

from __future__ import annotations

from typing import Final

from partq.conformance.facts.index import Facts, Sent, Txn
from partq.conformance.facts.lifetimes import Lifetimes
from partq.conformance.facts.outages import Outages
from partq.conformance.history import Record
from partq.model.messages import conflicting
from partq.model.operations import UNAVAILABLE
from partq.model.profiles import requirements_of

MISDELIVERY: Final = ("REB-2", "REB-5", "REB-7", "REB-13")
"""The rules one of which is broken where a flow got what was not its own."""


def applies(facts: Facts, requirement: str) -> bool:
    """Whether the rule is one of the history's profile; only such a rule can own an anomaly."""
    return requirement in requirements_of(facts.profile.name)


def key_count(record: Record) -> int:
    """How many different keys the messages of a send bear (Service Bus rule); keyless ones do not count."""
    return len(_keys(record) - {None})


def _keys(record: Record) -> set[str | None]:
    return {message.session_id or message.partition_key for message in record.sent}


def homes(facts: Facts) -> dict[str, int]:
    """The partition of each key, learned from its messages that were seen. None at all where a key was seen
    in two, or where a kill may have changed it. Use it by ``facts.derive(homes)``."""
    seen = facts.derive(places)
    if any(len(found) > 1 for found in seen.values()):
        return {}
    return {key: place for key, (place,) in seen.items()}


def places(facts: Facts) -> dict[str, dict[int, None]]:
    """The partitions in which messages of each key were seen; none where a kill may have changed them."""
    seen: dict[str, dict[int, None]] = {}
    for life in () if facts.profile.kill_remaps_keys and facts.dead else facts.derive(Lifetimes).stored:
        if life.sent.key is not None and life.partition is not None:
            seen.setdefault(life.sent.key, {})[life.partition] = None
    return seen


def unfit_in_session(facts: Facts, record: Record) -> bool:
    """Whether a send in a transaction has messages that no entity with sessions takes: without a session, or
    with another partition key (TXN-3)."""
    if "txn" not in record.args or not facts.entity.requires_session or not applies(facts, "TXN-3"):
        return False
    return any(message.session_id is None or conflicting(message) for message in record.sent)


def key_rule(facts: Facts) -> str:
    """The rule that a second key in a transaction breaks: where there are sessions, it is a second one."""
    return "TXN-4" if facts.entity.requires_session and applies(facts, "TXN-4") else "TXN-2"


def enlisted_only(facts: Facts, record: Record) -> bool:
    """Whether the request was only enlisted in a transaction: not certainly committed, nothing of it seen.
    That it had to be refused may still come to light at the commit."""
    if "txn" not in record.args:
        return False
    txn = facts.txns[record.args["txn"]]
    if txn.committed_by is not None and not txn.reused:
        return False
    return not any(facts.saw(message.id) for message in record.sent)


def rejected_by(facts: Facts, sent: Sent) -> str | None:
    """The requirement by which this send, which was rejected, had to store nothing; None: no special one."""
    rule = _by_shape(facts, sent) or _by_batch(facts, sent.record) or _by_fault(facts, sent)
    return rule if rule is not None and applies(facts, rule) else None


def forbidden(facts: Facts, record: Record) -> str | None:
    """The rule that a request breaks by itself."""
    if unfit_in_session(facts, record):
        return "TXN-3"
    if any(conflicting(message) for message in record.sent):
        return "KEY-3"
    return "KEY-7" if key_count(record) > 1 else None


def _by_shape(facts: Facts, sent: Sent) -> str | None:
    """The rule that the request breaks by itself, or by its place in a transaction."""
    record = sent.record
    rule = forbidden(facts, record)
    if rule is not None or "txn" not in record.args:
        return rule
    if sent.key is None:
        return "TXN-1"
    return key_rule(facts) if _second_key(facts.txns[record.args["txn"]], sent) else None


def _second_key(txn: Txn, sent: Sent) -> bool:
    """Whether the transaction may have had another key when this message was sent."""
    earlier = (one for one in txn.sends if one.call < sent.record.call and not one.refused)
    return any(_keys(one) - {None, sent.key} for one in earlier)


def _by_batch(facts: Facts, record: Record) -> str | None:
    """KEY-7 for a batch that was stored in part, as far as the drain shows."""
    if not record.refused or facts.drained is None:
        return None
    if all(facts.saw(message.id) for message in record.sent):
        return None
    return "KEY-7"


def _by_fault(facts: Facts, sent: Sent) -> str | None:
    """The rule that demands a rejection while something is down."""
    if sent.record.error not in UNAVAILABLE:
        return None
    outages, start, end = facts.derive(Outages), sent.record.call, sent.record.end
    if sent.key is not None:
        return None if outages.quiet(start, end) else "ROUTE-5"
    return None if outages.some_certainly_up(start, end) else "ROUTE-8"


def possibly_taken(facts: Facts) -> int:
    """How many messages receives of unknown outcome may have deleted, unseen, also after they returned."""
    unknown = (one for one in facts.receives if one.unknown and one.deletes)
    return sum(record.args["max"] for record in unknown)
