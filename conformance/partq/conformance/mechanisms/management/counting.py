"""Counts that are certainly wrong (MGT-1), whatever else the broker did: what they leave out was there, as
clients received it later, or what they add never came.

It looks at gets before the first fault and the first transaction, of entities that give IDs and sessions no
meaning. Whether a message that was received before is counted, and all dead letters, it leaves to the judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from partq.conformance.facts.index import FOREVER, Facts, Sent
from partq.conformance.history import Record
from partq.conformance.mechanisms.management.rest import at_rest
from partq.conformance.oracle.roles import CANCELS
from partq.conformance.screens.protocol import Report

_RULE: Final = "MGT-1"


def find_wrong(facts: Facts, report: Report) -> None:
    """Note each get whose active or scheduled count is certainly wrong."""
    gets = facts.derive(at_rest)
    if not gets or facts.entity.duplicate_detection or facts.entity.requires_session:
        return
    unclear = (*facts.disruptions, *facts.begins, *facts.of(CANCELS))
    until = min((one.call for one in unclear), default=FOREVER)
    for get in gets:
        if get.ok and get.end < until:
            sent = [one for sends in facts.by_id.values() for one in sends if one.record.call < get.call]
            if len({one.message.id for one in sent}) == len(sent):
                _too_low(facts, report, get, sent)
                _too_high(facts, report, get, sent)


def _too_low(facts: Facts, report: Report, get: Record, sent: Sequence[Sent]) -> None:
    for name, kind in (("active", False), ("scheduled", True)):
        there = [one for one in sent if _waits(facts, one, get) is kind and _came_later(facts, one, get)]
        if get.args.get(name, len(there)) < len(there):
            detail = f"{name} reads {get.args[name]}, but {len(there)} were there, which came later"
            report.find(_RULE, f"{name} too low", (*(one.record for one in there), get), detail)


def _waits(facts: Facts, one: Sent, get: Record) -> bool | None:
    """Whether the message certainly waits for its time at the get, or (False) is active; None: neither."""
    message, entity = one.message, facts.entity
    if message.ttl is not None or not one.record.ok:
        return None
    if message.scheduled_at is not None:
        return True if message.scheduled_at - facts.header.skew_ns > get.end else None
    worn = get.end - one.record.call >= entity.lock_duration * entity.max_delivery_count
    return None if worn else False


def _came_later(facts: Facts, one: Sent, get: Record) -> bool:
    """Whether it was received after the get, and never before."""
    received = [seen.call for seen in facts.received.get(one.message.id, ())]
    return bool(received) and min(received) > get.end


def _too_high(facts: Facts, report: Report, get: Record, sent: Sequence[Sent]) -> None:
    """Once the entity was found empty, nothing is left that could have been counted."""
    if facts.drained is None or facts.drained < get.end:
        return
    refused = {one.message.id for one in sent if one.record.refused}
    before = (record for record in facts.records if record.deletes and record.call < get.call)
    taken = {one.id for record in before for one in record.messages}
    if any(map(facts.saw, refused)) or any(_seen_after(facts, id, get) for id in taken):
        return
    left = [one for one in sent if one.message.id not in refused | taken]
    scheduled = [one for one in left if one.message.scheduled_at is not None]
    active = [one for one in left if _waits(facts, one, get) is not True]
    for name, known in (("active", active), ("scheduled", scheduled)):
        if get.args.get(name, 0) > len(known):
            detail = f"{name} reads {get.args[name]}, and there were {len(known)} such messages at the most"
            report.find(_RULE, f"{name} too high", (*(one.record for one in known), get), detail)


def _seen_after(facts: Facts, id: str, get: Record) -> bool:
    seen = (*facts.received.get(id, ()), *facts.peeked.get(id, ()))
    return any(one.call > get.call for one in seen)
