"""What a peek passed over although it certainly was there: whose anomaly it is.

| a message certainly was there, and | owner |
|---|---|
| it certainly was not locked, the answer shows newer ones of its partition | PEEK-1 (flat), PEEK-2 |
| it certainly was not locked, the answer is empty | PEEK-4 at the start of a walk, else PEEK-5 |
| it was certainly locked, the answer shows newer ones, some peek shows a locked message | PEEK-1, PEEK-2 |
| the same, none shows a locked one, and peeks can do better where nothing is locked | PEEK-7 |
| anything else: it may have been locked | left open |

*Can do better*: another answer of the kind (with a number to start from, or without) shows, from its start
on and without a gap, at least as many messages as this one should have; or this one shows older messages
than the skipped one too. A peek that skips whatever is at some place would not.

Numbers that contradict the order of sends are SEQ-3's: nothing is judged by them.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice
from typing import Final, NamedTuple

from partq.conformance.facts.index import Facts
from partq.conformance.facts.locks import Locks
from partq.conformance.facts.partition_log import Omission, PartitionLog, PartitionLogs, Spell
from partq.conformance.facts.peek_cursors import Walk
from partq.conformance.facts.records import returned
from partq.conformance.facts.visibility import Visibility
from partq.conformance.history import Record
from partq.conformance.screens.protocol import Report

_LOOKED_AT: Final = 64
"""Of the messages that an answer passes over, so many are looked at to find one whose lock is known."""


class Passed(NamedTuple):
    """An answer that passed over a certainly locked message. ``total``: what it should have shown at least.
    ``middle``: it shows older messages than that one too."""

    spell: Spell
    record: Record
    total: int
    middle: bool


class Skipping:
    """Takes in what peeks passed over; `judge` at the end, when it is known what peeks do show."""

    def __init__(self, facts: Facts, logs: PartitionLogs, report: Report) -> None:
        self.facts = facts
        self.logs = logs
        self.report = report
        self.locks = facts.derive(Locks)
        self.visibility = Visibility(facts)
        self.requirement = "PEEK-2" if facts.profile.partitioned else "PEEK-1"
        self._locked: list[Passed] = []
        self._unclear: dict[str, tuple[Spell, Record]] = {}
        self._whole = {True: 0, False: 0}
        self._trusted: dict[int, bool] = {}

    def trusts(self, partition: int, log: PartitionLog) -> bool:
        """Whether the partition's numbers are in order: unique, and as the sends were."""
        known = self._trusted.get(partition)
        if known is None:
            known = partition not in self.logs.broken and not log.contradicted()
            self._trusted[partition] = known
        return known

    def whole(self, record: Record, size: int) -> None:
        """An answer that shows so many messages of a partition, from its start on and without a gap."""
        kind = "from_seq" in record.args
        if size > self._whole[kind]:
            self._whole[kind] = size

    def passed(
        self,
        requirement: str,
        record: Record,
        walk: Walk | None,
        partition: int,
        log: PartitionLog,
        omissions: list[Omission],
        shown: int,
    ) -> None:
        """An answer of ``shown`` messages of the partition that passes over these; ``requirement`` owns what
        certainly was not locked."""
        call, ret = record.call, record.ret or 0
        faults = self.locks.faults(partition if self.facts.profile.partitioned else None)
        if faults.touching(call, ret) or not self.trusts(partition, log):
            return
        if not shown:
            self._empty(requirement, record, walk, log, omissions[0])
            return
        locked, middle, missing = None, False, 0
        for omission in omissions:
            for spell in islice(log.there(omission.low, omission.high, call, ret), _LOOKED_AT):
                missing += 1
                if self._free(spell, record, walk):
                    self.report_free(requirement, record, spell)
                    return
                if not middle and self.visibility.certainly_locked(spell.life, call, ret):
                    locked, middle = spell, omission.middle
                self._unclear.setdefault(requirement, (spell, record))
        if locked is not None:
            self._locked.append(Passed(locked, record, shown + missing, middle))

    def _free(self, spell: Spell, record: Record, walk: Walk | None) -> bool:
        """Whether it certainly was not locked, neither now nor at an earlier peek of the walk: a broker that
        hides what is locked may have moved the cursor past it."""
        called = spell.life.possibly_from
        for peek in (record,) if walk is None else reversed(walk.peeks):
            ret = returned(peek)
            if ret < called:
                break
            if not self.visibility.certainly_free(spell.life, peek.call, ret):
                return False
        return True

    def _empty(
        self, requirement: str, record: Record, walk: Walk | None, log: PartitionLog, omission: Omission
    ) -> None:
        """An empty answer: only the oldest messages matter, as many as it could have held, and those that
        possibly were there among them."""
        call, ret = record.call, record.ret or 0
        room = min(record.args["max"], self.facts.entity.peek_cap or _LOOKED_AT)
        first = next(log.there(omission.low, omission.high, call, ret))
        at = bisect_left(log.places, log.place(first.number))
        self._unclear.setdefault(requirement, (first, record))
        for spell in log.spells[max(omission.low, at - _LOOKED_AT) : at + _LOOKED_AT]:
            id = spell.life.id
            if spell.life.record.call > ret or self.logs.gone.get(id, ret) < call:
                continue
            if spell.start < call and spell.end > ret and self._free(spell, record, walk):
                self.report_free(requirement, record, spell)
                return
            room -= 1
            if not room:
                return

    def judge(self) -> None:
        """Find the owner of what was locked, now that all peeks are known."""
        shown = self._count_locked()
        self.report.count("PEEK-7", shown + len(self._locked))
        found = {finding.requirement for finding in self.report.findings}
        if self.requirement not in found:
            for passed in self._locked:
                better = passed.middle or self._whole["from_seq" in passed.record.args] >= passed.total
                if shown or better:
                    self._report_locked(self.requirement if shown else "PEEK-7", passed)
        found = {finding.requirement for finding in self.report.findings}
        for requirement, (spell, record) in self._unclear.items():
            if requirement not in found and "PEEK-7" not in found:
                self.report.ambiguous(
                    (requirement, "PEEK-7"),
                    f"the peek of record {record.i} passed over message {spell.life.id!r}, which "
                    f"was there but may have been locked: it skipped the message ({requirement}), or does "
                    f"not show locked ones (PEEK-7)",
                )

    def report_free(self, requirement: str, record: Record, spell: Spell) -> None:
        """A message that certainly was there, and not locked, was not shown."""
        id, sent = spell.life.id, spell.life.record
        if requirement == self.requirement:
            self.report.find(
                requirement,
                "skipped",
                "A peek skipped an older message",
                (sent, record, *self._proof(spell, record)),
                f"The answer to {record.proc} shows newer messages of one partition, but not message {id!r}, "
                f"which certainly was there and not locked.",
                f"message {id!r} before any newer one, or an answer that ends before it",
            )
            return
        ended = requirement == "PEEK-5"
        self.report.find(
            requirement,
            "nothing",
            "A walk ended before it had shown everything" if ended else "A peek returned nothing",
            (sent, record, *self._proof(spell, record)),
            f"{record.proc} was shown nothing, although message {id!r} certainly was there and not locked.",
            "at least one message",
        )

    def _report_locked(self, requirement: str, passed: Passed) -> None:
        spell, record, id = passed.spell, passed.record, passed.spell.life.id
        holders = [s.record for s in spell.life.deliveries if s.ret < record.call]
        self.report.find(
            requirement,
            "skipped a locked one",
            "A peek skipped a locked message",
            (spell.life.record, *holders[-1:], record),
            f"The answer to {record.proc} shows {'older and ' * passed.middle}newer messages of one "
            f"partition, but not message {id!r}, which certainly was there and locked.",
            f"message {id!r} in its place: a lock does not hide it",
        )

    def _proof(self, spell: Spell, peek: Record) -> tuple[Record, ...]:
        """What shows that the message was still there after that peek."""
        for seen in (*spell.life.deliveries, *spell.life.peeks):
            if seen.call > (peek.ret or 0):
                return (seen.record,)
        return ()

    def _count_locked(self) -> int:
        """How often a peek showed a message that certainly was locked."""
        count = 0
        received = self.facts.received
        for id, peeks in self.facts.peeked.items():
            seens = received.get(id)
            if seens is None or seens[0].ret >= peeks[-1].call:
                continue
            locked = [(s.ret, s.held_until) for s in seens if s.delivery.lock is not None]
            locked.sort()
            at, until = 0, -1
            for seen in peeks:
                while at < len(locked) and locked[at][0] < seen.call:
                    until = max(until, locked[at][1])
                    at += 1
                count += seen.ret < until
        return count
