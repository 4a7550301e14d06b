"""Sequence numbers as counters of partitions, in serial order: where each begins and rolls over.

Shared by `screens.sequencing` and its `gaps`; reached by ``facts.derive(Numbers)``. Nothing here judges.
"""

from __future__ import annotations

from bisect import bisect_left

from partq.conformance.facts.index import Facts, Observation
from partq.conformance.facts.placements import Placements
from partq.model.state import COUNTER_BITS


class Numbers:
    """``counters``: partition (0 where there is only one) -> the counters shown of it, sorted ·
    ``mask``: the greatest counter · ``half``: half of all counters · ``start``: the counter of each
    partition's first message, None where it is not known or the broker does not honour it."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.mask = (1 << facts.profile.counter_bits) - 1
        self.half = (self.mask >> 1) + 1
        self.counters: dict[int, list[int]] = {}
        self._flat = not facts.profile.partitioned
        for number, seen in facts.derive(Placements).numbers.items():
            self.counters.setdefault(self.partition(seen), []).append(number & self.mask)
        for found in self.counters.values():
            found.sort()
        self.start = self._honoured(facts.entity.seq_start)
        self._origins: dict[int, int] = {}

    def _honoured(self, start: int | None) -> int | None:
        if start is None or not any(start <= found[-1] for found in self.counters.values()):
            return None
        mask, half = self.mask, self.half
        ends = (end for found in self.counters.values() for end in (found[0], found[-1]))
        return start if all((end - start) & mask < half for end in ends) else None

    def origin(self, partition: int) -> int:
        """The counter from which the partition is counted: its first message's, or one not after it."""
        known = self._origins.get(partition)
        if known is None:
            known = self._origins[partition] = self._origin(self.counters.get(partition, [0]))
        return known

    def _origin(self, counters: list[int]) -> int:
        if self.start is not None:
            return self.start
        if counters[0] < self.half <= counters[-1]:
            return counters[bisect_left(counters, self.half)]
        return 0

    def partition(self, seen: Observation) -> int:
        """The partition of what was seen, 0 where there is only one."""
        partition = None if self._flat else seen.partition
        return 0 if partition is None else partition

    def say(self, number: int | None) -> str:
        """A number in words."""
        if number is None or self._flat:
            return f"the number {number}"
        return f"the number {number} (top bits {number >> COUNTER_BITS}, counter {number & self.mask})"

    def of(self, partition: int) -> str:
        """The partition in words, where there are several."""
        return "" if self._flat else f" of partition {partition}"
