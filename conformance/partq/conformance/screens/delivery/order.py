"""The order of first deliveries: by number within a partition (RCV-3), free across partitions (RCV-4), and by
sends within a key where the broker shows no numbers (RCV-12).

A message overtakes an older one where its receive returned before the older one's lock can have begun.
What may have been locked unseen is given the benefit: a front end's cache or a receive of unknown outcome
held it, and a fault ended that lock without a trace. Numbers that contradict the order of sends are SEQ-3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter, itemgetter

from msgspec import Struct

from partq.conformance.facts.index import FOREVER, Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.locks import Intervals, Locks, UnseenLocks
from partq.conformance.facts.records import out_of_order, returned
from partq.conformance.screens.protocol import Report
from partq.model.operations import Outcome


class FirstDelivery(Struct, frozen=True, eq=False, gc=False):
    """A message's first delivery. ``place``: its number; the call of its send where there are no numbers."""

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
        """RCV-3, RCV-4 and the order within keys (RCV-12)."""
        numbered: dict[int | None, list[FirstDelivery]] = {}
        keyed: dict[str, list[FirstDelivery]] = {}
        flat = not self.facts.profile.partitioned
        across, previous_called, previous_partition = 0, -1, None
        for life in self.facts.derive(Lifetimes).delivered:
            seens, sent = life.deliveries, life.record
            seen, key = seens[0], life.sent.key
            if len(seens) > 1 and not _certainly_first(seens):
                continue
            delivery = seen.delivery
            if delivery.delivery_count or delivery.redelivered:
                continue
            partition = None if flat else seen.partition
            if delivery.seq is not None and (flat or partition is not None):
                group = numbered.get(partition)
                if group is None:
                    group = numbered[partition] = []
                group.append(FirstDelivery(delivery.seq & self.mask, life, seen))
            elif key is not None:
                keyed.setdefault(key, []).append(FirstDelivery(sent.call, life, seen))
            if partition != previous_partition:
                across += sent.ret is not None and sent.ret < previous_called
                previous_partition = partition
            previous_called = sent.call
        if not flat:
            self.report.count("RCV-4", across)
        self._within(numbered, keyed)
        if flat and None in numbered and self.facts.drained is None:
            self._over_undelivered(numbered[None])

    def _within(
        self, numbered: dict[int | None, list[FirstDelivery]], keyed: dict[str, list[FirstDelivery]]
    ) -> None:
        """The order in each partition, and where there are no numbers within each key."""
        for partition, group in numbered.items():
            if len(group) > 1:
                self._by_number(partition, group)
        for key, group in keyed.items():
            if len(group) > 1:
                self._by_send(key, group)

    def _over_undelivered(self, group: list[FirstDelivery]) -> None:
        """Whether one was delivered though an older one was there, and is never delivered at all."""
        if self.shadows or any(record.outcome == Outcome.UNKNOWN for record in self.facts.receives):
            return
        waiting = (
            life
            for life in self.facts.derive(Lifetimes).by_id.values()
            if not life.deliveries and life.accepted < FOREVER and "txn" not in life.record.args
        )
        older = min(waiting, key=_accepted_at, default=None)
        newer = (
            None if older is None else next((f for f in group if f.life.record.call > older.accepted), None)
        )
        if older is not None and newer is not None:
            self.report.ambiguous(
                ("RCV-3", "RCV-2"),
                f"message {newer.life.id!r} was delivered, {older.id!r}, sent before, never: "
                "out of order (RCV-3), or lost (RCV-2)",
            )

    def _by_number(self, partition: int | None, group: list[FirstDelivery]) -> None:
        """RCV-3 in one partition: a sweep from the lowest number up."""
        in_order = self._sorted(group)
        self.report.count("RCV-3", self._distinct(pairwise(in_order)))
        pairs = list(self._overtaken(in_order, self._upsets(partition))) if _suspicious(in_order) else []
        if not pairs or out_of_order(first.life.record for first in in_order):  # SEQ-3
            return
        for older, newer in pairs:
            if not self._possibly_uncounted(older):
                where = _name(partition)
                self._report("RCV-3", "first deliveries", older, newer, f"has the lower number in {where}")
            else:
                self.report.ambiguous(
                    ("RCV-3", "RCV-9"),
                    f"message {newer.life.id!r} overtook message {older.life.id!r}: out "
                    f"of order (RCV-3), or the older one was locked unseen, and that was not counted (RCV-9)",
                )

    def _distinct(self, neighbours: Iterable[tuple[FirstDelivery, FirstDelivery]]) -> int:
        """Of how many, the older one first, the newer one was there when the older one was received, and
        certainly came later: the other way round it would have been found. With too much skew, none."""
        count = 0
        for older, newer in neighbours:
            if older.seen.ret < newer.seen.began and _accepted(newer) < older.seen.call:
                count += not (self._free(older) or self._free(newer))
        return count

    def _possibly_uncounted(self, older: FirstDelivery) -> bool:
        """Whether a lock that nobody saw had the time to run out before the one that the delivery shows."""
        shown = older.seen.delivery.locked_until is not None
        waited = (older.seen.began if shown else older.seen.ret) - older.life.possibly_from
        return self.shadows and waited >= self.facts.entity.lock_duration

    def _sorted(self, group: list[FirstDelivery]) -> list[FirstDelivery]:
        """By number, in the serial order that survives the roll-over. Numbers borne twice are left out."""
        origin, mask = group[0].place - self.half, self.mask
        if len({first.place for first in group}) < len(group):
            bearers = Counter(first.place for first in group)
            group = [first for first in group if bearers[first.place] == 1]
        return sorted(group, key=lambda first: (first.place - origin) & mask)

    def _upsets(self, partition: int | None) -> Intervals | None:
        if not self.shadows:
            return None
        return self.locks.upsets(partition) or None

    def _overtaken(
        self, in_order: Iterable[FirstDelivery], upsets: Intervals | None
    ) -> Iterable[tuple[FirstDelivery, FirstDelivery]]:
        """Pairs (older, newer) of which the newer one certainly went first, with no upset in between."""
        latest: dict[int, FirstDelivery] = {}
        for first in in_order:
            called = first.seen.call
            older = latest.get(upsets.over(called) if upsets else 0)
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

    def _by_send(self, key: str, group: list[FirstDelivery]) -> None:
        """RCV-12: a flat entity keeps the order of a key, whatever is known of partitions and numbers."""
        in_order = sorted(group, key=attrgetter("place"))
        in_turn = (pair for pair in pairwise(in_order) if _accepted(pair[0]) < pair[1].place)
        self.report.count("RCV-12", self._distinct(in_turn))
        waiting = sorted(((_accepted(first), n) for n, first in enumerate(group)), key=itemgetter(0))
        older: FirstDelivery | None = None
        at = 0
        for newer in in_order:
            while at < len(waiting) and waiting[at][0] < newer.place:
                candidate = group[waiting[at][1]]
                if not self._free(candidate) and (older is None or candidate.seen.began > older.seen.began):
                    older = candidate
                at += 1
            if older is not None and newer.seen.ret < older.seen.began and not self._upset(older, newer):
                self._report(
                    "RCV-12", "order of a key", older, newer, f"was sent before, with the same key {key!r}"
                )

    def _upset(self, older: FirstDelivery, newer: FirstDelivery) -> bool:
        upsets = self._upsets(None)
        return bool(upsets and upsets.touching(newer.seen.call, older.seen.ret))

    def _report(
        self, requirement: str, cause: str, older: FirstDelivery, newer: FirstDelivery, why: str
    ) -> None:
        before, after = older.life.id, newer.life.id
        self.report.find(
            requirement,
            cause,
            "A newer message was delivered before an older one",
            (older.life.record, newer.life.record, newer.seen.record, older.seen.record),
            f"Message {after!r} was first delivered to {newer.seen.record.proc} before anybody can have "
            f"locked message {before!r}, which {why}.",
            f"message {before!r} first, or none",
        )


def _certainly_first(seens: Sequence[Observation]) -> bool:
    """Whether the first delivery was over before any other began."""
    return seens[0].ret < seens[1].call


def _suspicious(in_order: Iterable[FirstDelivery]) -> bool:
    """Whether one may have overtaken another; nothing needs a closer look otherwise."""
    latest = -1
    for first in in_order:
        if first.seen.ret < latest:
            return True
        if first.seen.began > latest:
            latest = first.seen.began
    return False


def _accepted_at(life: Lifetime) -> int:
    return life.accepted


def _accepted(first: FirstDelivery) -> int:
    return returned(first.life.record)


def _name(partition: int | None) -> str:
    return "the entity" if partition is None else f"partition {partition}"
