"""The numbers and partitions that the broker showed, anomalies among them, noted for the screen that owns
them; and numbers as counters of partitions, in serial order: where each begins and rolls over.

`facts.lifetimes` has the place of a single message.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import chain

from partq.conformance.facts.index import Facts, Observation
from partq.conformance.facts.lifetimes import Lifetimes, in_order
from partq.model.configuration import COUNTER_BITS


class Placements:
    """``numbers``: number -> who bore it first · ``clashes``: two messages of one number · ``repeated``: how
    many messages were shown with a number more than once · ``renumbered``: all appearances of each message
    that had two numbers · ``names``: (top 16 bits, partition the broker named) -> the first such appearance ·
    ``unnumbered``: appearances without a number."""

    def __init__(self, facts: Facts) -> None:
        self.numbers: dict[int, Observation] = {}
        self.clashes: list[tuple[Observation, Observation]] = []
        self.repeated = 0
        self.renumbered: list[Sequence[Observation]] = []
        self.names: dict[tuple[int, int], Observation] = {}
        self.unnumbered: list[Observation] = []
        lives, received, peeked = facts.derive(Lifetimes), facts.received, facts.peeked
        for id in dict.fromkeys(chain(received, peeked)):
            life = lives.get(id)
            if life is not None:
                self._note(life.appearances, True)
            else:
                self._note(in_order(received.get(id, ()), peeked.get(id, ())), False)
        if not facts.profile.partitioned:
            self.names.clear()

    def _note(self, seen: Sequence[Observation], followed: bool) -> None:
        """Add all appearances of one message, in order of calls."""
        numbers, names, first_seq, renumbered = self.numbers, self.names, None, False
        before = len(self.unnumbered)
        for one in seen:
            delivery = one.delivery
            seq = delivery.seq
            if seq is None:
                self.unnumbered.append(one)
                continue
            if first_seq is None:
                first_seq = seq
            elif seq != first_seq:
                renumbered = True
            first = numbers.setdefault(seq, one)
            if first is not one:
                if first.delivery.id != delivery.id:
                    self.clashes.append((first, one))
                if first.delivery.partition == delivery.partition:
                    continue
            if delivery.partition is not None:
                names.setdefault((seq >> COUNTER_BITS, delivery.partition), one)
        if followed and len(seen) > 1:
            self.repeated += len(seen) - (len(self.unnumbered) - before) > 1
            if renumbered:
                self.renumbered.append(seen)


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
