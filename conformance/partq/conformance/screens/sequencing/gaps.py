"""Numbers left out (SEQ-4), and roll-overs that skip or come too soon (SEQ-5), judged after a drain.

A number may have been used up by a message that was rejected, of unknown outcome, rolled back, or accepted
and never seen; or by the first try of a keyless one that was re-routed around a fault. Such messages explain
as many missing numbers as there are of them: in the partition of their key, or of the try, where that is
known, else in any. Only what is missing beyond that is a violation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from partq.conformance.facts.index import Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes, scheduled
from partq.conformance.facts.numbers import Numbers, Placements
from partq.conformance.screens.attribution import homes
from partq.conformance.screens.protocol import Report
from partq.model.messages import conflicting


class _Gap(NamedTuple):
    """Numbers missing in a partition. ``at_roll``: whether all of them follow the greatest one, which is
    there. ``too_soon``: whether all of them come right before zero, which is there. In the widest hole,
    between the counters ``after`` and ``before``, are ``widest`` of them."""

    partition: int
    missing: int
    at_roll: bool
    too_soon: bool
    widest: int
    after: int
    before: int


def judge_gaps(facts: Facts, report: Report, wrong: set[int]) -> None:
    """Add to the report what the numbers shown leave out. Partitions in ``wrong`` are not judged."""
    numbers = facts.derive(Numbers)
    gaps = [_gap(numbers, report, partition) for partition in numbers.counters if partition not in wrong]
    if not any(gap.missing for gap in gaps) or not facts.by_id.keys() >= facts.received.keys():
        return  # nothing is, or numbers were used up by messages that came from elsewhere, seen or not
    own, anywhere = _explanations(facts)
    excess = [gap.missing - own[gap.partition] for gap in gaps]
    if sum(more for more in excess if more > 0) <= anywhere:
        return
    changed = _renumbered(facts)
    still = (max(0, more - changed[gap.partition]) for gap, more in zip(gaps, excess, strict=True))
    wide = [gap for gap in gaps if gap.missing]
    if sum(still) <= anywhere or all(gap.too_soon for gap in wide):
        return  # locks that nobody saw may have changed numbers (SEQ-6); a roll-over too soon is SEQ-5's
    gap = gaps[excess.index(max(excess))]
    rule = "SEQ-5" if all(gap.at_roll for gap in wide) else "SEQ-4"
    ends = sorted(_ends(numbers, gap), key=lambda seen: _counter(numbers, seen) != gap.after)
    sends = (sent.record for seen in ends for sent in facts.by_id.get(seen.delivery.id, ())[:1])
    why = _detail(numbers, gap, ends, own[gap.partition] + anywhere)
    report.find(rule, "gap", (*sends, *(seen.record for seen in ends)), why)


def _gap(numbers: Numbers, report: Report, partition: int) -> _Gap:
    """What is missing of one partition's numbers, from its first (known, or shown) to its last."""
    origin, mask = numbers.origin(partition), numbers.mask
    counters = numbers.counters[partition]
    places = [counter - origin for counter in counters]
    if places[0] < 0:
        places = sorted(place & mask for place in places)
    if numbers.start is not None:
        places.insert(0, -1)
    missing = places[-1] - places[0] + 1 - len(places)
    adjacent = sum(b - a == 1 for a, b in pairwise(places)) if missing else len(counters) - 1
    report.count("SEQ-4", adjacent)
    if counters[0] == 0 and counters[-1] == mask:
        report.count("SEQ-5")
    if not missing:
        return _Gap(partition, 0, False, False, 0, 0, 0)
    zero = -origin & mask
    after, before = max(pairwise(places), key=lambda pair: pair[1] - pair[0])
    widest = before - after - 1
    beside = zero > 0 and widest == missing
    ends = (after + origin) & mask, (before + origin) & mask
    return _Gap(partition, missing, beside and after == zero - 1, beside and before == zero, widest, *ends)


def _explanations(facts: Facts) -> tuple[Counter[int], int]:
    """How many numbers may have been used up unseen: by partition where that is known, and anywhere."""
    known, lives = facts.derive(homes), facts.derive(Lifetimes)
    own: Counter[int] = Counter()
    anywhere = 0
    for id, sends in facts.by_id.items():
        seen = {one.delivery.seq for one in (*facts.received.get(id, ()), *facts.peeked.get(id, ()))}
        unseen = max(len(sends) - len(seen - {None}), 0) + sum(map(scheduled, sends))
        # Which partition a message with two keys was tried in, is not known.
        life = lives.get(id)
        home = None if life is None or conflicting(life.sent.message) else known.get(life.sent.key or "")
        if home is None:
            anywhere += unseen
        elif unseen:
            own[home] += unseen
    for life in facts.derive(Lifetimes).stored if facts.down else ():
        own.update(_tried(facts, life))
    return own, anywhere


def _renumbered(facts: Facts) -> Counter[int]:
    """By partition: how many numbers its messages may have had before they were seen, against SEQ-6."""
    changed: Counter[int] = Counter()
    for life in facts.derive(Lifetimes).stored:
        if life.redelivered and life.partition is not None:
            changed[life.partition] += life.first.delivery.delivery_count or 1
    return changed


def _tried(facts: Facts, life: Lifetime) -> Iterator[int]:
    """The partitions in which a keyless send may have been aborted before it was stored: elsewhere, or there
    at last."""
    record = life.record
    if life.sent.key is None:
        for partition, intervals in facts.down.items():
            if any(interval.start <= record.end and record.call <= interval.end for interval in intervals):
                yield partition


def _ends(numbers: Numbers, gap: _Gap) -> Iterator[Observation]:
    """The messages beside the widest hole; only one if it lies before the first number."""
    for number, seen in numbers.facts.derive(Placements).numbers.items():
        if number & numbers.mask in (gap.after, gap.before) and numbers.partition(seen) == gap.partition:
            yield seen


def _counter(numbers: Numbers, seen: Observation) -> int:
    return (seen.delivery.seq or 0) & numbers.mask


def _detail(numbers: Numbers, gap: _Gap, ends: Sequence[Observation], explained: int) -> str:
    named = [f"{seen.delivery.id!r} (counter {_counter(numbers, seen)})" for seen in ends]
    where = f"between {' and '.join(named)}" if len(named) > 1 else f"before {named[0]}, where they begin"
    share = "" if gap.widest == gap.missing else f"{gap.widest} of them "
    return (
        f"missing numbers{numbers.of(gap.partition)}: {gap.missing}, {share}{where}; messages that were "
        f"rejected, unknown, rolled back or never seen explain at most {explained} of them"
    )
