"""When partitions, and the broker as a whole, were down: questions about stretches of time.

Shared by the checkers; reached by ``facts.derive(Outages)``. A broker that was killed has no partition
up. Nothing here judges.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from partq.conformance.facts import FOREVER, Facts, Span
from partq.conformance.history import Record


class Outages:
    """The faults of one entity. Each question is about the time from ``start`` to ``end``, both included.

    ``none``: the history has no partition fault and no broker kill; then every answer is known.
    """

    __slots__ = ("_all", "_dead", "_ends", "_latest", "_of", "_partitions", "_repairs", "_starts", "none")

    def __init__(self, facts: Facts) -> None:
        self.none = not facts.down and not facts.dead
        self._partitions = facts.entity.partitions
        self._dead = _Spans(facts.dead)
        self._of = {partition: _Spans(spans) for partition, spans in facts.down.items()}
        self._all = sorted(span for spans in (*facts.down.values(), facts.dead) for span in spans)
        self._starts = [span.start for span in self._all]
        self._ends = sorted(span.end for span in self._all)
        self._repairs = sorted(span.sure_end for span in self._all)
        self._latest: list[int] = []
        latest = -1
        for span in self._all:
            latest = max(latest, span.end)
            self._latest.append(latest)

    def quiet(self, start: int, end: int) -> bool:
        """Whether everything surely was up throughout."""
        before = bisect_right(self._starts, end)
        return before == 0 or self._latest[before - 1] < start

    def between_repairs(self, time: int) -> tuple[int, int]:
        """From when to when nothing was brought back: the end of the last repair before that instant (-1:
        there was none) and the beginning of the next."""
        last, following = bisect_left(self._ends, time), bisect_left(self._repairs, time)
        until = self._repairs[following] if following < len(self._repairs) else FOREVER
        return self._ends[last - 1] if last else -1, until

    def surely_up(self, partition: int, start: int, end: int) -> bool:
        """Whether the partition and the broker surely were up throughout."""
        spans = self._of.get(partition)
        return not self._dead.touch(start, end) and (spans is None or not spans.touch(start, end))

    def surely_down(self, partition: int, start: int, end: int) -> bool:
        """Whether the partition, or the broker, surely was down throughout."""
        spans = self._of.get(partition)
        return self._dead.cover(start, end) or (spans is not None and spans.cover(start, end))

    def broker_up(self, start: int, end: int) -> bool:
        """Whether the broker surely was alive throughout."""
        return not self._dead.touch(start, end)

    def all_down(self, start: int, end: int) -> bool:
        """Whether no partition was up at any instant."""
        if self._dead.cover(start, end):
            return True
        covered = sum(spans.cover(start, end) for spans in self._of.values())
        return covered >= self._partitions

    def some_surely_up(self, start: int, end: int) -> bool:
        """Whether one and the same partition surely was up throughout."""
        touched = sum(spans.touch(start, end) for spans in self._of.values())
        return touched < self._partitions and not self._dead.touch(start, end)

    def some_surely_down(self, start: int, end: int) -> bool:
        """Whether one and the same partition surely was down throughout, the broker being alive."""
        return any(spans.cover(start, end) for spans in self._of.values())


class _Spans:
    """Disjoint spans in order of time."""

    __slots__ = ("_spans", "_starts")

    def __init__(self, spans: list[Span]) -> None:
        self._spans = spans
        self._starts = [span.start for span in spans]

    def touch(self, start: int, end: int) -> bool:
        """Whether it may have been down at some instant."""
        before = bisect_right(self._starts, end)
        return before > 0 and self._spans[before - 1].end >= start

    def cover(self, start: int, end: int) -> bool:
        """Whether it surely was down all the time."""
        before = bisect_right(self._starts, start)
        if before == 0:
            return False
        span = self._spans[before - 1]
        return span.sure_start <= start and end <= span.sure_end


def returned(record: Record) -> int:
    """When the operation returned; `FOREVER` if it never did."""
    return FOREVER if record.ret is None else record.ret
