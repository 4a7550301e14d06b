"""What is scheduled in a topic, as a subscription is read with it: the message waits in the topic, which no
client can look at, and is copied once its time has come, by the rules of that time.

How long that takes no source bounds: so a copy that never comes is held against nobody, unless another
subscription shows one, and this one is found empty after that. Of what a
cancel names that was not refused none need come, and none may if it was in time for certain. What a scheduled
message used up of its topic's numbers a subscription may leave out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from msgspec import structs

from partq.conformance.facts.index import FOREVER
from partq.conformance.history import Record
from partq.conformance.history.entities import ELSEWHERE, is_dead_letters
from partq.conformance.mechanisms.topics.outages import GETS, in_vain
from partq.conformance.oracle.roles import BATCHES, CANCELS, DOWN, SCHEDULES
from partq.conformance.oracle.uses import Records
from partq.model.configuration import Config
from partq.model.messages import Message, as_active, message_id
from partq.model.operations import DRAINED, Outcome
from partq.model.topics.norm import is_in_time

DUE: Final = "copied from"
"""The argument of a copy's record that says from which time on it may come, ns."""

_COUNTED: Final = "scheduled"
"""What a subscription counts of that which waits in its topic no source says."""

_GONE: Final = "cancelled in time"
"""The one that says whether it may not come at all."""


def with_activations(records: Records, skew: int) -> Records:
    """The records, in which what is scheduled is sent when it is copied. Times may differ by ``skew``, ns."""
    if not any(scheduled_by(record) for record in records):
        return tuple(record for record in records if record.op != CANCELS)
    cancelled = _cancelled(records)
    calm = not any(record.op == DOWN for record in records)
    emptied = [r.call for r in records if calm and r.op == DRAINED and not is_dead_letters(r.entity)]
    found = (one for record in records for one in _read(record, cancelled, skew, emptied))
    return tuple(sorted(found, key=lambda record: record.call))


def scheduled_by(record: Record) -> list[Message]:
    """The messages that the record schedules."""
    return [one for one in record.sent if one.scheduled_at is not None]


def _cancelled(records: Sequence[Record]) -> Mapping[str, int]:
    """The IDs of the messages that a cancel may have been about which was not refused, with when they were
    cancelled for certain."""
    names = {shown.seq: shown.id for r in records if r.op == SCHEDULES for shown in r.messages}
    asked = [r for r in records if r.op == CANCELS and not r.refused]
    found = {one.id: FOREVER for record in records for one in scheduled_by(record)}
    if all(record.args["seq"] in names for record in asked):
        found = {names[record.args["seq"]]: FOREVER for record in asked}
    done = (record for record in asked if record.ok and record.args["seq"] in names)
    return found | {names[record.args["seq"]]: record.end for record in done}


def _read(
    record: Record, cancelled: Mapping[str, int], skew: int, emptied: Sequence[int]
) -> Iterator[Record]:
    later = scheduled_by(record)
    if not later:
        if record.op == GETS:
            yield structs.replace(record, args={k: v for k, v in record.args.items() if k != _COUNTED})
        elif record.op != CANCELS:
            yield record
        return
    args = {name: value for name, value in record.args.items() if name != "messages"}
    plain = tuple(replace(one, scheduled_at=None) for one in record.sent)
    if record.refused:
        yield structs.replace(record, op=BATCHES, args={**args, "messages": plain})
        return
    at_once = tuple(one for one in record.sent if one.scheduled_at is None)
    if at_once:
        yield structs.replace(record, op=BATCHES, args={**args, "messages": at_once})
    used = tuple(replace(one, id=f"number of {one.id}", scheduled_at=None) for one in later)
    yield in_vain(record, used)
    for one in later:
        maybe = record.unknown or one.id in cancelled
        due = one.scheduled_at or 0
        sighted, _ = record.args.get(ELSEWHERE, {}).get(one.id, (FOREVER, ()))
        by = None if maybe else next((time - 1 for time in emptied if time > sighted), None)
        yield structs.replace(
            record,
            op="send",
            args={
                "messages": (replace(one, scheduled_at=None),),
                DUE: due,
                _GONE: cancelled.get(one.id, FOREVER) < due - skew,
            },
            call=max(record.call, due - skew),
            ret=by,
            outcome=Outcome.UNKNOWN if maybe else Outcome.OK,
            messages=(),
        )


def too_early(cfg: Config, records: Records) -> tuple[str, int, str] | None:
    """The first copy that is shown before its time, or though it was cancelled before then: the rule, the
    record, and why."""
    gone = {message_id(m.id) for r in records if r.args.get(_GONE) for m in r.sent}
    due = {message_id(m.id): r.args[DUE] for r in records if DUE in r.args for m in r.sent}
    for record, shown in ((r, shown) for r in records for shown in r.messages):
        id = message_id(as_active(shown.id))
        if id in gone and cfg.forbids("SCH-3"):
            return "SCH-3", record.i, f"{id!r} is shown, though it was cancelled before its time"
        for time, how in ((record.end, "shown"), (shown.enqueued_at, "shown as enqueued")):
            if id in due and time is not None and not is_in_time(cfg, due[id], time):
                return "SCH-1", record.i, f"{id!r} is {how} before its time"
    return None
