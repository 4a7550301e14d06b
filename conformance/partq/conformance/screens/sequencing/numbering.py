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
from partq.conformance.facts.numbers import ALLOWED, Numbers
from partq.conformance.facts.placements import Placements
from partq.conformance.facts.records import REMOVALS, returned
from partq.conformance.history import Record, time_text
from partq.conformance.screens.protocol import Report, Screen
from partq.conformance.screens.sequencing.gaps import judge_gaps
from partq.model.operations import Outcome
from partq.model.state import COUNTER_BITS

Line = Sequence[Lifetime]
"""The messages of one partition, lowest number first in serial order."""


def check(facts: Facts) -> Report:
    """Judge the numbers and times that the broker showed."""
    return facts.derive(Sequencing).report


class Sequencing:
    """All about one entity's numbers. ``wrong``: the partitions with a finding of SEQ-1, 2, 3, 5 or 6, whose
    numbers can't be relied upon. (On a non-partitioned entity: 0.)"""

    __slots__ = ("facts", "numbers", "report", "shown", "wrong")

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
        shown = self.shown
        self.report.count("SEQ-1", len(shown.numbers) if len(shown.numbers) > 1 else 0)
        seen = self._left_unnumbered() if shown.numbers and shown.unnumbered else None
        if seen is not None:
            detail = f"{seen.delivery.id!r} was shown without a number by {seen.record.op}; others have one"
            title = "A message without a number"
            self.report.find("SEQ-1", "no number", title, (seen.record,), detail, "a number on every message")
        blamed = set()
        for first, other in shown.clashes:
            requirement = self._owner_of_clash(first, other)
            if requirement not in blamed:
                blamed.add(requirement)
                self._find_clash(requirement, first, other)
            self.wrong.update((self.numbers.partition(first), self.numbers.partition(other)))

    def _left_unnumbered(self) -> Observation | None:
        """The first message shown without a number by a kind of operation that shows numbers of others."""
        appearances = (*self.facts.received.values(), *self.facts.peeked.values())
        telling = {one.record.op for seens in appearances for one in seens if one.delivery.seq is not None}
        return next((seen for seen in self.shown.unnumbered if seen.record.op in telling), None)

    def _owner_of_clash(self, first: Observation, other: Observation) -> str:
        numbers, partition = self.numbers, self.numbers.partition(first)
        if partition != numbers.partition(other):
            return "SEQ-2"
        return "SEQ-5" if self._starts_over(partition) else "SEQ-1"

    def _starts_over(self, partition: int) -> bool:
        """Whether, instead of rolling over, the counter stood still at its greatest value (three times or
        more), or began again at its start."""
        counters, mask = self.numbers.counters[partition], self.numbers.mask
        if counters[-1] != mask or counters[0] == 0:
            return False
        bearers = {(other.delivery.id, other.delivery.seq) for _, other in self.shown.clashes}
        clashing = Counter((number or 0) & mask for _, number in bearers)
        return clashing[mask] > 1 or bool(clashing[self.facts.entity.seq_start or 0])

    def _find_clash(self, requirement: str, first: Observation, other: Observation) -> None:
        numbers, a, b = self.numbers, first.delivery, other.delivery
        detail = (
            f"{a.id!r}{numbers.of(numbers.partition(first))} and "
            f"{b.id!r}{numbers.of(numbers.partition(other))} both bear {numbers.say(a.seq)}"
        )
        records = (first.record, other.record)
        self.report.find(
            requirement, "clash", _CLASH_TITLES[requirement], records, detail, ALLOWED[requirement]
        )

    # SEQ-2, and SEQ-5 where a counter runs over into the partition bits.

    def _partition_bits(self) -> None:
        by_top: dict[int, Observation] = {}
        by_partition: dict[int, Observation] = {}
        tops = {number >> COUNTER_BITS for number in self.shown.numbers}
        self.report.count("SEQ-2", len(tops))
        for (top, partition), seen in self.shown.names.items():
            if by_partition.setdefault(partition, seen) is not seen:
                self._find_two_tops(partition, by_partition[partition], seen)
                return
            if by_top.setdefault(top, seen) is not seen:
                self._find_shared_top(top, by_top[top], seen)
                return
        if len(tops) > self.facts.entity.partitions:
            self._find_too_many(sorted(tops))

    def _find_two_tops(self, partition: int, first: Observation, other: Observation) -> None:
        say, low, high = self.numbers.say, *sorted((first.delivery.seq or 0, other.delivery.seq or 0))
        requirement = "SEQ-5" if self._spill(low, high) else "SEQ-2"
        title = (
            "The counter ran over into the partition's bits"
            if requirement == "SEQ-5"
            else "Top bits not constant"
        )
        self.wrong.add(partition)
        detail = (
            f"in partition {partition}, {first.delivery.id!r} bears {say(first.delivery.seq)} and "
            f"{other.delivery.id!r} {say(other.delivery.seq)}"
        )
        records = (first.record, other.record)
        self.report.find(
            requirement, "two values of the top bits", title, records, detail, ALLOWED[requirement]
        )

    def _find_shared_top(self, top: int, first: Observation, other: Observation) -> None:
        partitions = (self.numbers.partition(first), self.numbers.partition(other))
        self.wrong.update(partitions)
        detail = (
            f"{first.delivery.id!r} in partition {partitions[0]} and {other.delivery.id!r} in partition "
            f"{partitions[1]} bear numbers with the same top bits, {top}"
        )
        if not any(f.requirement == "SEQ-2" for f in self.report.findings):
            requirement = "SEQ-5" if any(map(self._ran_over, (first, other))) else "SEQ-2"
            records = (first.record, other.record)
            self.report.find(
                requirement, "clash", _CLASH_TITLES[requirement], records, detail, ALLOWED[requirement]
            )

    def _ran_over(self, seen: Observation) -> bool:
        """Whether it bears the next partition's name and a counter just above zero, though all began high."""
        number, start = seen.delivery.seq or 0, self.facts.entity.seq_start or 0
        next_one = number >> COUNTER_BITS == self.numbers.partition(seen) + 1
        return next_one and number & self.numbers.mask < self.numbers.half <= start

    def _spill(self, low: int, high: int) -> bool:
        """Whether the higher of two numbers lies just beyond the last number of the lower one's partition."""
        top, mask, half = COUNTER_BITS, self.numbers.mask, self.numbers.half
        return (high >> top) - (low >> top) == 1 and high & mask < half <= low & mask

    def _find_too_many(self, tops: list[int]) -> None:
        numbers, say = sorted(self.shown.numbers), self.numbers.say
        spilled = next(((low, high) for low, high in pairwise(numbers) if self._spill(low, high)), None)
        requirement, chosen = ("SEQ-2", (numbers[0], numbers[-1])) if spilled is None else ("SEQ-5", spilled)
        self.wrong.update(tops)
        detail = (
            f"{len(tops)} values of the top bits ({', '.join(map(str, tops[:20]))}) with "
            f"{self.facts.entity.partitions} partitions; e.g. {say(chosen[0])} and {say(chosen[1])}"
        )
        records = tuple(self.shown.numbers[number].record for number in chosen)
        title = "More values of the top bits than partitions"
        self.report.find(requirement, "too many top values", title, records, detail, ALLOWED[requirement])

    # SEQ-6.

    def _stability(self) -> None:
        self.report.count("SEQ-6", self.shown.repeated)
        numbers = self.numbers
        for seen in self.shown.renumbered:
            pair = self._renumbered(seen)
            if pair is not None:
                first, other = pair
                self.wrong.update((numbers.partition(first), numbers.partition(other)))
                detail = (
                    f"{first.delivery.id!r} bore {numbers.say(first.delivery.seq)}, later "
                    f"{numbers.say(other.delivery.seq)}"
                )
                allowed = f"{first.delivery.seq} in every answer"
                records, title = (first.record, other.record), "A message changed its number"
                self.report.find("SEQ-6", "renumbered", title, records, detail, allowed)
            else:
                why = f"message {seen[0].delivery.id!r} bore two numbers, or there were two of it"
                self.report.ambiguous(("SEQ-6", "RCV-6", "RCV-7"), why)

    def _renumbered(self, seen: Sequence[Observation]) -> tuple[Observation, Observation] | None:
        """The last appearance of the old number and the first of a new one; None where these are two copies,
        delivered twice (RCV-6, RCV-7) or peeked side by side."""
        numbered = [one for one in seen if one.delivery.seq is not None]
        old = numbered[0].delivery.seq
        before = [one for one in numbered if one.delivery.seq == old]
        other = next(one for one in numbered if one.delivery.seq != old)
        shown_by = other.ret
        if any(one.record.i == other.record.i or one.call > shown_by for one in before):
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
            may_count = settlement.outcome == Outcome.OK and (txn is None or txn.committed_from is not None)
            if settlement.op in REMOVALS and may_count:
                return settlement.call < returned(by)
        held = seen.held_until
        return by.op == "receive" and seen.ret < by.call and returned(by) < held

    # SEQ-3 and SEQ-7.

    def _order_and_times(self) -> None:
        within = 0
        in_order: list[Line] = []
        for partition, lives in self._placed().items():
            for life in lives:
                if life.times:
                    within += 1
                    if not life.record.call <= life.times[0] <= life.times[-1] <= life.certainly_from:
                        self._outside(life)
            if partition not in self.wrong:
                line = self._line(partition, lives)
                if self._in_order(partition, line):
                    in_order.append(line)
        if self._shows_times():
            self.report.count("SEQ-7", within)
        if not {"SEQ-3", "SEQ-7"} & {f.requirement for f in self.report.findings}:
            for line in in_order:
                self._times_in_order(line)

    def _shows_times(self) -> bool:
        """Whether some instant of the history would be wrong for some message despite the skew (SEQ-7)."""
        records = self.facts.records
        return self.facts.header.skew_ns <= records[-1].call - records[0].call if records else False

    def _placed(self) -> dict[int, list[Lifetime]]:
        """The messages of each partition whose numbers are known."""
        placed: dict[int, list[Lifetime]] = {}
        for life in self.facts.derive(Lifetimes).stored:
            if life.seq is not None and life.partition is not None:
                placed.setdefault(life.partition, []).append(life)
        return placed

    def _line(self, partition: int, lives: list[Lifetime]) -> Line:
        origin, mask = self.numbers.origin(partition), self.numbers.mask
        return sorted(lives, key=lambda life: ((life.seq or 0) - origin) & mask)

    def _outside(self, life: Lifetime) -> None:
        skew = self.facts.header.skew_ns
        times = (life.times[0], life.times[-1])
        at = next(
            (t for t in times if not life.possibly_from - skew <= t <= life.certainly_from + skew), None
        )
        if at is None:
            return
        sent = life.record
        detail = (
            f"{life.id!r}, sent from {time_text(sent.call)} to {time_text(returned(sent))} and "
            f"first seen by {time_text(life.first.ret)}, bears the enqueued time {time_text(at)}"
        )
        since, until = time_text(life.possibly_from - skew), time_text(life.certainly_from + skew)
        allowed = f"a time from {since} to {until} (skew {time_text(skew)})"
        seen = (*self.facts.received.get(life.id, ()), *self.facts.peeked.get(life.id, ()))
        showing = (one.record for one in seen if one.delivery.enqueued_at == at)
        records, title = (sent, next(showing, life.first.record)), "Enqueued outside of its send"
        self.report.find("SEQ-7", "outside of the send", title, records, detail, allowed)

    def _in_order(self, partition: int, line: Line) -> bool:
        """SEQ-3: of two messages, the one certainly accepted earlier has the lower number. Exercised by each
        that is not redelivered and certainly was accepted before the next such one was sent."""
        fresh = [life for life in line if not life.redelivered]
        inverted = self._inversion(fresh)
        if inverted is not None:
            self._inverted(partition, *inverted)
            return False
        if len(fresh) < len(line):
            inverted = self._inversion(line)
            if inverted is not None:
                first, second = (one.id for one in inverted)
                why = (
                    f"{first!r} was accepted before {second!r} was sent, and bears a higher number: out of "
                    f"order (SEQ-3), or changed by an unseen lock (SEQ-6)"
                )
                self.report.ambiguous(("SEQ-3", "SEQ-6"), why)
                return False
        following = [one.certainly_from < two.record.call for one, two in pairwise(fresh)]
        self.report.count("SEQ-3", sum(following))
        return True

    @staticmethod
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

    def _inverted(self, partition: int, first: Lifetime, second: Lifetime) -> None:
        numbers = self.numbers
        requirement = "SEQ-5" if self._fails_to_roll(partition, first.seq or 0, second.seq or 0) else "SEQ-3"
        title = (
            "Numbers against the order of acceptance" if requirement == "SEQ-3" else _CLASH_TITLES["SEQ-5"]
        )
        self.wrong.add(partition)
        detail = (
            f"{first.id!r}{numbers.of(partition)} was accepted by {time_text(first.certainly_from)} and "
            f"bears {numbers.say(first.seq)}; {second.id!r}, sent from "
            f"{time_text(second.possibly_from)} on, bears {numbers.say(second.seq)}"
        )
        records = (first.record, second.record, first.first.record, second.first.record)
        self.report.find(requirement, "order", title, records, detail, ALLOWED[requirement])

    def _fails_to_roll(self, partition: int, first: int, second: int) -> bool:
        """Whether the order of two numbers is wrong because the counter did not roll over to zero: the second
        lies before the roll-over, or far below the greatest counter, which was used."""
        mask, half, counters = self.numbers.mask, self.numbers.half, self.numbers.counters[partition]
        first, second = first & mask, second & mask
        if counters[0] == 0 and counters[-1] == mask:
            return False
        return first < half <= second or (counters[-1] == mask and first - second > len(counters))

    def _times_in_order(self, line: Line) -> None:
        """SEQ-7: along the numbers, enqueued times do not decrease. So a message's is not before any that a
        lower number shows, nor its own send, and not after any that a higher one shows, nor its acceptance.
        Either may be wrong by the skew."""
        skew = 2 * self.facts.header.skew_ns
        after: Lifetime | None = None
        follows: list[Lifetime | None] = []
        for life in reversed(line):
            follows.append(after)
            times = life.times
            if times and (after is None or times[0] < after.times[0]):
                after = life
        before: Lifetime | None = None
        for life, after in zip(line, reversed(follows), strict=True):
            times, low, high = life.times, life.record.call, life.certainly_from
            if after is not None:
                last = after.times[0] + skew
                if low > last or (times and times[-1] > last):
                    self._back_in_time(life, after, skew)
                    return
            if before is not None:
                first = before.times[-1] - skew
                if high < first or (times and times[0] < first):
                    self._back_in_time(before, life, skew)
                    return
            if times and (before is None or times[-1] > before.times[-1]):
                before = life

    def _back_in_time(self, before: Lifetime, after: Lifetime, skew: int) -> None:
        say, id, later = self.numbers.say, before.id, after.id
        detail = (
            f"{id!r} bears {say(before.seq)} and {_when(before)}, {later!r} {say(after.seq)}, which is "
            f"later, and {_when(after)}"
        )
        if before.redelivered or after.redelivered:
            why = f"{detail}: the times are wrong (SEQ-7), or an unseen lock changed a number (SEQ-6)"
            self.report.ambiguous(("SEQ-6", "SEQ-7"), why)
            return
        since = before.times[-1] if before.times else before.possibly_from
        allowed = f"{time_text(since - skew)} or later on {later!r}"
        records, title = (
            (before.first.record, after.first.record),
            "Enqueued times decrease along the numbers",
        )
        self.report.find("SEQ-7", "decreasing", title, records, detail, allowed)


def _when(life: Lifetime) -> str:
    """When it was enqueued, in words, as far as the history shows."""
    sent = f"was sent from {time_text(life.possibly_from)} to {time_text(life.certainly_from)}"
    return f"{sent}, at {' or '.join(map(time_text, life.times))}" if life.times else sent


_CLASH_TITLES: Final = {
    "SEQ-1": "Two messages with one number",
    "SEQ-2": "Two partitions share their top bits",
    "SEQ-5": "The counter does not go on from zero",
}

SCREEN: Final = Screen(
    "sequencing",
    ("SEQ-1", "SEQ-2", "SEQ-3", "SEQ-4", "SEQ-5", "SEQ-6", "SEQ-7"),
    check,
    complete=("SEQ-1",),
    blind_spots=(
        "Only numbers that were shown, by a receive or a peek, are known.",
        "Gaps are judged after a drain only, and explained by any rejected, unknown, rolled back or never "
        "seen message of the partition, or of no known partition. Before the first number shown there is a "
        "gap only where the entity's start is known.",
        "Where the broker names no partitions, the top 16 bits can't be held against them; only their number "
        "is.",
        "The order of sends that overlap in time is not judged; their enqueued times are. Where the number "
        "or the time of a message first seen as redelivered is wrong, SEQ-6 may be the broken rule.",
        "Partitions may be named otherwise than by the top 16 bits, as long as the names tell the same ones "
        "apart, and none is called what its top bits say. Names that renewals show are not looked at.",
        "In a partition whose numbers clash, change or are out of order, gaps and times are not judged.",
        "Messages whose ID is sent more than once are left out of SEQ-3, 6 and 7; scheduled ones too.",
    ),
    needs={
        **{f"SEQ-{n}": ("sequence numbers",) for n in range(1, 7)},
        "SEQ-7": ("sequence numbers", "enqueued times"),
    },
)
