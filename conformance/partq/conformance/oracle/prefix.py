"""The shortest prefix of a history that is rejected, for histories whose program can't be run again."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import structs

from partq.conformance.history import History, Record
from partq.model.operations import CONNECTION_LOST, Outcome


def prefix(history: History, instant: int) -> History:
    """The history as of that instant, without later calls; operations under way are of unknown outcome."""
    records = (_until(record, instant) for record in history.records if record.call <= instant)
    return History(history.header, tuple(records))


def _until(record: Record, instant: int) -> Record:
    if record.ret is None or record.ret <= instant:
        return record
    error = record.error if record.error == CONNECTION_LOST else None  # it may have ended by that instant
    return structs.replace(record, ret=None, outcome=Outcome.UNKNOWN, error=error, messages=())


def shortest_rejected(history: History, is_rejected: Callable[[History], bool]) -> History:
    """The shortest rejected prefix, by bisection: a violation stays one, whatever comes later. The history
    itself has to be rejected."""
    instants = sorted({record.ret for record in history.records if record.ret is not None})
    low, high = 0, len(instants)
    shortest = history
    while low < high:
        middle = (low + high) // 2
        candidate = prefix(history, instants[middle])
        if is_rejected(candidate):
            shortest, high = candidate, middle
        else:
            low = middle + 1
    return shortest
