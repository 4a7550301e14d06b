"""First deliveries in order: of numbers within a partition (RCV-3), in any across partitions (RCV-4); for
`delivery.turns`, of sends.

A message overtakes an older one where its receive returned before the older one's lock can have begun.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import NamedTuple

from partq.conformance.facts.index import FOREVER, Facts, Observation
from partq.conformance.facts.intervals import NEVER
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes, was_delivered
from partq.conformance.facts.locks import Locks, UnseenLocks
from partq.conformance.facts.records import out_of_order
from partq.conformance.screens.protocol import Report


class First(NamedTuple):
    """A message and its first delivery. It precedes those whose ``sent`` is later than its ``accepted``.

    ``sent``: when its send was called; ``accepted``: when it certainly was accepted; `FOREVER`: never
    certainly, or only with a transaction. For RCV-3 both are its number."""

    life: Lifetime
    seen: Observation
    sent: int
    accepted: int


def find_inversions(
    report: Report, rule: str, group: list[First], unseen: int, within: Callable[[First], Hashable]
) -> None:
    """For each message that came too late the last-sent one that came before it, in another answer or, of
    those that are alike ``within`` one, in the same."""
    for before, late in _inversions(group, unseen, within):
        other = repr(before.life.id)
        by_number = f"has a lower number than {other}, and was"
        how = by_number if rule == "RCV-3" else f"was accepted before {other} was sent, and"
        why = f"{late.life.id!r} {how} first delivered after it."
        records = (late.life.record, before.life.record, before.seen.record, late.seen.record)
        report.find(rule, "first deliveries", records, why)


def _inversions(
    group: list[First], unseen: int, within: Callable[[First], Hashable]
) -> Iterator[tuple[First, First]]:
    known = sorted((first for first in group if first.seen.ret < unseen), key=attrgetter("seen.ret"))
    returns = [first.seen.ret for first in known]
    latest = list(accumulate(known, _sent_later))
    answers: dict[Hashable, list[First]] = {}
    for first in known:
        at = bisect_left(returns, first.seen.began)
        if at and _overtook(latest[at - 1], first):
            yield latest[at - 1], first
        if (alike := within(first)) is not None:
            answers.setdefault((first.seen.record.i, alike), []).append(first)
    for together in answers.values():
        if len(together) > 1:
            places = {shown.id: n for n, shown in enumerate(together[0].seen.record.messages)}
            together.sort(key=lambda first: places[first.life.id])
            pairs = zip(accumulate(together, _sent_later), together[1:], strict=False)
            yield from ((before, first) for before, first in pairs if _overtook(before, first))


def _sent_later(a: First, b: First) -> First:
    return b if b.sent > a.sent else a


def _overtook(before: First, late: First) -> bool:
    """Whether the later one should have come first; not where it was delivered before, unseen."""
    return late.accepted < before.sent and not was_delivered(late.seen)


class _Shadows:
    """Locks that nobody saw: a front end's cache, or a receive of unknown outcome, may have held a message,
    and a fault ended that lock without a trace. ``unknown``: when the first such receive was called."""

    def __init__(self, facts: Facts) -> None:
        self.unknown = next(iter(facts.derive(UnseenLocks).uncertain), FOREVER)
        self.possible = facts.profile.caching_front_ends or self.unknown < FOREVER
        self.duration = facts.entity.lock_duration
        self.upsets = facts.derive(Locks).upsets

    def free(self, first: First) -> bool:
        """Whether others may always go before it: it was possibly not visible, or locked unseen. The lock of
        a receive of unknown outcome may end, uncounted, at any time after a fault."""
        record, seen = first.life.record, first.seen
        if "txn" in record.args or (self.possible and seen.delivery.delivery_count is None):
            return True
        return self.unknown <= seen.ret and self.upsets(seen.partition).touching(record.call, seen.ret) > 0

    def uncounted(self, first: First) -> bool:
        """Whether a lock that was not counted (RCV-9) had the time to run out before the one shown."""
        shown = first.seen.delivery.locked_until is not None
        waited = (first.seen.began if shown else first.seen.ret) - first.life.possibly_from
        return self.possible and waited >= self.duration


def check_numbers(facts: Facts, report: Report) -> None:
    """Group what certainly was delivered for the first time by partitions; RCV-4 is exercised where they take
    turns in another order than their messages were sent."""
    groups: dict[int | None, list[First]] = {}
    flat, mask = not facts.profile.partitioned, (1 << facts.profile.counter_bits) - 1
    across, previous_called, previous_partition = 0, -1, None
    for life in facts.derive(Lifetimes).delivered:
        seens, seen, delivery = life.deliveries, life.deliveries[0], life.deliveries[0].delivery
        again = len(seens) > 1 and seen.ret >= seens[1].call
        if again or was_delivered(seen):
            continue
        partition = None if flat else seen.partition
        if delivery.seq is not None and (flat or partition is not None):
            first = First(life, seen, delivery.seq & mask, delivery.seq & mask)
            groups.setdefault(partition, []).append(first)
        if partition != previous_partition:
            across += life.record.end < previous_called
            previous_partition = partition
        previous_called = life.record.call
    report.count("RCV-4", 0 if flat else across)
    shadows = _Shadows(facts)
    for partition, group in groups.items():
        if len(group) > 1:
            _judge_numbers(report, _by_number(group, mask), shadows, partition)


def _by_number(group: list[First], mask: int) -> list[First]:
    """Sort by number, in the serial order that survives the roll-over. Repeated numbers are left out."""
    origin, bearers = group[0].sent - (mask + 1) // 2, Counter(first.sent for first in group)
    alone = (first for first in group if bearers[first.sent] == 1)
    return sorted(alone, key=lambda first: (first.sent - origin) & mask)


def _judge_numbers(report: Report, group: list[First], shadows: _Shadows, partition: int | None) -> None:
    """RCV-3 in one partition, exercised by neighbours that would be found the other way round. No message
    overtakes where a fault came between; numbers that contradict the order of sends are SEQ-3."""
    apart = ((a, b) for a, b in pairwise(group) if a.seen.ret < b.seen.began)
    there = ((a, b) for a, b in apart if b.life.record.end < a.seen.call)
    report.count("RCV-3", sum(not (shadows.free(a) or shadows.free(b)) for a, b in there))
    latest = accumulate((first.seen.began for first in group), max)
    suspicious = any(first.seen.ret < began for first, began in zip(group, latest, strict=True))
    if not suspicious or out_of_order(first.life.record for first in group):
        return
    parts: dict[int, list[First]] = {}
    upsets = shadows.upsets(partition) if shadows.possible else NEVER
    for place, first in enumerate(group):
        epoch = upsets.over(first.seen.call)
        excused = shadows.free(first) or shadows.uncounted(first) or upsets.begun(first.seen.ret) != epoch
        turn = first._replace(sent=place, accepted=FOREVER if excused else place)
        parts.setdefault(epoch, []).append(turn)
    for part in parts.values():
        find_inversions(report, "RCV-3", part, FOREVER, lambda _: None)
