"""What clients were shown had been sent, and arrives as it was sent (RCV-1). What was shown though its send
was rejected, or had to be, belongs to the rule that demanded that (`screens.attribution`).

A message seen before its transaction was committed is `transactions.effects`' business.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Final

from partq.conformance.facts.index import FOREVER, Facts, Observation, Sent
from partq.conformance.facts.lifetimes import Lifetimes
from partq.conformance.facts.locks import Locks
from partq.conformance.screens.attribution import rejected_by
from partq.conformance.screens.protocol import Report
from partq.model.messages import Delivery, Message
from partq.model.operations import UNAVAILABLE
from partq.model.profiles import Profile

_NEVER_STORED: Final = frozenset({"KEY-3", "KEY-7", "TXN-1"})
"""Rules by which a request must be rejected in any case."""

FIELDS: Final = {
    "body": "body",
    "session_id": "session ID",
    "partition_key": "partition key",
    "properties": "properties",
}
"""A message's fields, and their names in findings."""

_content: Final = attrgetter("body", "session_id", "partition_key")

LONGEST: Final = 40
"""The limit of a value's letters in a finding."""

Unshown = tuple[str, Observation, Sent]
"""A field that was sent and not shown."""


def check_content(facts: Facts, report: Report) -> None:
    """RCV-1 on every message received or peeked."""
    shown, lives = 0, facts.derive(Lifetimes)
    for appearances in (facts.received, facts.peeked):
        unshown: list[Unshown] = []
        for id, seens in appearances.items():
            life = lives.get(id)
            if life is not None:
                unshown += _check_one(facts, report, life.sent, seens)
            elif id in facts.by_id:
                _check_any(facts, report, facts.by_id[id], seens)
            elif not _from_elsewhere(facts, report, id, seens):
                continue
            shown += len(seens)
        if unshown:
            _judge_unshown(report, unshown, [seen for id in lives.by_id for seen in appearances.get(id, ())])
    report.count("RCV-1", shown)
    for life in lives.by_id.values():
        if not life.record.ok and life.seen:
            _check_rejected(facts, report, life.sent, (life.deliveries or life.peeks)[0])


def _from_elsewhere(facts: Facts, report: Report, id: str, seens: list[Observation]) -> bool:
    """A message that no client sent to this entity. Subscriptions and dead-letter queues get theirs from what
    they belong to; where others may have come from is not known. Whether its appearances were judged."""
    origin = [sent for sent in facts.origins.get(id, ()) if not sent.record.refused]
    if origin:
        bodies = {None, *(sent.message.body for sent in origin)}
        for seen in [seen for seen in seens if seen.delivery.body not in bodies][:1]:
            _altered(report, "body", seen, origin[0])
    elif facts.by_id and id not in facts.elsewhere:
        _phantom(report, seens[0], "was never sent")
    else:
        where = "was sent to another entity" if id in facts.elsewhere else "no client sent to any entity"
        why = (
            f"{facts.name or 'the entity'} showed message {id!r}, which {where}: how it came there is unknown"
        )
        report.open.setdefault("RCV-1", why)
        return False
    return True


def _check_one(facts: Facts, report: Report, sent: Sent, seens: list[Observation]) -> list[Unshown]:
    """The appearances of a message that is followed; the fields that they do not show."""
    message, unshown = sent.message, list[Unshown]()
    content = _content(message)
    for seen in seens:
        if seen.ret < sent.record.call:
            _phantom(report, seen, "was shown before its send was called", sent)
        if _content(seen.delivery) == content and message.properties == (seen.delivery.properties or ()):
            continue
        changed = _difference(facts.profile, message, seen.delivery)
        if changed is not None:
            _altered(report, changed, seen, sent)
        if seen.record.op != "receive_deferred":
            given = (field for field in FIELDS if getattr(message, field))
            unshown += ((field, seen, sent) for field in given if not _shows(seen.delivery, field))
    return unshown


def _check_rejected(facts: Facts, report: Report, sent: Sent, seen: Observation) -> None:
    """A message that was seen although its only send was rejected, or of unknown outcome and one that must
    be rejected. Amid an outage ROUTE-5 or ROUTE-8 may be the broken rule, too."""
    record, rule = sent.record, rejected_by(facts, sent)
    if not record.refused and rule not in _NEVER_STORED:
        return
    why = f"was only in a send that answered {record.outcome} {record.error}"
    if rule is not None:
        report.find(rule, "stored", (record, seen.record), f"{seen.delivery.id!r} was shown, which {why}")
    elif record.error not in UNAVAILABLE or not facts.derive(Locks).faults(None).touching(
        record.call, record.ret or FOREVER
    ):
        _phantom(report, seen, why, sent)


def _check_any(facts: Facts, report: Report, sends: list[Sent], seens: list[Observation]) -> None:
    """An ID whose message is not followed: it has to be one of those sent under it."""
    possible = [sent for sent in sends if not sent.record.refused]
    if not possible and not any(rejected_by(facts, sent) for sent in sends):
        _phantom(report, seens[0], "was only in sends that answered error", sends[0])
    for seen in seens if possible else ():
        if all(_difference(facts.profile, sent.message, seen.delivery) for sent in possible):
            _altered(report, "content", seen, possible[0])
            break


def _difference(family: Profile, message: Message, delivery: Delivery) -> str | None:
    """The fields shown otherwise than sent. A field that the broker does not show is no difference."""
    if delivery.body is not None and delivery.body != message.body:
        return "body"
    session, key = delivery.session_id, delivery.partition_key
    if session is not None and session != message.session_id:
        return "session ID"
    # A broker may show the session ID, which is the effective key, as the partition key too (KEY-1).
    if key is not None and key not in (message.partition_key, message.session_id):
        return "partition key"
    return None if family.may_show(delivery, message) else "properties"


def _shows(delivery: Delivery, field: str) -> bool:
    """Whether the appearance shows the field. An empty body is a body."""
    value = getattr(delivery, field)
    return value is not None and (field == "body" or bool(value))


def _judge_unshown(report: Report, unshown: list[Unshown], appearances: list[Observation]) -> None:
    """By one kind of operation: a field was dropped where that kind shows it of other messages, the
    ``appearances``."""
    shown = {field for field in FIELDS if any(_shows(seen.delivery, field) for seen in appearances)}
    for field, seen, sent in unshown:
        if field in shown:
            _altered(report, FIELDS[field], seen, sent)


def _phantom(report: Report, seen: Observation, why: str, sent: Sent | None = None) -> None:
    witness = (seen.record,) if sent is None else (sent.record, seen.record)
    why = f"Message {seen.delivery.id!r}, shown by {seen.record.op} to {seen.record.proc}, {why}."
    report.find("RCV-1", "phantom", witness, why)


def _altered(report: Report, field: str, seen: Observation, sent: Sent) -> None:
    other = "other" if field in ("content", "properties") else "another"
    why = f"Message {seen.delivery.id!r} was shown with {other} {field} than {sent.record.proc} sent"
    how = _how(field, seen.delivery, sent.message)
    report.find("RCV-1", f"altered {field}", (sent.record, seen.record), f"{why}{how}.")


def _how(field: str, shown: Delivery, sent: Message) -> str:
    """What differs, in words; empty where it was sent several times, with several contents."""
    if field == "properties":
        return _of_properties(dict(shown.properties or ()), dict(sent.properties))
    name = next((name for name, words in FIELDS.items() if words == field), None)
    if name is None:
        return ""
    return f": {_quoted(getattr(shown, name))} instead of {_quoted(getattr(sent, name))}"


def _of_properties(shown: Mapping[str, str], sent: Mapping[str, str]) -> str:
    """The first property that differs, those that were sent before those that were not."""
    names = sorted(shown.keys() | sent.keys(), key=lambda name: (name not in sent, name))
    name = next((name for name in names if shown.get(name) != sent.get(name)), None)
    if name is None:
        return ""
    if name not in sent:
        return f": {_quoted(name)} was not sent"
    how = f"{_quoted(shown[name])} instead of {_quoted(sent[name])}" if name in shown else "missing"
    return f": {_quoted(name)} is {how}"


def _quoted(value: str | None) -> str:
    text = "none" if value is None else repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]}…{text[-1]}"
