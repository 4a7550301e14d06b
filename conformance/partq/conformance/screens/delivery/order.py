"""First deliveries, in order of their numbers within a partition (RCV-3), in any across partitions (RCV-4).

A message overtakes an older one where its receive returned before the older one's lock can have begun.
An unseen lock excuses: a front end's cache, or a receive of unknown outcome, may have held a message, and a
fault ended that lock without a trace. Numbers that contradict the order of sends are SEQ-3.
Where the order is that of sends, it is `ordering`'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from partq.conformance.facts.index import FOREVER, Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.locks import Intervals, Locks, UnseenLocks
from partq.conformance.facts.records import out_of_order, returned
from partq.conformance.screens.protocol import Report


class FirstDelivery(Struct, frozen=True, eq=False, gc=False):
    """A message's first delivery, and its number's place."""

    place: int
    life: Lifetime
    seen: Observation


class Order:
    """The check of one entity's first deliveries; `check` once."""

    def __init__(self, facts: Facts, locks: Locks, report: Report) -> None:
        self.facts = facts
        self.locks = locks
        self.report = report
        # Somebody may hold a message whom no delivery shows.
        self.unknown = next(iter(facts.derive(UnseenLocks).uncertain), FOREVER)
        self.shadows = facts.profile.caching_front_ends or self.unknown < FOREVER
        bits = facts.profile.counter_bits
        self.half, self.mask = 1 << (bits - 1), (1 << bits) - 1

    def check(self) -> None:
        """RCV-3 and RCV-4."""
        groups: dict[int | None, list[FirstDelivery]] = {}
        flat = not self.facts.profile.partitioned
        across, previous_called, previous_partition = 0, -1, None
        for life in self.facts.derive(Lifetimes).delivered:
            seens, sent = life.deliveries, life.record
            seen = seens[0]
            delivery = seen.delivery
            if (
                (len(seens) > 1 and seen.ret >= seens[1].call)
                or delivery.delivery_count
                or delivery.redelivered
            ):
                continue  # not certainly the first
            partition = None if flat else seen.partition
            if delivery.seq is not None and (flat or partition is not None):
                groups.setdefault(partition, []).append(FirstDelivery(delivery.seq & self.mask, life, seen))
            if partition != previous_partition:
                across += returned(sent) < previous_called
                previous_partition = partition
            previous_called = sent.call
        if not flat:
            self.report.count("RCV-4", across)
        for partition, group in groups.items():
            if len(group) > 1:
                self._judge(partition, group)

    def _judge(self, partition: int | None, group: list[FirstDelivery]) -> None:
        """RCV-3 in one partition: a sweep from the lowest number up. What a lock that nobody saw, and that
        was not counted (RCV-9), explains as well is left to the judge."""
        in_order = self._sorted(group)
        self.report.count("RCV-3", self._distinct(pairwise(in_order)))
        pairs = list(self._overtaken(in_order, self._upsets(partition))) if _suspicious(in_order) else []
        if not pairs or out_of_order(first.life.record for first in in_order):  # SEQ-3
            return
        for older, newer in pairs:
            if not self._possibly_uncounted(older):
                witness = (older.life.record, newer.life.record, newer.seen.record, older.seen.record)
                why = f"{newer.life.id!r} was first delivered before anybody can have locked "
                why += f"{older.life.id!r}, which has the lower number."
                self.report.find("RCV-3", "first deliveries", witness, why)

    def _distinct(self, neighbours: Iterable[tuple[FirstDelivery, FirstDelivery]]) -> int:
        """Of how many, the older one first, the newer one was there when the older one was received, and
        certainly came later: the other way round it would have been found. With too much skew, none."""
        count = 0
        for older, newer in neighbours:
            if older.seen.ret < newer.seen.began and returned(newer.life.record) < older.seen.call:
                count += not (self._free(older) or self._free(newer))
        return count

    def _possibly_uncounted(self, older: FirstDelivery) -> bool:
        """Whether a lock that nobody saw had the time to run out before the one that the delivery shows."""
        shown = older.seen.delivery.locked_until is not None
        waited = (older.seen.began if shown else older.seen.ret) - older.life.possibly_from
        return self.shadows and waited >= self.facts.entity.lock_duration

    def _sorted(self, group: list[FirstDelivery]) -> list[FirstDelivery]:
        """Sort by number, in the serial order that survives the roll-over. Repeated numbers are left out."""
        origin, mask = group[0].place - self.half, self.mask
        if len({first.place for first in group}) < len(group):
            bearers = Counter(first.place for first in group)
            group = [first for first in group if bearers[first.place] == 1]
        return sorted(group, key=lambda first: (first.place - origin) & mask)

    def _upsets(self, partition: int | None) -> Intervals | None:
        return self.locks.upsets(partition) or None if self.shadows else None

    def _overtaken(
        self, in_order: Iterable[FirstDelivery], upsets: Intervals | None
    ) -> Iterator[tuple[FirstDelivery, FirstDelivery]]:
        """Pairs (older, newer) of which the newer one certainly went first, with no upset in between."""
        latest: dict[int, FirstDelivery] = {}
        for first in in_order:
            older = latest.get(upsets.over(first.seen.call) if upsets else 0)
            if older is not None and first.seen.ret < older.seen.began:
                yield older, first
            if not self._free(first):
                epoch = upsets.begun(first.seen.ret) if upsets else 0
                known = latest.get(epoch)
                if known is None or first.seen.began > known.seen.began:
                    latest[epoch] = first

    def _free(self, first: FirstDelivery) -> bool:
        """Whether others may always go before it: it was possibly not visible, or locked unseen. The lock of
        a receive of unknown outcome may end, uncounted, at any time after a fault."""
        if "txn" in first.life.record.args:
            return True
        if self.shadows and first.seen.delivery.delivery_count is None:
            return True
        if self.unknown > first.seen.ret:
            return False
        upsets = self.locks.upsets(first.seen.partition)
        return upsets.touching(first.life.record.call, first.seen.ret) > 0


def _suspicious(in_order: Sequence[FirstDelivery]) -> bool:
    """Whether one may have overtaken another: a quick test before the full one."""
    latest = -1
    for first in in_order:
        if first.seen.ret < latest:
            return True
        latest = max(latest, first.seen.began)
    return False
