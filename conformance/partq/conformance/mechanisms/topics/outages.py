"""A fault of one of a topic's partitions, as a subscription is read with it. Which of its own partitions that
strikes, if any, no source says: so nothing is held against a broker that may come of any.

Each fault may end any lock and any transaction. While it lasts a copy may come as late as the recovery, and
that a look or a drain finds nothing says nothing. What is shown is compared as ever, and after the recovery
all has to be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import structs

from partq.conformance.facts.index import FOREVER
from partq.conformance.history import Record
from partq.conformance.oracle.roles import BATCHES, COMMITS, DOWN, LOOKS, UP
from partq.conformance.oracle.uses import Records
from partq.model.messages import Message
from partq.model.operations import DRAINED, UNAVAILABLE, Outcome

GETS: Final = "get"
_NOTHING: Final = LOOKS | {DRAINED, GETS}
"""What says that nothing is there, or how much."""

_Span = tuple[int, int]


def with_any_struck(records: Records) -> Records:
    """The records, with what a partition's fault may do to any partition of a subscription."""
    spans = [*_spans(records)]
    return tuple(one for record in records for one in _read(record, records, spans)) if spans else records


def _spans(records: Sequence[Record]) -> Iterator[_Span]:
    """From when to when each fault may have lasted."""
    for n, record in enumerate(records):
        if record.op == DOWN and not record.refused:
            name = record.args["partition"]
            repairs = (r for r in records[n:] if r.op == UP and r.args["partition"] == name)
            ends = (r.end for r in repairs if r.ok)
            yield record.call, next(ends, FOREVER)


def _read(record: Record, records: Records, spans: Sequence[_Span]) -> Iterator[Record]:
    if record.op == DOWN:
        if not record.refused:
            yield structs.replace(record, args={})
            yield from _tried(record, records, spans)
        return
    amid = [end for begin, end in spans if begin <= record.end and record.call <= end]
    if record.op == UP or (amid and record.op in _NOTHING and not record.messages):
        return
    if amid and record.ok and ("messages" in record.args or record.op in COMMITS):
        record = structs.replace(record, ret=_later(record, max(amid)))
    yield record


def _later(record: Record, end: int) -> int | None:
    return None if end == FOREVER or record.ret is None else max(record.ret, end)


def _tried(fault: Record, records: Records, spans: Sequence[_Span]) -> Iterator[Record]:
    """A send that failed, of as many messages without a key as may have been tried in vain: each may have
    used up a number."""
    end = next(end for begin, end in spans if begin == fault.call)
    sent = (record for record in records if fault.call <= record.end and record.call <= end)
    tried = sum(len(record.sent) for record in sent)
    if tried:
        lost = tuple(Message(f"tried in vain {fault.i} {n}") for n in range(tried))
        yield in_vain(fault, lost)


def in_vain(record: Record, lost: tuple[Message, ...]) -> Record:
    """A send of these messages that failed at that time, so that each may have used up a number."""
    args, why = {"messages": lost}, sorted(UNAVAILABLE)[0]
    return structs.replace(
        record, op=BATCHES, args=args, outcome=Outcome.ERROR, error=why, messages=(), proc=""
    )
