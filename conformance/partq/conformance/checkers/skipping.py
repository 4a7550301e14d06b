"""What a peek passed over although it surely was there: whose anomaly it is.

| a message surely was there, and | owner |
|---|---|
| it surely was not locked, the answer shows newer ones of its partition | PEEK-1 (flat), PEEK-2 |
| it surely was not locked, the answer is empty | PEEK-4 at the start of a walk, else PEEK-5 |
| it surely was locked, the answer shows newer ones, and some peek shows a locked message | PEEK-1, PEEK-2 |
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

from partq.conformance.facts import FOREVER, Facts
from partq.conformance.history import Record

from .locks import Locks
from .protocol import Report
from .shelves import Book, Gap, Shelf, Shelves
from .visibility import Visibility
from .walks import Walk

_LOOKED_AT: Final = 64
"""Of the messages that an answer passes over, so many are looked at to find one whose lock is known."""


class Passed(NamedTuple):
    """An answer that passed over a surely locked message. ``total``: what it should have shown at least.
    ``middle``: it shows older messages than that one too."""

    book: Book
    record: Record
    total: int
    middle: bool


class Skipping:
    """Takes in what peeks passed over; `judge` at the end, when it is known what peeks do show."""

    def __init__(self, facts: Facts, shelves: Shelves, report: Report) -> None:
        self.facts = facts
        self.shelves = shelves
        self.report = report
        self.locks = facts.derive(Locks)
        self.visibility = Visibility(facts)
        self.rule = "PEEK-2" if facts.profile.partitioned else "PEEK-1"
        self._locked: list[Passed] = []
        self._unclear: dict[str, tuple[Book, Record]] = {}
        self._whole = {True: 0, False: 0}
        self._trusted: dict[int, bool] = {}

    def trusts(self, partition: int, shelf: Shelf) -> bool:
        """Whether the partition's numbers are in order: unique, and as the sends were."""
        known = self._trusted.get(partition)
        if known is None:
            known = partition not in self.shelves.broken and not shelf.contradicted()
            self._trusted[partition] = known
        return known

    def whole(self, record: Record, size: int) -> None:
        """An answer that shows so many messages of a partition, from its start on and without a gap."""
        kind = "from_seq" in record.args
        if size > self._whole[kind]:
            self._whole[kind] = size

    def passed(
        self,
        rule: str,
        record: Record,
        walk: Walk | None,
        partition: int,
        shelf: Shelf,
        gaps: list[Gap],
        shown: int,
    ) -> None:
        """An answer of ``shown`` messages of the partition that passes over these; ``rule`` owns what surely
        was not locked."""
        call, ret = record.call, record.ret or 0
        faults = self.locks.faults(partition if self.facts.profile.partitioned else None)
        if faults.touching(call, ret) or not self.trusts(partition, shelf):
            return
        if not shown:
            self._empty(rule, record, walk, shelf, gaps[0])
            return
        locked, middle, missing = None, False, 0
        for gap in gaps:
            for book in islice(shelf.there(gap.low, gap.high, call, ret), _LOOKED_AT):
                id = book.sent.message.id
                missing += 1
                if self._free(book, record, walk):
                    self.report_free(rule, record, book)
                    return
                if not middle and self.visibility.surely_locked(id, call, ret):
                    locked, middle = book, gap.middle
                self._unclear.setdefault(rule, (book, record))
        if locked is not None:
            self._locked.append(Passed(locked, record, shown + missing, middle))

    def _free(self, book: Book, record: Record, walk: Walk | None) -> bool:
        """Whether it surely was not locked, neither now nor at an earlier peek of the walk: a broker that
        hides what is locked may have moved the cursor past it."""
        id, called = book.sent.message.id, book.sent.record.call
        for peek in (record,) if walk is None else reversed(walk.peeks):
            ret = FOREVER if peek.ret is None else peek.ret
            if ret < called:
                break
            if not self.visibility.surely_free(id, peek.call, ret):
                return False
        return True

    def _empty(self, rule: str, record: Record, walk: Walk | None, shelf: Shelf, gap: Gap) -> None:
        """An empty answer: only the oldest messages matter, as many as it could have held, and those that
        perhaps were there among them."""
        call, ret = record.call, record.ret or 0
        room = min(record.args["max"], self.facts.entity.peek_cap or _LOOKED_AT)
        first = next(shelf.there(gap.low, gap.high, call, ret))
        at = bisect_left(shelf.places, shelf.place(first.number))
        self._unclear.setdefault(rule, (first, record))
        for book in shelf.books[max(gap.low, at - _LOOKED_AT) : at + _LOOKED_AT]:
            id = book.sent.message.id
            if book.sent.record.call > ret or self.shelves.gone.get(id, ret) < call:
                continue
            if book.start < call and book.end > ret and self._free(book, record, walk):
                self.report_free(rule, record, book)
                return
            room -= 1
            if not room:
                return

    def judge(self) -> None:
        """Find the owner of what was locked, now that all peeks are known."""
        shown = self._count_locked()
        self.report.count("PEEK-7", shown + len(self._locked))
        found = {finding.requirement for finding in self.report.findings}
        if self.rule not in found:
            for passed in self._locked:
                better = passed.middle or self._whole["from_seq" in passed.record.args] >= passed.total
                if shown or better:
                    self._report_locked(self.rule if shown else "PEEK-7", passed)
        found = {finding.requirement for finding in self.report.findings}
        for rule, (book, record) in self._unclear.items():
            if rule not in found and "PEEK-7" not in found:
                self.report.either(
                    (rule, "PEEK-7"),
                    f"the peek of record {record.i} passed over message {book.sent.message.id!r}, which was "
                    f"there but may have been locked: it skipped the message ({rule}), or does not show "
                    f"locked ones (PEEK-7)",
                )

    def report_free(self, rule: str, record: Record, book: Book) -> None:
        """A message that surely was there, and not locked, was not shown."""
        id, sent = book.sent.message.id, book.sent.record
        if rule == self.rule:
            self.report.find(
                rule,
                "skipped",
                "A peek skipped an older message",
                (sent, record, *self._proof(book, record)),
                f"The answer to {record.proc} shows newer messages of one partition, but not message {id!r}, "
                f"which surely was there and not locked.",
                f"message {id!r} before any newer one, or an answer that ends before it",
            )
            return
        ended = rule == "PEEK-5"
        self.report.find(
            rule,
            "nothing",
            "A walk ended before it had shown everything" if ended else "A peek returned nothing",
            (sent, record, *self._proof(book, record)),
            f"{record.proc} was shown nothing, although message {id!r} surely was there and not locked.",
            "at least one message",
        )

    def _report_locked(self, rule: str, passed: Passed) -> None:
        book, record, id = passed.book, passed.record, passed.book.sent.message.id
        holders = [s.record for s in self.facts.received[id] if (s.record.ret or record.call) < record.call]
        self.report.find(
            rule,
            "skipped a locked one",
            "A peek skipped a locked message",
            (book.sent.record, *holders[-1:], record),
            f"The answer to {record.proc} shows {'older and ' * passed.middle}newer messages of one "
            f"partition, but not message {id!r}, which surely was there and locked.",
            f"message {id!r} in its place: a lock does not hide it",
        )

    def _proof(self, book: Book, peek: Record) -> tuple[Record, ...]:
        """What shows that the message was still there after that peek."""
        id = book.sent.message.id
        for seen in (*self.facts.received.get(id, ()), *self.facts.peeked.get(id, ())):
            if seen.record.call > (peek.ret or 0):
                return (seen.record,)
        return ()

    def _count_locked(self) -> int:
        """How often a peek showed a message that surely was locked."""
        count = 0
        received, held_until = self.facts.received, self.locks.held_until
        for id, peeks in self.facts.peeked.items():
            seens = received.get(id)
            if seens is None or seens[0].record.ret is None or seens[0].record.ret >= peeks[-1].record.call:
                continue
            locked = [(s.record.ret or 0, held_until(s)) for s in seens if s.delivery.lock is not None]
            locked.sort()
            at, until = 0, -1
            for seen in peeks:
                while at < len(locked) and locked[at][0] < seen.record.call:
                    until = max(until, locked[at][1])
                    at += 1
                count += (seen.record.ret or 0) < until
        return count
