"""One ID for one anomaly: which requirement owns what several could claim. Shared by the screens.

| anomaly | owner |
|---|---|
| a message seen whose send was, or had to be, rejected | the rule of it (`rejected_by`), else RCV-1 |
| a message that was never seen, after a drain | KEY-7, TXN-5 (`missing`), else RCV-2 |
| a message that a transaction settled, and that came back or went | TXN-5, never RCV-6, 7 or 2 |
| one message with two numbers | RCV-6, RCV-7 where it was delivered twice, else SEQ-6 |
| one number for two messages, a gap | SEQ-5 at the roll-over, else SEQ-1, SEQ-4 |
| equal keys in two partitions | `routing.splits`, whose table is there |

Nothing here makes a finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from partq.conformance.facts.index import Facts, Observation, Sent, Txn
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.locks import may_be_given_up_on
from partq.conformance.facts.outages import Outages
from partq.conformance.facts.records import deletes, returned
from partq.conformance.history import Record
from partq.model.messages import conflicting, effective_keys
from partq.model.operations import UNAVAILABLE, Outcome
from partq.model.profiles import requirements_of

MISDELIVERY: Final = ("REB-2", "REB-5", "REB-7", "REB-13")
"""The rules one of which is broken where a flow got what was not its own."""

WIPING: Final = frozenset({"partition_down", "broker_kill"})
"""Faults by which a defective broker may lose what it had stored."""


_NEVER_STORED: Final = frozenset({"KEY-3", "KEY-7", "TXN-1"})
"""Rules by which a request must be rejected whatever else is the case."""


def key_count(record: Record) -> int:
    """How many different keys the messages of a send bear (Service Bus rule); keyless ones do not count."""
    keys = {message.session_id or message.partition_key for message in record.args["messages"]}
    return len(keys - {None})


def applies(facts: Facts, requirement: str) -> bool:
    """Whether the rule is one of the history's profile; only such a rule can own an anomaly."""
    return requirement in requirements_of(facts.profile.name)


def resurrected(facts: Facts) -> list[tuple[Sent, Observation, str | None]]:
    """Every message that was seen although its only send was rejected, or of unknown outcome and one that
    must be rejected; with the rule that owns it (None: RCV-1). Use it by ``facts.derive(resurrected)``."""
    found = []
    for life in facts.derive(Lifetimes).by_id.values():
        outcome = life.record.outcome
        if outcome != Outcome.OK and life.seen:
            requirement = rejected_by(facts, life.sent)
            if outcome == Outcome.ERROR or requirement in _NEVER_STORED:
                found.append((life.sent, (life.deliveries or life.peeks)[0], requirement))
    return found


def rejected_by(facts: Facts, sent: Sent) -> str | None:
    """The requirement by which this rejected send had to store nothing; None: no special one (RCV-1)."""
    requirement = (
        _shape_requirement(facts, sent) or _batch_requirement(facts, sent) or _fault_requirement(facts, sent)
    )
    return requirement if requirement is not None and applies(facts, requirement) else None


def enlisted_only(facts: Facts, record: Record) -> bool:
    """Whether the request was only enlisted in a transaction: not certainly committed, nothing of it seen.
    That it had to be refused may still come to light at the commit."""
    if "txn" not in record.args or facts.txns[record.args["txn"]].committed_by is not None:
        return False
    return not any(facts.saw(message.id) for message in record.args["messages"])


def _shape_requirement(facts: Facts, sent: Sent) -> str | None:
    """The rule that the request breaks by itself."""
    record = sent.record
    if any(conflicting(message) for message in record.args["messages"]):
        return "KEY-3"
    if key_count(record) > 1:
        return "KEY-7"
    if "txn" in record.args:
        if sent.key is None:
            return "TXN-1"
        return "TXN-2" if _second_key(facts.txns[record.args["txn"]], sent) else None
    return None


def _batch_requirement(facts: Facts, sent: Sent) -> str | None:
    """KEY-7 for a rejected batch that was stored in part, as far as the drain shows."""
    record = sent.record
    if facts.drained is None or record.outcome != Outcome.ERROR:
        return None
    messages = record.args["messages"]
    whole = all(facts.saw(message.id) for message in messages)
    return None if whole else "KEY-7"


def _second_key(txn: Txn, sent: Sent) -> bool:
    """Whether the transaction may have had another key when this message was sent."""
    for earlier in txn.sends:
        if earlier.call >= sent.record.call:
            return False
        if earlier.outcome != Outcome.ERROR:
            keys = {m.session_id or m.partition_key for m in earlier.args["messages"]}
            if keys - {None, sent.key}:
                return True
    return False


def _fault_requirement(facts: Facts, sent: Sent) -> str | None:
    """The rule that demands a rejection while something is down."""
    if sent.record.error not in UNAVAILABLE:
        return None
    outages, start, end = facts.derive(Outages), sent.record.call, returned(sent.record)
    if sent.key is not None:
        return None if outages.quiet(start, end) else "ROUTE-5"
    return None if outages.some_certainly_up(start, end) else "ROUTE-8"


class Missing(NamedTuple):
    """Messages that should have been seen by the time of the drain, and were not.

    ``records``: the sends (and the commit) that stored all or none · ``ids``: never seen · ``siblings``:
    seen, of the same batch or transaction · ``doubtful``: a fault may have lost them as well (RCV-2), though
    no client has an answer that they are stored.
    """

    requirement: str
    records: tuple[Record, ...]
    ids: tuple[str, ...]
    siblings: tuple[str, ...]
    doubtful: bool


def missing(facts: Facts) -> list[Missing]:
    """The losses that KEY-7 or TXN-5 owns, not RCV-2. Use it by ``facts.derive(missing)``.

    A batch of which some messages were seen and others never; a transaction certainly committed (or seen to
    be, by some of its messages) of which some were never seen. Not where a plain message was lost too, or
    where a fault may have lost the rest of what was accepted: that is RCV-2. Messages that a receive and
    delete of unknown outcome may have taken are not missing.
    """
    if facts.drained is None:
        return []
    possible = (life.record for life in facts.derive(Lifetimes).unseen if life.record.call < facts.drained)
    unseen = [record for record in possible if record.outcome != Outcome.ERROR]
    if not unseen or any(map(_plain, unseen)):
        return []
    found = []
    records = {record.i: record for record in unseen}.values()
    for record in records:
        if record.op == "send_batch" and "txn" not in record.args and not _may_be_in_part(facts, record):
            found += _partly(facts, "KEY-7", (record,), record.call, record.outcome == Outcome.OK)
    for name in dict.fromkeys(record.args["txn"] for record in records if "txn" in record.args):
        found += _of_transaction(facts, facts.txns[name])
    return found


def missing_ids(facts: Facts) -> Mapping[str, str]:
    """ID of each message whose loss `missing` explains -> the requirement that owns it."""
    return {id: loss.requirement for loss in facts.derive(missing) for id in loss.ids}


def _may_be_in_part(facts: Facts, record: Record) -> bool:
    """Whether some of a batch may be stored and the rest not: it is keyless, so that its parts go to
    partitions each by itself (ROUTE-9), and of unknown outcome."""
    rule = facts.profile.key_rule
    keyless = effective_keys(record.args["messages"], rule) <= {None}
    return keyless and facts.profile.partitioned and record.outcome == Outcome.UNKNOWN


def _plain(record: Record) -> bool:
    """Accepted alone: its loss is nothing but a loss."""
    return record.outcome == Outcome.OK and "txn" not in record.args and len(record.args["messages"]) == 1


def _of_transaction(facts: Facts, txn: Txn) -> list[Missing]:
    sends = tuple(record for record in txn.sends if record.outcome == Outcome.OK)
    keys = {
        message.session_id or message.partition_key for send in sends for message in send.args["messages"]
    }
    if txn.committed_from is None or (len(keys) > 1 and applies(facts, "TXN-2")):
        return []
    ends = tuple(record for record in txn.ends if record.outcome != Outcome.ERROR)
    certain = txn.committed_by is not None
    found = _partly(facts, "TXN-5", sends, txn.committed_from, certain, alone=certain)
    return [loss._replace(records=sends + ends) for loss in found]


def _partly(
    facts: Facts, requirement: str, sends: tuple[Record, ...], since: int, certain: bool, alone: bool = False
) -> list[Missing]:
    """What is missing of these sends. ``certain``: they were accepted, so that a fault may have lost it
    (RCV-2). ``alone``: also if nothing of them was seen."""
    ids = (message.id for record in sends for message in record.args["messages"])
    lives = [life for life in map(facts.derive(Lifetimes).get, ids) if life is not None]
    gone, siblings = [life for life in lives if not life.seen], [life for life in lives if life.seen]
    if not applies(facts, requirement) or not (siblings or alone) or len(gone) <= possibly_taken(facts):
        return []
    if may_be_given_up_on(facts, (), since):
        return []
    wiped = _may_be_wiped(facts, since, siblings)
    if certain and wiped:
        return []
    return [Missing(requirement, sends, _ids(gone), _ids(siblings), wiped)]


def _ids(lives: Sequence[Lifetime]) -> tuple[str, ...]:
    return tuple(life.id for life in lives)


def _may_be_wiped(facts: Facts, since: int, siblings: Sequence[Lifetime]) -> bool:
    """Whether a fault may have lost what was accepted from that instant on: of the broker, of a front end, or
    of a partition, if that may have been theirs."""
    places = {one.partition for life in siblings for one in life.appearances}
    return any(
        returned(fault) > since
        and not (fault.op == "partition_down" and places and fault.args["partition"] not in places)
        for fault in facts.disruptions
    )


def possibly_taken(facts: Facts) -> int:
    """How many messages receives of unknown outcome may have deleted, unseen, also after they returned."""
    return sum(
        record.args["max"]
        for record in facts.receives
        if record.outcome == Outcome.UNKNOWN and deletes(record)
    )
