"""Which messages a peek certainly had to see: per partition by number, and since when until when each was
there.

A `PartitionLog` answers "was one of these there during that time?" in `O(log n)`, for times that only move
on, so that a history of many peeks over many messages stays fast. Nothing here judges.

A message is *certainly there* from its acceptance (its first appearance, where the send does not settle it)
until the first removal that was answered ok, and no longer than something later shows that it still was:
what was lost is RCV-2, not a peek's fault. Without a drain nothing is called lost, and it stays until
something may have removed it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Final, NamedTuple

from msgspec import Struct

from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.placements import Placements
from partq.conformance.facts.records import deletes, out_of_order
from partq.model.operations import Outcome

_SCAN: Final = 8
"""So many messages are looked at one by one; more are asked of the tree."""


class Spell(Struct, frozen=True, eq=False, gc=False):
    """The time that a message certainly was there; ``number``: its counter alone."""

    number: int
    start: int
    end: int
    life: Lifetime


class Omission(NamedTuple):
    """Indexes of a partition log that an answer passes over. ``middle``: it shows messages on both sides."""

    low: int
    high: int
    middle: bool


class PartitionLog:
    """One partition's messages by number. ``places``: the numbers, turned so that they compare; ``high``:
    what stands above the counter in all of them."""

    def __init__(self, spells: list[Spell], high: int, bits: int) -> None:
        self.half, self.mask = 1 << (bits - 1), (1 << bits) - 1
        self.high = high
        self.origin = spells[0].number - self.half
        origin, mask = self.origin, self.mask
        turned = sorted([((spell.number - origin) & mask, n) for n, spell in enumerate(spells)])
        self.places = [place for place, _ in turned]
        self.spells = [spells[n] for _, n in turned]
        self._tree: list[int] | None = None
        self._size = 0
        self._order: list[tuple[int, int]] = []
        self._next = 0

    def place(self, number: int) -> int:
        """A number's place: serial order, which survives the roll-over, as plain order."""
        return (number - self.origin) & self.mask

    def since(self, number: int, high: int) -> int | None:
        """The index from which on messages are at or after a peek's start; None where that is not clear."""
        if high != self.high:
            return 0 if self.high > high else len(self.places)
        first = (self.places[0] + self.origin - number) & self.mask < self.half
        last = (self.places[-1] + self.origin - number) & self.mask < self.half
        if first:
            return 0 if last else None
        return bisect_left(self.places, self.place(number)) if last else len(self.places)

    def after(self, place: int) -> int:
        """The index of the first message after that place."""
        return bisect_right(self.places, place)

    def has(self, place: int) -> bool:
        """Whether a known message is there."""
        at = bisect_left(self.places, place)
        return at < len(self.places) and self.places[at] == place

    def omissions(self, start: int | None, shown: list[int], call: int, ret: int) -> Iterator[Omission]:
        """What an answer that shows these places, in order, passes over although it certainly was there.
        ``start``: the index from which on nothing may be missing; None where that is not known."""
        places = self.places
        at = bisect_left(places, shown[0])
        if start is not None and start < at and self.any_there(start, at, call, ret):
            yield Omission(start, at, False)
        for before, place in pairwise(shown):
            at += 1
            if at < len(places) and places[at] == place:
                continue
            low, at = bisect_right(places, before), bisect_left(places, place)
            if low < at and self.any_there(low, at, call, ret):
                yield Omission(low, at, True)

    def contradicted(self) -> bool:
        """Whether a lower number belongs to a message that certainly was sent later (SEQ-3)."""
        return out_of_order(spell.life.record for spell in self.spells)

    def any_there(self, low: int, high: int, call: int, ret: int) -> bool:
        """Whether one of the messages at these indexes certainly was there from before ``call`` until after
        ``ret``. Calls must not go back in time."""
        if high - low <= _SCAN:
            spells = self.spells
            for at in range(low, high):
                spell = spells[at]
                if spell.start < call and spell.end > ret:
                    return True
            return False
        return self._ask(low, high, call, ret)

    def there(self, low: int, high: int, call: int, ret: int) -> Iterator[Spell]:
        """Those messages, oldest first."""
        for at in range(low, high):
            spell = self.spells[at]
            if spell.start < call and spell.end > ret:
                yield spell

    def _ask(self, low: int, high: int, call: int, ret: int) -> bool:
        tree = self._grown(call)
        if tree[1] <= ret:
            return False
        low += self._size
        high += self._size
        while low < high:
            if low & 1:
                if tree[low] > ret:
                    return True
                low += 1
            if high & 1:
                high -= 1
                if tree[high] > ret:
                    return True
            low >>= 1
            high >>= 1
        return False

    def _grown(self, call: int) -> list[int]:
        """The tree of latest ends, holding the messages that were there before ``call``."""
        tree, order, size = self._tree, self._order, self._size
        if tree is None:
            size = self._size = 1 << (len(self.spells) - 1).bit_length()
            tree = self._tree = [-1] * (2 * size)
            order = self._order = sorted((spell.start, at) for at, spell in enumerate(self.spells))
        at = self._next
        while at < len(order) and order[at][0] < call:
            node = order[at][1]
            end = self.spells[node].end
            node += size
            while node and tree[node] < end:
                tree[node] = end
                node >>= 1
            at += 1
        self._next = at
        return tree


class PartitionLogs:
    """The messages of one entity whose number is known. ``gone``: message ID -> the return of what certainly
    removed it, outside transactions · ``broken``: partitions in which a number was borne twice, a message
    had two, or the top bits differ (SEQ-1, 2, 6) · ``doubtful``: from when on a receive of unknown
    outcome may have deleted any message · ``unseen``: the message accepted first of those that nobody ever
    saw. After a drain these are lost (RCV-2), and it is None."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.gone: dict[str, int] = {}
        self.broken: set[int] = set()
        self.doubtful = next(
            (r.call for r in facts.receives if r.outcome == Outcome.UNKNOWN and deletes(r)),
            FOREVER,
        )
        self._patience = _patience(facts)
        shown, lives = facts.derive(Placements), facts.derive(Lifetimes)
        strange = {seen.delivery.id for pair in (*shown.clashes, *shown.renumbered) for seen in pair}
        bits, flat = facts.profile.counter_bits, not facts.profile.partitioned
        mask = (1 << bits) - 1
        spells: dict[int, list[Spell]] = {}
        highs: dict[int, int] = {}
        for life in lives.stored:
            seq, partition = life.seq, life.partition
            if seq is None or partition is None:
                continue
            if life.id in strange:
                self.broken.add(partition)
                continue
            high = 0 if flat else seq >> bits
            if highs.setdefault(partition, high) != high:
                self.broken.add(partition)
                continue
            # What was committed may become visible later.
            start = life.first.ret if "txn" in life.record.args else life.certainly_from
            spells.setdefault(partition, []).append(Spell(seq & mask, start, self._end(life), life))
        self.by_partition = {p: PartitionLog(found, highs[p], bits) for p, found in spells.items()}
        intervals = sorted(
            ((b.start, b.end) for log in self.by_partition.values() for b in log.spells), key=itemgetter(0)
        )
        self._starts = [start for start, _ in intervals]
        self._ends = list(accumulate((end for _, end in intervals), max))
        self.unseen = self._unseen(lives) if facts.drained is None else None

    def any_there(self, call: int, ret: int) -> bool:
        """Whether some message, of whatever partition, certainly was there all the time."""
        at = bisect_left(self._starts, call)
        return at > 0 and self._ends[at - 1] > ret

    def _unseen(self, lives: Lifetimes) -> Spell | None:
        accepted = (
            Spell(0, life.accepted, min(self.doubtful, life.record.call + self._patience), life)
            for life in lives.unseen
            if life.accepted < FOREVER and "txn" not in life.record.args
        )
        return min(accepted, key=_start, default=None)

    def _end(self, life: Lifetime) -> int:
        """Until when it certainly was there."""
        facts, record = self.facts, life.record
        if "txn" in record.args and facts.txns[record.args["txn"]].committed_by is None:
            return -1
        removal, limit = life.removal, facts.entity.max_delivery_count
        if removal.certain < FOREVER:
            self.gone[life.id] = removal.certain
        end = min(removal.answered, record.call + self._patience)
        if len(life.deliveries) >= limit:  # possibly dead-lettered
            end = min(end, life.deliveries[limit - 1].record.call)
        last = removal.last_there
        return min(end, last if facts.drained is not None else max(min(removal.tried, self.doubtful), last))


def _patience(facts: Facts) -> int:
    """For how long certainly no message is dead-lettered because locks of caches that nobody saw ran out too
    often, or fell to faults."""
    if not facts.profile.caching_front_ends:
        return FOREVER
    entity, faults = facts.entity, len(facts.disruptions)
    return max(0, entity.max_delivery_count - faults) * entity.lock_duration


def _start(spell: Spell) -> int:
    return spell.start
