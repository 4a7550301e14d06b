"""Connections that may have ended: a network may fail though nobody made it, and a disconnect may fail.

An operation that answers `connection_lost`, whatever its outcome, says that its client's connection ended
then, or may have. A history is read with a disconnect of unknown outcome beside it. A disconnect or reconnect
that fails leaves open whether the connection is gone: it is read as one of unknown outcome.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import inf
from typing import Final

from msgspec import structs

from partq.conformance.history.record import Record
from partq.model.operations import CONNECTION_LOST, LINK_LOST, OPS, UNAVAILABLE, Outcome

_LINKS: Final = frozenset(name for name, op in OPS.items() if op.link)
_UNSUPPORTED: Final = "unsupported"
_CUTS: Final = frozenset(name for name, op in OPS.items() if op.cuts)
_NOBODY: Final = UNAVAILABLE | {CONNECTION_LOST, _UNSUPPORTED}
"""The errors that no broker needs to answer with."""


def with_lost_connections(records: Sequence[Record]) -> tuple[Record, ...]:
    """The records, with failed disconnects as such of unknown outcome; and after each that tells of a lost
    connection the disconnect of its client, under its number. Where a fault was under way when it was called,
    that was it, unless the broker served a client after the operation and before the fault was over: then it
    may have struck later."""
    of_links = [r for r in records if r.op in _LINKS or r.error == CONNECTION_LOST]
    if not of_links:
        return tuple(records)
    faults = [record for record in records if record.op in _CUTS]
    told = [record for record in of_links if not record.is_env and record.op not in _LINKS]
    served = _Served(records if faults and told else ())
    by_itself = {record.i for record in told if not any(_cut(fault, record, served) for fault in faults)}
    links = {record.i for record in of_links}
    return tuple(
        one
        for record in records
        for one in (_told(record, record.i in by_itself) if record.i in links else (record,))
    )


class _Served:
    """When clients were served: from each instant on, when the first operation had returned that was called
    later and succeeded, or was refused as no outage is a reason to."""

    def __init__(self, records: Sequence[Record]) -> None:
        spans = sorted((r.call, _end(r)) for r in records if _is_served(r))
        self._calls = [call for call, _ in spans]
        self._rets = list(accumulate((ret for _, ret in reversed(spans)), min))[::-1]

    def after(self, instant: float) -> float:
        """When the first operation had returned that was called then or later; never: `inf`."""
        later = bisect_left(self._calls, instant)
        return self._rets[later] if later < len(self._rets) else inf


def _is_served(record: Record) -> bool:
    refused = record.refused and record.error not in _NOBODY
    return not record.is_env and (record.ok or refused)


def _cut(fault: Record, record: Record, served: _Served) -> bool:
    """Whether the fault struck the client, and nothing of the operation can have come before it."""
    meets = "proc" not in OPS[fault.op].args or fault.args.get("proc") == record.proc
    if not meets or not fault.call <= record.call <= _end(fault):
        return False
    next_served = served.after(_end(record))
    return next_served == inf or next_served > _end(fault)


def _end(record: Record) -> float:
    return inf if record.ret is None else record.ret


def _told(record: Record, by_itself: bool) -> Iterator[Record]:
    yield structs.replace(record, outcome=Outcome.UNKNOWN) if _failed(record) else record
    if by_itself:
        yield structs.replace(record, op=LINK_LOST, args={}, outcome=Outcome.UNKNOWN, messages=())


def _failed(record: Record) -> bool:
    return record.op in _LINKS and record.refused and record.error != _UNSUPPORTED
