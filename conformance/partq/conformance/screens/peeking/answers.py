"""Peeking: PEEK-1 to PEEK-7.

Here is what one answer may hold and where it has to start. Which messages certainly were there is
`facts.partition_log`, where a cursor stands `facts.peek_cursors`, whose anomaly a skipped message is
`skipping.py`, what a peek must not change `side_effects.py`, in what state it shows a message `states.py`.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.facts.lifetimes import Lifetimes
from partq.conformance.facts.partition_log import Omission, PartitionLog, PartitionLogs
from partq.conformance.facts.peek_cursors import Resets, Walk
from partq.conformance.facts.records import REMOVALS
from partq.conformance.history import Record
from partq.conformance.screens.peeking.side_effects import check_touching
from partq.conformance.screens.peeking.skipping import Skipping
from partq.conformance.screens.peeking.states import check_states
from partq.conformance.screens.protocol import Report, Screen
from partq.model.messages import Delivery
from partq.model.operations import Outcome


def check(facts: Facts) -> Report:
    """What the peeks of this entity show of PEEK-1 to PEEK-7."""
    report = Report()
    if facts.peeks:
        peeking = Peeking(facts, report)
        peeking.check()
        check_touching(facts, peeking.skipping.visibility, report)
        check_states(facts, report)
    return report


class Peeking:
    """The check of one entity's peeks; `check` once."""

    def __init__(self, facts: Facts, report: Report) -> None:
        self.facts = facts
        self.report = report
        self.flat = not facts.profile.partitioned
        self.bits = facts.profile.counter_bits
        self.logs = PartitionLogs(facts)
        self.skipping = Skipping(facts, self.logs, report)
        self.resets = Resets(facts)
        self.walks: dict[str, Walk] = {}

    def check(self) -> None:
        """PEEK-1 to PEEK-5 and PEEK-7 on every peek, in order of calls."""
        for record in self.facts.peeks:
            if record.outcome == Outcome.ERROR:
                continue
            walk = None
            if "from_seq" not in record.args:
                walk = self.walks.get(record.proc)
                if walk is None:
                    walk = self.walks[record.proc] = Walk()
                walk.begin(record, self.resets.of(record.proc))
            if record.outcome == Outcome.OK and record.ret is not None:
                self._answer(record, walk)
            elif walk is not None:
                walk.lose()
        self.skipping.judge()

    def _answer(self, record: Record, walk: Walk | None) -> None:
        messages = record.messages
        if walk is not None and walk.cursors:
            self.report.count("PEEK-5")
        if not messages:
            self._nothing(record, walk)
            return
        self.report.count("PEEK-4")
        if len(messages) > record.args["max"]:
            self._too_many(record)
        groups: dict[int, list[Delivery]] = {}
        partition_of = self.facts.profile.partition_of
        for delivery in messages:
            partition = 0 if self.flat else partition_of(delivery)
            if partition is not None and delivery.seq is not None:
                groups.setdefault(partition, []).append(delivery)
            elif walk is not None:
                walk.lose()  # the cursor is after a number that was not shown
        if len(groups) > 1:
            self.report.count("PEEK-3")
        for partition, group in groups.items():
            log = self.logs.by_partition.get(partition)
            if log is not None:
                self._group(record, walk, partition, log, group)
        self._check_each(record)

    def _group(
        self, record: Record, walk: Walk | None, partition: int, log: PartitionLog, group: list[Delivery]
    ) -> None:
        """One partition's part of an answer."""
        places = [log.place(delivery.seq or 0) for delivery in group]
        ordered = sorted(places)
        if self.flat and ordered != places and self.skipping.trusts(partition, log):
            self._unordered(record)
        if walk is None:
            start = self._from(record, log)
            if start is not None:
                self._check_from(record, partition, log, group, places, start)
        else:
            start = self._after(record, walk, partition, log, group, places)
            walk.move(partition, ordered[-1])
            walk.shown.setdefault(partition, set()).update(delivery.id for delivery in group)
        self.report.count(self.skipping.requirement)
        omissions = list(log.omissions(start, ordered, record.call, record.ret or 0))
        if omissions:
            self.skipping.passed(
                self.skipping.requirement, record, walk, partition, log, omissions, len(group)
            )
        elif start is not None:
            self.skipping.whole(record, len(group))

    def _from(self, record: Record, log: PartitionLog) -> int | None:
        """The index at which a peek from a number of its own starts; None where that is not clear. Zero asks
        for everything."""
        number = record.args["from_seq"]
        if number == 0:
            return 0
        return log.since(number & log.mask, 0 if self.flat else number >> self.bits)

    def _check_from(
        self,
        record: Record,
        partition: int,
        log: PartitionLog,
        group: list[Delivery],
        places: list[int],
        start: int,
    ) -> None:
        first = log.places[start] if start < len(log.places) else log.mask + 1
        early = min(zip(places, group, strict=True), key=_place)
        if early[0] < first and log.has(early[0]) and self.skipping.trusts(partition, log):
            self.report.find(
                self.skipping.requirement,
                "before its start",
                "A peek returned a message from before its start",
                (record,),
                f"{record.proc} peeked from number {record.args['from_seq']} on, and was shown message "
                f"{early[1].id!r}, number {early[1].seq}.",
                "messages with that number or later ones",
            )

    def _after(
        self,
        record: Record,
        walk: Walk,
        partition: int,
        log: PartitionLog,
        group: list[Delivery],
        places: list[int],
    ) -> int | None:
        """The index from which on a walk's answer may leave nothing out; None if that is not known."""
        cursor = walk.cursors.get(partition)
        if cursor is None or min(places) > cursor.place:
            return self._rest(walk, partition, log)
        if cursor.reset:
            shown = walk.shown.pop(partition, set())
            start = self._possibly_reset(record, shown, partition, log, group, places)
            return None if walk.vague else start
        if self.skipping.trusts(partition, log):
            self._went_back(record, walk.shown.get(partition, set()), group, places, cursor.place)
        return None

    def _possibly_reset(
        self,
        record: Record,
        shown: set[str],
        partition: int,
        log: PartitionLog,
        group: list[Delivery],
        places: list[int],
    ) -> int | None:
        """The same after a fault that may have put the cursor back to the start. If it did, nothing there may
        be left out; if not, a message shown before is shown again. Where both are wrong, the history does not
        show which."""
        first = bisect_left(log.places, min(places))
        again = any(delivery.id in shown for delivery in group)
        if not again or not log.any_there(0, first, record.call, record.ret or 0):
            return 0
        if self.skipping.trusts(partition, log):
            why = (
                f"the peek of record {record.i} shows a message again, after a fault: the walk went back "
                f"(PEEK-5), or began anew and left older ones out ({self.skipping.requirement}, PEEK-7)"
            )
            self.report.ambiguous(("PEEK-5", self.skipping.requirement, "PEEK-7"), why)
        return None

    def _check_each(self, record: Record) -> None:
        """No message twice in one answer, and none that is gone."""
        ids = dict.fromkeys(delivery.id for delivery in record.messages)
        if len(ids) < len(record.messages):
            self._check_twice(record)
        gone = self.logs.gone
        if gone:
            for id in ids:
                if gone.get(id, record.call) < record.call:
                    self._check_removed(record, id)

    # Empty answers.

    def _nothing(self, record: Record, walk: Walk | None) -> None:
        call, ret = record.call, record.ret or 0
        requirement = "PEEK-4" if walk is None or walk.fresh else "PEEK-5"
        if self.logs.any_there(call, ret):
            for partition, log in self.logs.by_partition.items():
                start = self._from(record, log) if walk is None else self._rest(walk, partition, log)
                end = len(log.places)
                if start is not None and log.any_there(start, end, call, ret):
                    self.skipping.passed(
                        requirement, record, walk, partition, log, [Omission(start, end, False)], 0
                    )
        elif walk is not None and walk.fresh:
            self._nothing_at_all(record)

    def _rest(self, walk: Walk, partition: int, log: PartitionLog) -> int | None:
        """The index of what the walk has still to be shown; None if that is not known."""
        if walk.vague:
            return None
        cursor = walk.cursors.get(partition)
        return 0 if cursor is None else log.after(cursor.place)

    def _nothing_at_all(self, record: Record) -> None:
        """An empty first answer, and messages that nobody ever saw: without a drain they are not lost."""
        call, ret = record.call, record.ret or 0
        unseen = self.logs.unseen
        if unseen is None or unseen.start >= call or unseen.end <= ret:
            return
        if self.skipping.locks.faults(None).touching(unseen.start, ret):
            return
        if not self.skipping.visibility.shadowed(call, ret):
            self.skipping.report_free("PEEK-4", record, unseen)

    def _check_removed(self, record: Record, id: str) -> None:
        """A message that had been removed is still shown. If it is delivered again, that is RCV-7."""
        requirement, facts = self.skipping.requirement, self.facts
        if any(seen.ret > self.logs.gone[id] for seen in facts.received[id]):
            return
        if facts.drained is None or not self._certainly_gone(id, record.call):
            self.report.ambiguous(
                (requirement, "RCV-7", "RCV-8"),
                f"message {id!r} was peeked after its removal: it is shown though it is gone "
                f"({requirement}), or the removal came to nothing (RCV-7, RCV-8)",
            )
            return
        self.report.find(
            requirement,
            "removed",
            "A peek showed a message that was gone",
            (*(seen.record for seen in facts.received[id][-1:]), record),
            f"{record.proc} was shown message {id!r}, which had been removed before and did not come back.",
            "messages that are there",
        )

    def _certainly_gone(self, id: str, before: int) -> bool:
        """Whether a receive, or a settlement by a lock that certainly held, had removed it before then."""
        for seen in self.facts.received[id]:
            if seen.delivery.lock is None:
                if seen.ret < before:
                    return True
                continue
            for end in seen.settlements:
                removed = end.op in REMOVALS and end.outcome == Outcome.OK and "txn" not in end.args
                if removed and end.ret is not None and end.ret < min(before, seen.held_unsettled):
                    return True
        return False

    # Findings about one answer alone.

    def _too_many(self, record: Record) -> None:
        self.report.find(
            "PEEK-4",
            "more than max",
            "A peek returned more messages than were asked for",
            (record,),
            f"{record.proc} asked for {record.args['max']} and was shown {len(record.messages)}.",
            f"at most {record.args['max']} messages",
        )

    def _unordered(self, record: Record) -> None:
        self.report.find(
            "PEEK-1",
            "order",
            "A peek's answer is not in order",
            (record,),
            f"The numbers in the answer to {record.proc} do not increase.",
            "the same messages in the order of their numbers",
        )

    def _went_back(
        self, record: Record, shown: set[str], group: list[Delivery], places: list[int], at: int
    ) -> None:
        back = next(delivery for delivery, place in zip(group, places, strict=True) if place <= at)
        twice = back.id in shown
        self.report.find(
            "PEEK-5" if twice else self.skipping.requirement,
            "again" if twice else "behind the cursor",
            "A walk returned a message twice" if twice else "A peek went back behind its cursor",
            (*self._earlier(record, back.id), record),
            f"{record.proc} was shown message {back.id!r}, number {back.seq}, though its cursor "
            f"stood after it.",
            "messages after the cursor",
        )

    def _earlier(self, record: Record, id: str) -> tuple[Record, ...]:
        """The last peek that moved the client's cursor past that message by showing it."""
        shown = [seen.record for seen in self.facts.peeked[id] if seen.record.proc == record.proc]
        cursorless = (peek for peek in shown if peek.args.get("from_seq") is None)
        return tuple(peek for peek in cursorless if peek.call < record.call)[-1:]

    def _check_twice(self, record: Record) -> None:
        delivery = self.facts.derive(Lifetimes).twice_in(record)
        if delivery is not None:
            self.report.find(
                "PEEK-5",
                "twice in one answer",
                "One answer showed a message twice",
                (record,),
                f"Message {delivery.id!r} is in one answer to {record.proc} more than once.",
                "each message once",
            )


def _place(pair: tuple[int, Delivery]) -> int:
    return pair[0]


_PEEK: Final = ("peek",)

SCREEN: Final = Screen(
    name="peeking",
    requirements=tuple(f"PEEK-{n}" for n in range(1, 8)),
    check=check,
    blind_spots=(
        "Messages whose ID was sent more than once, or that were shown with two numbers or without one, are "
        "not missed in an answer.",
        "After a drain a message counts as skipped only if it shows up again after the peek (else "
        "it is lost: RCV-2). A message sent in a transaction counts once it was seen and the commit was ok.",
        "A skipped message that may have been locked leaves the rule unknown (PEEK-7 may be the broken one); "
        "with caching front ends any message may be, for some time after a receive. PEEK-7 is found where "
        "other answers show that peeks skip nothing but locked messages.",
        "A fault that may have hit the client may have reset its cursors: both readings are allowed then.",
        "A removed message that is still peeked is found after a drain only; before, RCV-7 may be the broken "
        "rule, and it is left unknown.",
        "PEEK-4: that a message was there while its send ran is not inferred from its enqueued time (SEQ-7), "
        "nor is what a peek may show inferred from what other peeks, overlapping it, showed.",
        "PEEK-2, PEEK-5 and PEEK-7: a peek that leaves out what a transaction or an overlapping receive may "
        "have changed is not held against it.",
        "PEEK-1: the order within an answer is checked on a non-partitioned entity only.",
        "PEEK-6: which counts a peek may show follows from what its message showed before, not from what it "
        "shows later, unless that is less; with caching front ends each full lock duration may have raised "
        "it.",
        "PEEK-6: that a peeked message cannot be settled is not tried, a peek having given no lock.",
        "PEEK-7: of the state that a message is shown in it is looked at only whether it is deferred, or "
        "scheduled, though no client made it so; not where any message of the entity was deferred.",
    ),
    needs={f"PEEK-{n}": (*_PEEK, *("sequence numbers",) * (n in (1, 2, 3, 5))) for n in range(1, 8)},
)
