"""RCV-1: what clients were shown had been sent, and arrives as it was sent.

A rejected send that was stored all the same belongs to the rule that demanded the rejection
(`screens.attribution`); a message seen before its transaction was committed, to TXN-5. Neither is judged
here.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Final, NamedTuple

from partq.conformance.facts.index import FOREVER, Facts, Observation, Sent
from partq.conformance.facts.lifetimes import Lifetimes
from partq.conformance.facts.locks import Locks
from partq.conformance.screens.attribution import rejected_by
from partq.conformance.screens.protocol import Report
from partq.model.messages import Delivery, Message
from partq.model.operations import UNAVAILABLE, Outcome
from partq.model.profiles import Profile

_REQUIREMENT: Final = "RCV-1"
_SENT_ONLY: Final = "only messages that were sent to the entity before, with an outcome other than error"
_UNCHANGED: Final = "the message with the body and properties that it was sent with"


def check_content(facts: Facts, report: Report) -> None:
    """RCV-1 on every message received or peeked."""
    shown, lives = 0, facts.derive(Lifetimes)
    for appearances in (facts.received, facts.peeked):
        unshown: list[_Unshown] = []
        for id, seens in appearances.items():
            life = lives.get(id)
            if life is not None:
                shown += len(seens)
                _check_one(facts, report, life.sent, seens, unshown)
            elif id in facts.by_id:
                shown += len(seens)
                _check_any(facts, report, facts.by_id[id], seens)
            else:
                shown += _from_elsewhere(facts, report, id, seens)
        if unshown:
            _judge_unshown(report, unshown, [seen for id in lives.by_id for seen in appearances.get(id, ())])
    report.count(_REQUIREMENT, shown)


def _from_elsewhere(facts: Facts, report: Report, id: str, seens: list[Observation]) -> int:
    """A message that nobody sent to this entity. Subscriptions and dead-letter queues get theirs from what
    they belong to; where others may have come from is not known. How many appearances were judged."""
    origin = [sent for sent in facts.origins.get(id, ()) if sent.record.outcome != Outcome.ERROR]
    if origin:
        for seen in seens:
            if all(seen.delivery.body not in (None, sent.message.body) for sent in origin):
                _altered(report, "body", seen, origin[0])
                break
        return len(seens)
    if facts.by_id and id not in facts.elsewhere:
        _phantom(report, seens[0], "was never sent")
        return len(seens)
    where = "was sent to another entity" if id in facts.elsewhere else "nobody sent, nor anything, to it"
    report.open.setdefault(
        _REQUIREMENT,
        f"{facts.name or 'the entity'} showed message {id!r}, which {where}: how it came there is open",
    )
    return 0


def _check_one(
    facts: Facts, report: Report, sent: Sent, seens: list[Observation], unshown: list[_Unshown]
) -> None:
    message, called = sent.message, sent.record.call
    content = _content(message)
    if sent.record.outcome == Outcome.ERROR and rejected_by(facts, sent) is None:
        _rejected(facts, report, sent, seens[0])
    for seen in seens:
        if seen.ret < called:
            _phantom(report, seen, "was shown before its send was called", sent)
        if _content(seen.delivery) == content and message.properties == (seen.delivery.properties or ()):
            continue
        changed = _difference(facts.profile, message, seen.delivery)
        if changed is not None:
            _altered(report, changed, seen, sent)
        if seen.record.op != "receive_deferred":
            given = (field for field in _FIELDS if getattr(message, field))
            unshown += (_Unshown(field, seen, sent) for field in given if not _shows(seen.delivery, field))


_FIELDS: Final = {
    "body": "body",
    "session_id": "session ID",
    "partition_key": "partition key",
    "properties": "properties",
}
"""What a message holds: fields and their names in findings."""

_content: Final = attrgetter("body", "session_id", "partition_key")


def _rejected(facts: Facts, report: Report, sent: Sent, seen: Observation) -> None:
    """A send that answered error, though no rule demanded it, and its message."""
    record = sent.record
    outage = facts.derive(Locks).faults(None).touching(record.call, record.ret or FOREVER)
    if record.error in UNAVAILABLE and outage:
        report.ambiguous(
            (_REQUIREMENT, "ROUTE-5", "ROUTE-8"),
            f"message {sent.message.id!r} was shown though its send answered error {record.error}: it was "
            f"sent amid an outage, so that ROUTE-5 or ROUTE-8 may be the broken rule, else it is RCV-1",
        )
        return
    _phantom(report, seen, f"was only in a send that answered error {record.error}", sent)


def _check_any(facts: Facts, report: Report, sends: list[Sent], seens: list[Observation]) -> None:
    """An ID whose message is not followed: it has to be one of those sent under it."""
    possible = [sent for sent in sends if sent.record.outcome != Outcome.ERROR]
    if not possible and not any(rejected_by(facts, sent) for sent in sends):
        _phantom(report, seens[0], "was only in sends that answered error", sends[0])
    for seen in seens if possible else ():
        if all(_difference(facts.profile, sent.message, seen.delivery) for sent in possible):
            _altered(report, "content", seen, possible[0])
            break


def _difference(family: Profile, message: Message, delivery: Delivery) -> str | None:
    """What was shown otherwise than sent. What the broker does not show is no difference."""
    if delivery.body is not None and delivery.body != message.body:
        return "body"
    session, key = delivery.session_id, delivery.partition_key
    if session is not None and session != message.session_id:
        return "session ID"
    # A broker may show the session ID, which is the effective key, as the partition key too (KEY-1).
    if key is not None and key not in (message.partition_key, message.session_id):
        return "partition key"
    if not family.may_show(delivery, message):
        return "properties"
    return None


class _Unshown(NamedTuple):
    """A field that was sent and not shown."""

    field: str
    seen: Observation
    sent: Sent


def _shows(delivery: Delivery, field: str) -> bool:
    """Whether it shows something there. An empty body is a body."""
    value = getattr(delivery, field)
    return value is not None and (field == "body" or bool(value))


def _judge_unshown(report: Report, unshown: list[_Unshown], appearances: list[Observation]) -> None:
    """By one kind of operation: a field was dropped where that kind shows it of other messages, the
    ``appearances``."""
    shown = {field for field in _FIELDS if any(_shows(seen.delivery, field) for seen in appearances)}
    for field, seen, sent in unshown:
        if field in shown:
            _altered(report, _FIELDS[field], seen, sent)


def _phantom(report: Report, seen: Observation, why: str, sent: Sent | None = None) -> None:
    report.find(
        _REQUIREMENT,
        "phantom",
        "A client was shown a message that nobody sent",
        (seen.record,) if sent is None else (sent.record, seen.record),
        f"Message {seen.delivery.id!r}, shown by {seen.record.op} to {seen.record.proc}, {why}.",
        _SENT_ONLY,
    )


def _altered(report: Report, field: str, seen: Observation, sent: Sent) -> None:
    other = "other" if field in ("content", "properties") else "another"
    report.find(
        _REQUIREMENT,
        f"altered {field}",
        f"A message arrived with {other} {field}",
        (sent.record, seen.record),
        f"Message {seen.delivery.id!r} was shown with {other} {field} than {sent.record.proc} sent.",
        _UNCHANGED,
    )
