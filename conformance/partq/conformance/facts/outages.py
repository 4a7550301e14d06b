"""When partitions, and the broker as a whole, were down. A broker that was killed has no partition up."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from partq.conformance.facts.index import Facts, Interval
from partq.conformance.facts.intervals import NEVER, Intervals


class Outages:
    """The faults of one entity. Each question is about the time from ``start`` to ``end``, both included.

    ``none``: the history has no partition fault and no broker kill; then every answer is known.
    """

    def __init__(self, facts: Facts) -> None:
        self.none = not facts.down and not facts.dead
        self._partitions = facts.entity.partitions
        self._dead = facts.dead
        self._down = facts.down
        self._faults: dict[int | None, Intervals] = {}

    def faults(self, partition: int | None) -> Intervals:
        """When that partition, or the whole broker, may have been down. Without a partition: any of them."""
        if self.none:
            return NEVER
        known = self._faults.get(partition)
        if known is None:
            down = self._down
            intervals = chain.from_iterable(down.values()) if partition is None else down.get(partition, ())
            both = chain(intervals, self._dead)
            known = self._faults[partition] = Intervals((interval.start, interval.end) for interval in both)
        return known

    def quiet(self, start: int, end: int) -> bool:
        """Whether everything certainly was up throughout."""
        return not self.faults(None).touching(start, end)

    def maybe_quiet(self, start: int, end: int) -> bool:
        """Whether everything may have been up at some instant: nothing certainly was down throughout."""
        return not self.some_certainly_down(start, end) and not _cover(self._dead, start, end)

    def certainly_up(self, partition: int, start: int, end: int) -> bool:
        """Whether the partition and the broker certainly were up throughout."""
        return not self.faults(partition).touching(start, end)

    def certainly_down(self, partition: int, start: int, end: int) -> bool:
        """Whether the partition, or the broker, certainly was down throughout."""
        return _cover(self._dead, start, end) or _cover(self._down.get(partition, ()), start, end)

    def broker_up(self, start: int, end: int) -> bool:
        """Whether the broker certainly was alive throughout."""
        return not _touch(self._dead, start, end)

    def all_down(self, start: int, end: int) -> bool:
        """Whether no partition was up at any instant."""
        down = sum(_cover(intervals, start, end) for intervals in self._down.values())
        return down >= self._partitions or _cover(self._dead, start, end)

    def some_certainly_up(self, start: int, end: int) -> bool:
        """Whether one and the same partition certainly was up throughout."""
        touched = sum(_touch(intervals, start, end) for intervals in self._down.values())
        return touched < self._partitions and self.broker_up(start, end)

    def some_certainly_down(self, start: int, end: int) -> bool:
        """Whether one and the same partition certainly was down throughout, the broker being alive."""
        return any(_cover(intervals, start, end) for intervals in self._down.values())


def _touch(intervals: Iterable[Interval], start: int, end: int) -> bool:
    """Whether it may have been down at some instant."""
    return any(one.start <= end and start <= one.end for one in intervals)


def _cover(intervals: Iterable[Interval], start: int, end: int) -> bool:
    """Whether it certainly was down all the time; at one instant, either may have come first."""
    return any(one.certain_start < start and end < one.certain_end for one in intervals)
