"""Peeks held against a partition's messages by number: what they pass over though it certainly was there and
no lock can have hidden it, what they show from before their start, or in another order.

A message passed over is skipped (PEEK-1, PEEK-2), or the answer shows nothing at all (PEEK-4, later in a walk
PEEK-5). What else a peek leaves out (what may be locked or lost, what faults or numbers in disorder may
explain) the judge alone decides.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.locks import Intervals, Locks, may_be_given_up_on
from partq.conformance.facts.placements import Placements
from partq.conformance.facts.records import deletes, out_of_order, returned, span
from partq.conformance.history import Record
from partq.conformance.screens.exercised import shown_locked
from partq.conformance.screens.protocol import Report
from partq.model.operations import Outcome

LOOKED_AT: Final = 64
"""Of the messages that an answer passes over, so many are looked at, the youngest ones."""


class Log(NamedTuple):
    """One partition's messages in serial order of their numbers. ``places``: the numbers, so that they
    compare; ``origin``: what is to be taken off a number for that; ``high``: what stands above the counter
    in all of them."""

    high: int
    origin: int
    mask: int
    places: list[int]
    lives: list[Lifetime]

    def place(self, number: int) -> int:
        """The place of a number."""
        return (number - self.origin) & self.mask


class Walk(NamedTuple):
    """Where a peek begins. ``since``: the call of the first peek that counts; ``after``: partition -> the
    greatest place that was shown there before; None: it is not known."""

    since: int
    after: dict[int, int] | None


def logs(facts: Facts) -> dict[int, Log]:
    """Partition -> its messages; none whose numbers contradict each other or the order of sends (SEQ). Use
    it by ``facts.derive(logs)``."""
    placements = facts.derive(Placements)
    if placements.clashes or placements.renumbered:
        return {}
    groups: dict[int, list[Lifetime]] = {}
    for life in facts.derive(Lifetimes).stored:
        if life.seq is not None and life.partition is not None:
            groups.setdefault(life.partition, []).append(life)
    found = {partition: _log(facts, group) for partition, group in groups.items()}
    return {partition: log for partition, log in found.items() if log is not None}


def _log(facts: Facts, group: Sequence[Lifetime]) -> Log | None:
    bits = facts.profile.counter_bits
    highs = {(life.seq or 0) >> bits for life in group}
    if len(highs) > 1:
        return None
    mask = (1 << bits) - 1
    origin = ((group[0].seq or 0) & mask) - (1 << bits - 1)
    placed = sorted([(((life.seq or 0) - origin) & mask, n) for n, life in enumerate(group)])
    lives = [group[n] for _, n in placed]
    if out_of_order(life.record for life in lives):
        return None
    return Log(highs.pop(), origin, mask, [place for place, _ in placed], lives)


class Omissions:
    """The check of one entity's peeks; `check` once."""

    def __init__(self, facts: Facts, report: Report) -> None:
        self.facts = facts
        self.report = report
        self.logs = facts.derive(logs)
        self.locks = facts.derive(Locks)
        self.rule = "PEEK-2" if facts.profile.partitioned else "PEEK-1"
        caching, lasting = facts.profile.caching_front_ends, 2 * facts.entity.lock_duration
        self.lasting = lasting + facts.header.skew_ns if facts.profile.locks_expire else FOREVER
        unseen = (one for one in facts.receives if caching or one.outcome == Outcome.UNKNOWN)
        self.unseen = Intervals(map(span, unseen))
        unknown = (one.call for one in facts.receives if one.outcome == Outcome.UNKNOWN and deletes(one))
        self.doubtful = min(unknown, default=FOREVER)

    def places(self, record: Record) -> dict[int, list[int]] | None:
        """Partition -> the places that an answer shows, as it does; None where they are not known of all."""
        shown: dict[int, list[int]] = {}
        for one in record.messages:
            partition = self.facts.profile.partition_of(one) if self.facts.profile.partitioned else 0
            if one.seq is None or partition not in self.logs:
                return None
            shown.setdefault(partition, []).append(self.logs[partition].place(one.seq))
        return shown

    def start(self, peek: Record) -> Walk:
        """Where a peek begins that says from which number on; zero asks for everything."""
        number, after = peek.args["from_seq"], dict[int, int]()
        high = number >> self.facts.profile.counter_bits
        for partition, log in self.logs.items() if number else ():
            if log.high == high:
                after[partition] = log.place(number) - 1
            elif log.high < high:
                after[partition] = log.mask
        return Walk(peek.call, after)

    def moved(self, walk: Walk, record: Record) -> Walk:
        """The walk after that peek, whose answer may be lost."""
        shown = self.places(record) if record.outcome == Outcome.OK else None
        if walk.after is None or shown is None:
            return Walk(walk.since, None)
        after = walk.after
        return Walk(walk.since, after | {p: max(after.get(p, -1), *places) for p, places in shown.items()})

    def check(self, record: Record, walk: Walk) -> None:
        """Hold an answer against what certainly was there. ``walk``: where it begins."""
        shown = self.places(record)
        if shown is None:
            return
        self._check_shown(record, walk, shown)
        parts = shown if record.messages else self.logs
        passed = (self._skipped(record, walk, part, sorted(shown.get(part, ()))) for part in parts)
        skipped = next(filter(None, passed), None)
        if skipped is None and not record.messages and walk.after == {}:
            skipped = self._never_shown(record, walk)
        if skipped is not None:
            self._report(record, walk, skipped)

    def _check_shown(self, record: Record, walk: Walk, shown: dict[int, list[int]]) -> None:
        """What an answer shows from before its start; and, without partitions, its order."""
        after = walk.after or {}
        if any(min(places) <= after.get(partition, -1) for partition, places in shown.items()):
            explicit = "from_seq" in record.args
            start = f"number {record.args['from_seq']}" if explicit else "its cursor"
            self.report.find(
                self.rule if explicit else "PEEK-5",
                "before its start",
                "A peek returned a message from before its start",
                (record,),
                f"{record.proc} peeked from {start} on, and was shown an earlier number.",
                "messages with that number or later ones",
            )
        if not self.facts.profile.partitioned and shown.get(0, []) != sorted(shown.get(0, ())):
            self.report.find(
                self.rule,
                "order",
                "A peek's answer is not in order",
                (record,),
                f"The numbers in the answer to {record.proc} do not increase.",
                "the same messages in the order of their numbers",
            )

    def _skipped(self, record: Record, walk: Walk, partition: int, shown: list[int]) -> Lifetime | None:
        """The youngest of the messages that it passes over, as far as they certainly were there and free."""
        log = self.logs[partition]
        if walk.after is not None:
            low = bisect_right(log.places, walk.after.get(partition, -1))
        elif shown:
            low = bisect_left(log.places, shown[0])
        else:
            return None
        high = bisect_left(log.places, shown[-1]) if shown else len(log.places)
        passed = (at for at in range(high - 1, low - 1, -1) if log.places[at] not in shown)
        for at, _ in zip(passed, range(LOOKED_AT), strict=False):
            life = log.lives[at]
            if self._there(life, record) and (self._free(life, walk, record) or self._held(life, record)):
                return life
        return None

    def _never_shown(self, record: Record, walk: Walk) -> Lifetime | None:
        """A message that no client has seen, and that an answer which may show everything had to hold."""
        for life in self.facts.derive(Lifetimes).unseen[:LOOKED_AT]:
            plain = "txn" not in life.record.args
            if plain and self._there(life, record) and self._free(life, walk, record):
                return life
        return None

    def _there(self, life: Lifetime, peek: Record) -> bool:
        """Whether it was there from before the peek until after it, and no fault was near."""
        ret, start = returned(peek), life.certainly_from
        if "txn" in life.record.args:  # what was committed may become visible later
            start = life.first.ret if life.accepted < FOREVER else FOREVER
        if start >= peek.call or life.removal.answered <= ret or self._may_be_lost(life, ret):
            return False
        partition = life.partition if self.facts.profile.partitioned else None
        return not self.locks.upsets(partition).touching(life.possibly_from, ret)

    def _may_be_lost(self, life: Lifetime, by: int) -> bool:
        """Whether it may have gone by then without a removal that was answered: nothing shows it later, and a
        drain should have, or another removal or its last lock may have ended it."""
        facts, removal = self.facts, life.removal
        if removal.last_there > by:
            return False
        tried = min(removal.tried, self.doubtful) <= by
        return (
            facts.drained is not None
            or tried
            or may_be_given_up_on(facts, life.deliveries, life.certainly_from)
        )

    def _free(self, life: Lifetime, walk: Walk, peek: Record) -> bool:
        """Whether nobody can have locked it, since the walk began: else a cursor may have passed it."""
        since, ret = max(walk.since, life.possibly_from), returned(peek)
        hidden = bool(self.unseen.touching(since - self.lasting, ret))
        for seen in life.deliveries:
            begun = seen.began if hidden else seen.call  # a front end fetches early only for some receive
            if begun <= ret and seen.ended >= since:
                return False
        return not hidden or self._never_locked(life, ret)

    def _held(self, life: Lifetime, peek: Record) -> bool:
        """Whether a client certainly held it, which other peeks show to hide nothing (else PEEK-7)."""
        if not peek.messages or not self.facts.derive(shown_locked):
            return False
        locks = (seen for seen in life.deliveries if seen.delivery.lock is not None)
        return any(seen.ret < peek.call and returned(peek) < seen.held_until for seen in locks)

    def _never_locked(self, life: Lifetime, until: int) -> bool:
        """Whether its first delivery proves that no lock came before: count 0, and no fault that might have
        ended one without a trace."""
        first = life.deliveries[0] if life.deliveries else None
        if first is None or first.delivery.delivery_count != 0 or first.began <= until:
            return False
        return not self.locks.upsets(first.partition).touching(life.possibly_from, first.ret)

    def _report(self, record: Record, walk: Walk, life: Lifetime) -> None:
        later = [one.record for one in life.appearances if one.call > returned(record)]
        witness, walked = (life.record, record, *later[:1]), bool(walk.after) and walk.since < record.call
        if record.messages:
            self.report.find(
                self.rule,
                "skipped",
                "A peek skipped an older message",
                witness,
                f"The answer to {record.proc} shows newer messages of one partition, but not message "
                f"{life.id!r}, which certainly was there, and not hidden by a lock.",
                f"message {life.id!r} before any newer one, or an answer that ends before it",
            )
            return
        self.report.find(
            "PEEK-5" if walked else "PEEK-4",
            "nothing",
            "A walk ended before it had shown everything" if walked else "A peek returned nothing",
            witness,
            f"{record.proc} was shown nothing, although message {life.id!r} certainly was there and not "
            f"locked.",
            "at least one message",
        )
