"""What is scheduled in a topic, as a subscription is read with it: the message waits in the topic, which no
client can look at, and is copied once its time has come, by the rules of that time.

How long that takes no source bounds: so a copy that never comes is held against nobody. A cancel that was not
refused may have been in time, or not: of what it names no copy need come. What a scheduled message used up of
its topic's numbers a subscription may leave out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from msgspec import structs

from partq.conformance.facts.records import returned
from partq.conformance.history import Record
from partq.conformance.oracle.roles import BATCHES, CANCELS, SCHEDULES
from partq.conformance.oracle.uses import Records
from partq.model.configuration import Config
from partq.model.messages import Message, as_active, message_id
from partq.model.operations import UNAVAILABLE, Outcome
from partq.model.topics.norm import is_in_time

DUE: Final = "due"
"""The argument of a copy's record that says from which time on it may come, ns."""


def with_activations(records: Records, skew: int) -> Records:
    """The records, in which what is scheduled is sent when it is copied. Times may differ by ``skew``, ns."""
    if not any(_scheduled(record) for record in records):
        return tuple(record for record in records if record.op != CANCELS)
    cancelled = _cancelled(records)
    found = (one for record in records for one in _read(record, cancelled, skew))
    return tuple(sorted(found, key=lambda record: record.call))


def _scheduled(record: Record) -> list[Message]:
    return [one for one in record.args.get("messages", ()) if one.scheduled_at is not None]


def _cancelled(records: Sequence[Record]) -> frozenset[str]:
    """The IDs of the messages that a cancel may have been about which was not refused."""
    names = {shown.seq: shown.id for r in records if r.op == SCHEDULES for shown in r.messages}
    asked = [r.args["seq"] for r in records if r.op == CANCELS and r.outcome != Outcome.ERROR]
    if any(seq not in names for seq in asked):
        return frozenset(one.id for record in records for one in _scheduled(record))
    return frozenset(names[seq] for seq in asked)


def _read(record: Record, cancelled: frozenset[str], skew: int) -> Iterator[Record]:
    later = _scheduled(record)
    if not later:
        if record.op != CANCELS:
            yield record
        return
    args = {name: value for name, value in record.args.items() if name != "messages"}
    plain = tuple(replace(one, scheduled_at=None) for one in record.args["messages"])
    if record.outcome == Outcome.ERROR:
        yield structs.replace(record, op=BATCHES, args={**args, "messages": plain})
        return
    at_once = tuple(one for one in record.args["messages"] if one.scheduled_at is None)
    if at_once:
        yield structs.replace(record, op=BATCHES, args={**args, "messages": at_once})
    used = tuple(replace(one, id=f"number of {one.id}", scheduled_at=None) for one in later)
    why = sorted(UNAVAILABLE)[0]
    yield structs.replace(
        record, op=BATCHES, args={"messages": used}, outcome=Outcome.ERROR, error=why, messages=(), proc=""
    )
    for one in later:
        maybe = record.outcome == Outcome.UNKNOWN or one.id in cancelled
        due = one.scheduled_at or 0
        yield structs.replace(
            record,
            op="send",
            args={"messages": (replace(one, scheduled_at=None),), DUE: due},
            call=max(record.call, due - skew),
            ret=None,
            outcome=Outcome.UNKNOWN if maybe else Outcome.OK,
            messages=(),
        )


def too_early(cfg: Config, records: Records) -> tuple[str, int, str] | None:
    """The first copy that is shown before its time: the rule, the record, and why."""
    due = {message_id(m.id): r.args[DUE] for r in records if DUE in r.args for m in r.args["messages"]}
    for record, shown in ((r, shown) for r in records for shown in r.messages):
        id = message_id(as_active(shown.id))
        for time, how in ((returned(record), "shown"), (shown.enqueued_at, "shown as enqueued")):
            if id in due and time is not None and not is_in_time(cfg, due[id], time):
                return "SCH-1", record.i, f"{id!r} is {how} before its time"
    return None
