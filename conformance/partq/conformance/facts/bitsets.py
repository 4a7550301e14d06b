"""Sets that change over time, as bits: built once, queried for any interval."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable


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
