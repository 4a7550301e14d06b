"""Connections that may have ended: a network may fail though nobody made it, and a disconnect may fail.

An operation that answers `connection_lost`, whatever its outcome, says that its client's connection ended
then, or may have. A history is read with a disconnect of unknown outcome beside it. A disconnect or reconnect
that fails leaves open whether the connection is gone: it is read as one of unknown outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Final

from msgspec import structs

from partq.conformance.history.record import Record
from partq.model.operations import CONNECTION_LOST, LINK_LOST, OPS, Outcome

_LINKS: Final = frozenset(name for name, op in OPS.items() if op.link)
_UNSUPPORTED: Final = "unsupported"
_CUTS: Final = frozenset(name for name, op in OPS.items() if op.cuts)


def with_lost_connections(records: Sequence[Record]) -> tuple[Record, ...]:
    """The records, with failed disconnects as such of unknown outcome; and after each that tells of a lost
    connection the disconnect of its client, under its number. Where a fault was under way when it was called,
    that was it."""
    of_links = [r for r in records if r.op in _LINKS or r.error == CONNECTION_LOST]
    if not of_links:
        return tuple(records)
    faults = [record for record in records if record.op in _CUTS]
    told = (record for record in of_links if not record.is_env and record.op not in _LINKS)
    by_itself = {record.i for record in told if not any(_cut(fault, record) for fault in faults)}
    return tuple(one for record in records for one in _told(record, record.i in by_itself))


def _cut(fault: Record, record: Record) -> bool:
    """Whether the fault struck the client, and nothing of the operation can have come before it."""
    meets = "proc" not in OPS[fault.op].args or fault.args.get("proc") == record.proc
    return meets and fault.call <= record.call <= _end(fault)


def _end(record: Record) -> float:
    return inf if record.ret is None else record.ret


def _told(record: Record, by_itself: bool) -> Iterator[Record]:
    yield structs.replace(record, outcome=Outcome.UNKNOWN) if _failed(record) else record
    if by_itself:
        yield structs.replace(record, op=LINK_LOST, args={}, outcome=Outcome.UNKNOWN, messages=())


def _failed(record: Record) -> bool:
    return record.op in _LINKS and record.outcome == Outcome.ERROR and record.error != _UNSUPPORTED
