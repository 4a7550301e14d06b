"""When partitions, and the broker as a whole, were down: queries about intervals.

Shared by the screens; reached by ``facts.derive(Outages)``. A broker that was killed has no partition
up. Nothing here judges.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, chain

from partq.conformance.facts.index import Facts, Interval


class Outages:
    """The faults of one entity. Each question is about the time from ``start`` to ``end``, both included.

    ``none``: the history has no partition fault and no broker kill; then every answer is known.
    """

    def __init__(self, facts: Facts) -> None:
        self.none = not facts.down and not facts.dead
        self._partitions = facts.entity.partitions
        self._dead = _Downtimes(facts.dead)
        self._of = {partition: _Downtimes(intervals) for partition, intervals in facts.down.items()}
        every = sorted(chain.from_iterable((*facts.down.values(), facts.dead)))
        self._starts = [interval.start for interval in every]
        self._latest = list(accumulate((interval.end for interval in every), max))

    def quiet(self, start: int, end: int) -> bool:
        """Whether everything certainly was up throughout."""
        before = bisect_right(self._starts, end)
        return before == 0 or self._latest[before - 1] < start

    def maybe_quiet(self, start: int, end: int) -> bool:
        """Whether everything may have been up at some instant: nothing certainly was down throughout."""
        return not self.some_certainly_down(start, end) and not self._dead.cover(start, end)

    def certainly_up(self, partition: int, start: int, end: int) -> bool:
        """Whether the partition and the broker certainly were up throughout."""
        intervals = self._of.get(partition)
        return not self._dead.touch(start, end) and (intervals is None or not intervals.touch(start, end))

    def certainly_down(self, partition: int, start: int, end: int) -> bool:
        """Whether the partition, or the broker, certainly was down throughout."""
        intervals = self._of.get(partition)
        return self._dead.cover(start, end) or (intervals is not None and intervals.cover(start, end))

    def broker_up(self, start: int, end: int) -> bool:
        """Whether the broker certainly was alive throughout."""
        return not self._dead.touch(start, end)

    def all_down(self, start: int, end: int) -> bool:
        """Whether no partition was up at any instant."""
        if self._dead.cover(start, end):
            return True
        covered = sum(intervals.cover(start, end) for intervals in self._of.values())
        return covered >= self._partitions

    def some_certainly_up(self, start: int, end: int) -> bool:
        """Whether one and the same partition certainly was up throughout."""
        touched = sum(intervals.touch(start, end) for intervals in self._of.values())
        return touched < self._partitions and not self._dead.touch(start, end)

    def some_certainly_down(self, start: int, end: int) -> bool:
        """Whether one and the same partition certainly was down throughout, the broker being alive."""
        return any(intervals.cover(start, end) for intervals in self._of.values())


class _Downtimes:
    """Disjoint spans in order of time."""

    def __init__(self, intervals: list[Interval]) -> None:
        self._intervals = intervals
        self._starts = [interval.start for interval in intervals]

    def touch(self, start: int, end: int) -> bool:
        """Whether it may have been down at some instant."""
        before = bisect_right(self._starts, end)
        return before > 0 and self._intervals[before - 1].end >= start

    def cover(self, start: int, end: int) -> bool:
        """Whether it certainly was down all the time."""
        before = bisect_right(self._starts, start)
        if before == 0:
            return False
        interval = self._intervals[before - 1]
        return interval.certain_start < start and end < interval.certain_end  # at one instant: either first
