"""Intervals of time, and sets that change over time: built once, queried for any interval."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Final

from partq.conformance.facts.index import FOREVER


class Intervals:
    """Intervals, queried for the first that touches an instant, in `O(log n)`."""

    __slots__ = ("_ends", "_intervals", "_reach", "_starts")

    def __init__(self, intervals: Iterable[tuple[int, int]]) -> None:
        ordered = self._intervals = sorted(intervals)
        self._starts = [start for start, _ in ordered]
        self._ends = sorted(end for _, end in ordered)
        self._reach = list(accumulate((end for _, end in ordered), max))

    def __bool__(self) -> bool:
        return bool(self._starts)

    def first(self, since: int) -> int:
        """The start of the earliest span that has not ended before ``since``; `FOREVER` if none."""
        at = bisect_left(self._reach, since)
        return self._starts[at] if at < len(self._starts) else FOREVER

    def reach(self, before: int) -> int:
        """The latest end of those that begin before then; -1 if none does."""
        at = bisect_left(self._starts, before)
        return self._reach[at - 1] if at else -1

    def intervals(self) -> Iterable[tuple[int, int]]:
        """All intervals."""
        return self._intervals

    def begun(self, by: int) -> int:
        """How many have begun by then."""
        return bisect_right(self._starts, by)

    def over(self, before: int) -> int:
        """How many had ended before then."""
        return bisect_left(self._ends, before)

    def touching(self, start: int, end: int) -> int:
        """How many overlap ``start`` to ``end``, both included."""
        if not self._starts:
            return 0
        count = bisect_right(self._starts, end) - bisect_left(self._ends, start)
        return count if count > 0 else 0


NEVER: Final = Intervals(())


class Bitsets:
    """Sets of partitions over time, as bits."""

    __slots__ = ("masks", "times")

    def __init__(self, intervals: Iterable[tuple[int, int, int]]) -> None:
        """``intervals``: (first instant, last instant, bit number); those of one bit may overlap."""
        edges: list[tuple[int, int, int]] = []
        for first, last, bit in intervals:
            edges += ((first, bit, 1), (last + 1, bit, -1))
        edges.sort()
        self.times: list[int] = []
        self.masks: list[int] = []
        depth: dict[int, int] = {}
        mask = 0
        for time, bit, step in edges:
            depth[bit] = depth.get(bit, 0) + step
            mask = mask | 1 << bit if depth[bit] else mask & ~(1 << bit)
            if self.times and self.times[-1] == time:
                self.masks[-1] = mask
            else:
                self.times.append(time)
                self.masks.append(mask)

    def over(self, first: int, last: int) -> int:
        """The bits that were in the set at some instant from ``first`` to ``last``."""
        times = self.times
        k = bisect_right(times, first)
        mask = self.masks[k - 1] if k else 0
        while k < len(times) and times[k] <= last:
            mask |= self.masks[k]
            k += 1
        return mask
