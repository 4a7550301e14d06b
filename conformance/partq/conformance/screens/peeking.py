"""Peeks compared with a partition's messages by number: messages passed over though they certainly were there
and not hidden by a lock (PEEK-1, PEEK-2, PEEK-4, PEEK-5); and answers that are wrong by themselves.

All else that a peek leaves out or shows is left to the judge: messages possibly locked or lost, effects of
faults or of numbers in disorder, removed messages, counts that it changes. `exercised` counts these rules.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.facts.intervals import Intervals
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.locks import Locks, may_be_given_up_on
from partq.conformance.facts.numbers import Placements
from partq.conformance.facts.records import out_of_order
from partq.conformance.history import Record
from partq.conformance.screens.exercised import shown_locked
from partq.conformance.screens.protocol import Report, Screen

LOOKED_AT: Final = 64
"""The limit of messages passed over by an answer that are checked: the youngest ones."""

_UPSETS: Final = frozenset({"frontend_lost", "broker_kill", "connection_lost"})
"""Faults that may put any client's cursors back to the start."""


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


def check(facts: Facts) -> Report:
    """Check the peeks of this entity."""
    report = Report()
    if not facts.peeks:
        return report
    peeks = _Peeks(facts, report)
    walks: dict[str, list[Record]] = {}
    for record in facts.peeks:
        if record.ok:
            _check_answer(facts, report, record)
        if not record.refused and "from_seq" not in record.args:
            walks.setdefault(record.proc, []).append(record)
        elif record.ok:
            peeks.check(record, peeks.start(record))
    for proc, walk in walks.items():
        peeks.check_walk(walk, _resets(facts, proc))
    return report


def _check_answer(facts: Facts, report: Report, record: Record) -> None:
    """Not more than requested (PEEK-4), no message twice (PEEK-5), and no lock (PEEK-6)."""
    size, most = len(record.messages), record.args["max"]
    if size > most:
        report.find("PEEK-4", "more than max", (record,), f"{record.proc} asked for {most}, got {size}.")
    if any(delivery.lock is not None for delivery in record.messages):
        report.find("PEEK-6", "lock", (record,), f"{record.proc} got a lock by a peek.")
    if len({delivery.id for delivery in record.messages}) < size:
        twice = facts.derive(Lifetimes).twice_in(record)
        if twice is not None:
            why = f"Message {twice.id!r} is in one answer to {record.proc} more than once."
            report.find("PEEK-5", "twice in one answer", (record,), why)


def _resets(facts: Facts, proc: str) -> Intervals:
    """When the client's cursors may have been put back to the start."""
    lost = (record.span for record in facts.disruptions if record.op in _UPSETS)
    left = (record.span for record in facts.flows if (record.op, record.proc) == ("disconnect", proc))
    return Intervals([*lost, *left, *((interval.start, interval.end) for interval in facts.dead)])


def logs(facts: Facts) -> dict[int, Log]:
    """Partition -> its messages; none whose numbers contradict each other or the order of sends (SEQ)."""
    placements = facts.derive(Placements)
    if placements.clashes or placements.renumbered:
        return {}
    placed = facts.derive(Lifetimes).placed
    found = {partition: _log(facts, lives) for partition, lives in placed.items()}
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


class _Peeks:
    """Holds one entity's peeks against its logs."""

    def __init__(self, facts: Facts, report: Report) -> None:
        self.facts = facts
        self.report = report
        self.logs = logs(facts)
        self.locks = facts.derive(Locks)
        caching, lasting = facts.profile.caching_front_ends, 2 * facts.entity.lock_duration
        self.lasting = lasting + facts.header.skew_ns if facts.profile.locks_expire else FOREVER
        unseen = (one for one in facts.receives if caching or one.unknown)
        self.unseen = Intervals(one.span for one in unseen)
        unknown = (one.call for one in facts.receives if one.unknown and one.deletes)
        self.doubtful = min(unknown, default=FOREVER)

    def check_walk(self, peeks: list[Record], resets: Intervals) -> None:
        """A client's cursor stands after what it has shown, until a fault may have put it back."""
        last = peeks[0].call
        walk = Walk(last, {})
        for record in peeks:
            if resets.touching(last, record.end):
                walk = Walk(record.call, None)
            last = record.call
            if record.ok:
                self.check(record, walk)
            walk = self._moved(walk, record)

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

    def _places(self, record: Record) -> dict[int, list[int]] | None:
        """Partition -> the places that an answer shows, as it does; None where they are not known of all."""
        shown: dict[int, list[int]] = {}
        for one in record.messages:
            partition = self.facts.profile.partition_of(one) if self.facts.profile.partitioned else 0
            if one.seq is None or partition not in self.logs:
                return None
            shown.setdefault(partition, []).append(self.logs[partition].place(one.seq))
        return shown

    def _moved(self, walk: Walk, record: Record) -> Walk:
        """The walk after that peek, whose answer may be lost."""
        shown = self._places(record) if record.ok else None
        if walk.after is None or shown is None:
            return Walk(walk.since, None)
        after = walk.after
        return Walk(walk.since, after | {p: max(after.get(p, -1), *places) for p, places in shown.items()})

    def check(self, record: Record, walk: Walk) -> None:
        """Hold an answer against what certainly was there. ``walk``: where it begins."""
        shown = self._places(record)
        if shown is None:
            return
        parts = shown if record.messages else self.logs
        passed = (self._skipped(record, walk, part, sorted(shown.get(part, ()))) for part in parts)
        skipped = next(filter(None, passed), None)
        if skipped is None and not record.messages and walk.after == {}:
            skipped = self._never_shown(record, walk)
        if skipped is not None:
            self._find(record, walk, skipped)

    def _skipped(self, record: Record, walk: Walk, partition: int, shown: list[int]) -> Lifetime | None:
        """The youngest of the messages that it passes over, as far as they certainly were there and free; if
        none was, held."""
        log = self.logs[partition]
        if walk.after is not None:
            low = bisect_right(log.places, walk.after.get(partition, -1))
        elif shown:
            low = bisect_left(log.places, shown[0])
        else:
            return None
        high = bisect_left(log.places, shown[-1]) if shown else len(log.places)
        passed = (at for at in range(high - 1, low - 1, -1) if log.places[at] not in shown)
        lives = (log.lives[at] for at, _ in zip(passed, range(LOOKED_AT), strict=False))
        there = [life for life in lives if self._there(life, record)]
        free = (life for life in there if self._free(life, walk, record))
        return next(free, None) or next((life for life in there if self._held(life, record)), None)

    def _never_shown(self, record: Record, walk: Walk) -> Lifetime | None:
        """A message that no client has seen, and that an answer which may show everything had to hold."""
        for life in self.facts.derive(Lifetimes).unseen[:LOOKED_AT]:
            plain = "txn" not in life.record.args
            if plain and self._there(life, record) and self._free(life, walk, record):
                return life
        return None

    def _there(self, life: Lifetime, peek: Record) -> bool:
        """Whether it was there from before the peek until after it, and no fault was near."""
        ret, start = peek.end, life.certainly_from
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
        given_up = may_be_given_up_on(facts, life.deliveries, life.certainly_from)
        return facts.drained is not None or tried or given_up

    def _free(self, life: Lifetime, walk: Walk, peek: Record) -> bool:
        """Whether nobody can have locked it, since the walk began: else a cursor may have passed it."""
        since, ret = max(walk.since, life.possibly_from), peek.end
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
        return any(seen.ret < peek.call and peek.end < seen.held_until for seen in locks)

    def _never_locked(self, life: Lifetime, until: int) -> bool:
        """Whether its first delivery proves that no lock came before: count 0, and no fault that might have
        ended one without a trace."""
        first = life.deliveries[0] if life.deliveries else None
        if first is None or first.delivery.delivery_count != 0 or first.began <= until:
            return False
        return not self.locks.upsets(first.partition).touching(life.possibly_from, first.ret)

    def _find(self, record: Record, walk: Walk, life: Lifetime) -> None:
        later = [one.record for one in life.appearances if one.call > record.end]
        if record.messages:
            rule, cause = "PEEK-2" if self.facts.profile.partitioned else "PEEK-1", "skipped"
        else:
            walked = bool(walk.after) and walk.since < record.call
            rule, cause = "PEEK-5" if walked else "PEEK-4", "nothing"
        why = f"Message {life.id!r} certainly was there, and {record.proc} was not shown it"
        why += ", but newer ones of its partition." if record.messages else ", nor anything else."
        self.report.find(rule, cause, (life.record, record, *later[:1]), why)


SCREEN: Final = Screen(
    name="peeking",
    requirements=("PEEK-1", "PEEK-2", "PEEK-4", "PEEK-5", "PEEK-6", "PEEK-7"),
    check=check,
    blind_spots=(
        "What a peek leaves out if it may have been locked or lost, or was there amid faults, what it shows "
        "too early, too late, again or in another order, and the counts that it changes, the judge alone "
        "sees.",
    ),
)
