"""The faults and unknown receives of a long history, indexed by time: they may have struck the messages of an
excerpt, or taken them unseen. An excerpt so costs as much as it holds.

Nothing here knows which messages an excerpt is about."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

from partq.conformance.history import Record
from partq.conformance.oracle.roles import CUTS, DELIVERS
from partq.model.configuration import FOREVER
from partq.model.operations import UNDOES

_BEGUN: Final = frozenset(UNDOES.values())


class _Span(NamedTuple):
    """A fault or repair, which matters to messages that were there between ``start`` and ``end``, ns. ``n``:
    its index. ``where``: the name of its partition; None: the whole broker, or a client's connection."""

    start: int
    end: int
    n: int
    where: int | None


class Faults:
    """The faults and repairs of a history. An excerpt leaves out a fault that began after it, with its
    repair, and one that was over before it."""

    def __init__(self, records: Sequence[Record]) -> None:
        spans = sorted(_spans(records))
        self._endless = [span for span in spans if span.end == FOREVER]
        self._ending = [span for span in spans if span.end != FOREVER]
        self._starts = [span.start for span in self._ending]
        self._latest = list(accumulate((span.end for span in self._ending), max))

    def between(self, first: int, last: int) -> Iterator[tuple[int, int | None]]:
        """The place and the partition of each that matters to what was there in between."""
        yield from ((span.n, span.where) for span in self._endless if span.start <= last)
        for k in range(bisect_right(self._starts, last) - 1, -1, -1):
            if self._latest[k] < first:
                return
            span = self._ending[k]
            if span.end >= first:
                yield span.n, span.where


def _spans(records: Sequence[Record]) -> Iterator[_Span]:
    """Each fault until its repair, and each repair from its fault on."""
    begun: dict[Any, int] = {}
    open_: dict[Any, list[_Span]] = {}
    for n, record in enumerate(records):
        if not (record.op in _BEGUN or record.op in UNDOES or record.op in CUTS):
            continue
        where, end = record.args.get("partition"), record.end
        fault = UNDOES.get(record.op, record.op), where
        if record.op in _BEGUN:
            begun[fault] = record.call
            open_.setdefault(fault, []).append(_Span(record.call, end, n, where))
        elif record.op in UNDOES:
            done = record.ok
            yield _Span(begun.get(fault, 0), end if done else FOREVER, n, where)
            for span in open_.pop(fault, ()) if done else ():
                yield span._replace(end=max(span.end, end))
        else:
            yield _Span(record.call, end, n, where)
    yield from (span._replace(end=FOREVER) for spans in open_.values() for span in spans)


class Takings:
    """The receives of unknown outcome, by mode."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._modes: list[list[tuple[int, int]]] = []
        for mode in (True, False):
            self._modes.append(
                sorted(
                    (record.call, n)
                    for n, record in enumerate(records)
                    if record.op in DELIVERS and record.unknown and record.deletes is mode
                )
            )

    def after(self, instant: int) -> int:
        """How many were called after that instant."""
        return sum(len(calls) - bisect_right(calls, (instant, FOREVER)) for calls in self._modes)

    def between(self, first: int, gone: int, most: int) -> Iterator[int]:
        """The places of those called until the messages were gone; of those from before the first instant so
        many of each mode at the most, the last ones: what an earlier one took, a later one may have."""
        for calls in self._modes:
            low, high = bisect_left(calls, (first, -1)), bisect_right(calls, (gone, FOREVER))
            yield from (n for _, n in calls[max(0, low - most) : high])
