"""Sequence numbers and enqueued times: SEQ-1 to 7.

Numbers are compared serially (docs/rules/sequencing.md), so that order survives the roll-over. What goes
wrong exactly where a counter rolls over is SEQ-5; a gap, a clash, a wrong order elsewhere is SEQ-4, 1, 3. A
clash between two partitions means that they share their top bits: SEQ-2. One message with two numbers is
SEQ-6, unless it was delivered as two (RCV-6, RCV-7). Gaps are judged in `gaps.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from partq.conformance.facts.index import Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.numbers import Numbers, Placements
from partq.conformance.facts.records import REMOVALS
from partq.conformance.history import Record, time_text
from partq.conformance.screens.protocol import Report, Screen
from partq.conformance.screens.sequencing.gaps import judge_gaps
from partq.model.configuration import COUNTER_BITS

Line = Sequence[Lifetime]
"""The messages of one partition, lowest number first in serial order."""


def check(facts: Facts) -> Report:
    """Judge the numbers and times that the broker showed."""
    return facts.derive(Sequencing).report


class Sequencing:
    """All about one entity's numbers. ``wrong``: the partitions with a finding of SEQ-1, 2, 3, 5 or 6, whose
    numbers can't be relied upon. (On a non-partitioned entity: 0.)"""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.report = Report()
        self.wrong: set[int] = set()
        if not facts.profile.shows_seq:
            return
        self.shown = facts.derive(Placements)
        self.numbers = facts.derive(Numbers)
        self._uniqueness()
        if facts.profile.partitioned:
            self._partition_bits()
        self._stability()
        self._order_and_times()
        if facts.drained is not None and "SEQ-3" not in {f.requirement for f in self.report.findings}:
            judge_gaps(facts, self.report, self.wrong)

    # SEQ-1, and SEQ-5 where the counter stands still or starts over instead of rolling over.

    def _uniqueness(self) -> None:
        shown, numbers = self.shown, self.numbers
        self.report.count("SEQ-1", len(shown.numbers) if len(shown.numbers) > 1 else 0)
        for first, other in shown.clashes:
            own, its = numbers.partition(first), numbers.partition(other)
            rule = "SEQ-2" if own != its else "SEQ-5" if self._starts_over(own) else "SEQ-1"
            if not {own, its} <= self.wrong:
                why = (
                    f"{first.delivery.id!r}{numbers.of(own)} and {other.delivery.id!r}{numbers.of(its)} both "
                )
                why += f"bear {numbers.say(first.delivery.seq)}"
                self.report.find(rule, "clash", (first.record, other.record), why)
            self.wrong |= {own, its}

    def _starts_over(self, partition: int) -> bool:
        """Whether, instead of rolling over, the counter stood still at its greatest value (three times or
        more), or began again at its start."""
        counters, mask = self.numbers.counters[partition], self.numbers.mask
        if counters[-1] != mask or counters[0] == 0:
            return False
        bearers = {(other.delivery.id, other.delivery.seq) for _, other in self.shown.clashes}
        clashing = Counter((number or 0) & mask for _, number in bearers)
        return clashing[mask] > 1 or bool(clashing[self.facts.entity.seq_start or 0])

    # SEQ-2, and SEQ-5 where a counter runs over into the partition bits.

    def _partition_bits(self) -> None:
        tops: dict[int, Observation] = {}
        partitions: dict[int, Observation] = {}
        self.report.count("SEQ-2", len({number >> COUNTER_BITS for number in self.shown.numbers}))
        for (top, partition), seen in self.shown.names.items():
            first = partitions.setdefault(partition, seen)
            shared = tops.setdefault(top, seen)
            if first is not seen or shared is not seen:
                other = shared if first is seen else first
                self._find_top_bits(other, seen)
                return

    def _find_top_bits(self, first: Observation, other: Observation) -> None:
        """Two values of the top bits in one partition, or one in two."""
        numbers = self.numbers
        own, its = numbers.partition(first), numbers.partition(other)
        low, high = sorted((first.delivery.seq or 0, other.delivery.seq or 0))
        if own != its and self.wrong >= {own, its}:
            return
        mask, half = numbers.mask, numbers.half
        next_one = (high >> COUNTER_BITS) - (low >> COUNTER_BITS) == 1
        spilled = next_one and high & mask < half <= low & mask
        if own != its:
            spilled = any(map(self._ran_over, (first, other)))
        self.wrong |= {own, its}
        why = f"{first.delivery.id!r}{numbers.of(own)} bears {numbers.say(first.delivery.seq)} and "
        why += f"{other.delivery.id!r}{numbers.of(its)} {numbers.say(other.delivery.seq)}"
        cause = "two values of the top bits" if own == its else "clash"
        self.report.find("SEQ-5" if spilled else "SEQ-2", cause, (first.record, other.record), why)

    def _ran_over(self, seen: Observation) -> bool:
        """Whether it bears the next partition's name and a counter just above zero, though all began high."""
        number, start = seen.delivery.seq or 0, self.facts.entity.seq_start or 0
        next_one = number >> COUNTER_BITS == self.numbers.partition(seen) + 1
        return next_one and number & self.numbers.mask < self.numbers.half <= start

    # SEQ-6.

    def _stability(self) -> None:
        self.report.count("SEQ-6", self.shown.repeated)
        numbers = self.numbers
        for seen in self.shown.renumbered:
            pair = self._renumbered(seen)
            if pair is not None:
                first, other = pair
                self.wrong |= {numbers.partition(first), numbers.partition(other)}
                why = f"{first.delivery.id!r} bore {numbers.say(first.delivery.seq)}, later "
                why += numbers.say(other.delivery.seq)
                self.report.find("SEQ-6", "renumbered", (first.record, other.record), why)

    def _renumbered(self, seen: Sequence[Observation]) -> tuple[Observation, Observation] | None:
        """The last appearance of the old number and the first of a new one; None where these are two copies,
        delivered twice (RCV-6, RCV-7) or peeked side by side."""
        numbered = [one for one in seen if one.delivery.seq is not None]
        old = numbered[0].delivery.seq
        before = [one for one in numbered if one.delivery.seq == old]
        other = next(one for one in numbered if one.delivery.seq != old)
        if any(one.record.i == other.record.i or one.call > other.ret for one in before):
            return None
        return None if any(self._owned(one, other.record) for one in before) else (before[-1], other)

    def _owned(self, seen: Observation, by: Record) -> bool:
        """Whether the message was gone, or certainly locked, when that record showed it again."""
        if seen.record.op != "receive":
            return False
        if seen.delivery.lock is None:
            return True
        for settlement in seen.settlements:
            txn = self.facts.txns.get(settlement.args.get("txn", ""))
            may_count = settlement.ok and (txn is None or txn.committed_from is not None)
            if settlement.op in REMOVALS and may_count:
                return settlement.call < by.end
        return by.op == "receive" and seen.ret < by.call and by.end < seen.held_until

    # SEQ-3 and SEQ-7.

    def _order_and_times(self) -> None:
        within = 0
        for partition, lives in self.facts.derive(Lifetimes).placed.items():
            for life in lives:
                if life.times:
                    within += 1
                    if not life.record.call <= life.times[0] <= life.times[-1] <= life.certainly_from:
                        self._outside(life)
            if partition not in self.wrong:
                origin, mask = self.numbers.origin(partition), self.numbers.mask
                key = {life.id: ((life.seq or 0) - origin) & mask for life in lives}
                self._in_order(partition, sorted(lives, key=lambda life: key[life.id]))
        records = self.facts.records
        if records and self.facts.header.skew_ns <= records[-1].call - records[0].call:
            self.report.count("SEQ-7", within)  # else no instant of the history would be wrong

    def _outside(self, life: Lifetime) -> None:
        """SEQ-7: enqueued outside of its send, whatever the skew."""
        skew = self.facts.header.skew_ns
        since, until = life.possibly_from - skew, life.certainly_from + skew
        at = next((t for t in (life.times[0], life.times[-1]) if not since <= t <= until), None)
        if at is not None:
            why = f"{life.id!r}, sent and first seen from {time_text(since)} to {time_text(until)}, bears "
            why += f"the enqueued time {time_text(at)}"
            showing = next(one.record for one in life.appearances if one.delivery.enqueued_at == at)
            self.report.find("SEQ-7", "outside of the send", (life.record, showing), why)

    def _in_order(self, partition: int, line: Line) -> None:
        """SEQ-3: of two messages, the one certainly accepted earlier has the lower number. Exercised by each
        that is not redelivered and certainly was accepted before the next such one was sent."""
        fresh = [life for life in line if not life.redelivered]
        inverted = _inversion(fresh)
        if inverted is not None:
            self._inverted(partition, *inverted)
        elif len(fresh) == len(line) or _inversion(line) is None:
            following = [one.certainly_from < two.record.call for one, two in pairwise(fresh)]
            self.report.count("SEQ-3", sum(following))

    def _inverted(self, partition: int, first: Lifetime, second: Lifetime) -> None:
        numbers = self.numbers
        rule = "SEQ-5" if self._fails_to_roll(partition, first.seq or 0, second.seq or 0) else "SEQ-3"
        self.wrong.add(partition)
        accepted, sent = time_text(first.certainly_from), time_text(second.possibly_from)
        why = f"{first.id!r}{numbers.of(partition)} was accepted by {accepted} and bears "
        why += f"{numbers.say(first.seq)}; {second.id!r}, sent from {sent} on, bears "
        records = (first.record, second.record, first.first.record, second.first.record)
        self.report.find(rule, "order", records, why + numbers.say(second.seq))

    def _fails_to_roll(self, partition: int, first: int, second: int) -> bool:
        """Whether the order of two numbers is wrong because the counter did not roll over to zero: the second
        lies before the roll-over, or far below the greatest counter, which was used."""
        mask, half, counters = self.numbers.mask, self.numbers.half, self.numbers.counters[partition]
        first, second = first & mask, second & mask
        if counters[0] == 0 and counters[-1] == mask:
            return False
        return first < half <= second or (counters[-1] == mask and first - second > len(counters))


def _inversion(line: Line) -> tuple[Lifetime, Lifetime] | None:
    """Of messages by number, one that certainly was accepted before one with a lower number was sent, and
    that one."""
    soonest: Lifetime | None = None
    for life in reversed(line):
        if soonest is not None and soonest.certainly_from < life.record.call:
            return soonest, life
        if soonest is None or life.certainly_from < soonest.certainly_from:
            soonest = life
    return None


SCREEN: Final = Screen(
    "sequencing",
    ("SEQ-1", "SEQ-2", "SEQ-3", "SEQ-4", "SEQ-5", "SEQ-6", "SEQ-7"),
    check,
    complete=("SEQ-1",),
    blind_spots=(
        "Only numbers that were shown, by a receive or a peek, are known; that some are not is free.",
        "Gaps are judged after a drain only, and explained by any rejected, unknown, rolled back or never "
        "seen message of the partition, or of no known partition. Before the first number shown there is a "
        "gap only where the entity's start is known.",
        "Where the broker names no partitions, the top 16 bits can't be held against them.",
        "The order of sends that overlap in time is not judged, nor enqueued times along the numbers. Where "
        "the number of a message first seen as redelivered is wrong, SEQ-6 may be the broken rule.",
        "Partitions may be named otherwise than by the top 16 bits, as long as the names tell the same ones "
        "apart, and none is called what its top bits say. Names that renewals show are not looked at.",
        "In a partition whose numbers clash, change or are out of order, gaps are not judged.",
        "Messages whose ID is sent more than once are left out of SEQ-3, 6 and 7; scheduled ones too.",
    ),
    needs={
        **{f"SEQ-{n}": ("sequence numbers",) for n in range(1, 7)},
        "SEQ-7": ("sequence numbers", "enqueued times"),
    },
)
