"""Messages delivered more than once: exclusive locks (RCV-6), no return of what is finished (RCV-7), the
delivery count (RCV-9).

One anomaly, one finding: a message that came back after it was finished is not judged further. Where a
history shows that RCV-7 or one of its neighbours is violated, but not which, the rule is undecided.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

from partq.conformance.facts.index import FOREVER, RET, Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.locks import Locks, UnseenLocks
from partq.conformance.facts.records import REMOVALS, deletes, returned
from partq.conformance.history import Record, time_text
from partq.conformance.screens.attribution import MISDELIVERY
from partq.conformance.screens.protocol import Report
from partq.model.operations import Outcome


class Redelivery:
    """The check of one entity's messages; `check` once."""

    def __init__(self, facts: Facts, locks: Locks, report: Report) -> None:
        self.facts = facts
        self.locks = locks
        self.report = report
        profile = facts.profile
        self.caching = profile.caching_front_ends
        self.kills = facts.dead if profile.kill_undoes_settlements else []
        self.unseen = facts.derive(UnseenLocks)
        self.counted = 0
        self.calls = [record.call for record in facts.receives]

    def check(self) -> None:
        """RCV-6, RCV-7 and RCV-9 on every message that was received and whose ID was sent once."""
        for life in self.facts.derive(Lifetimes).delivered:
            seens = life.deliveries
            if len(seens) == 1 and not seens[0].delivery.delivery_count:
                continue
            if len(seens) > 1:  # twice in one answer is `delivery.py`'s
                seens = list({seen.record.i: seen for seen in seens}.values())
            by_return = sorted(seens, key=RET)
            if len(seens) == 1 or not self._came_again(seens, by_return):
                self._count(life, by_return)
                self._limit(life, by_return)
        self.report.count("RCV-9", self.counted)
        self._exercised()

    def _came_again(self, seens: Sequence[Observation], by_return: list[Observation]) -> bool:
        """Whether one of several deliveries broke RCV-6 or RCV-7, or possibly so."""
        if self._finished(seens, by_return[-1].ret):
            return True
        return self._contested(by_return) and (
            self._overlap(seens, by_return) or self._gone_or_held(by_return)
        )

    def _contested(self, by_return: list[Observation]) -> bool:
        """Whether some delivery returned before an earlier one's lock had run out, left alone. If none did,
        there is nothing for RCV-6 or RCV-7 to look at."""
        latest = -1
        for seen in by_return:
            if seen.ret < latest:
                return True
            end = FOREVER if seen.delivery.lock is None else seen.held_unsettled
            if end > latest:
                latest = end
        return False

    # RCV-7

    def _finished(self, seens: Sequence[Observation], last_return: int) -> bool:
        """Whether the message was finished and came back (RCV-7), or possibly so."""
        for first in seens:
            end = self._finish(first)
            if end is None or end.call >= last_return:
                continue
            later = [s for s in seens if s is not first and self._came_back(s, first, end)]
            if later and self._judge_return(first, end, later):
                return True
        return False

    def _finish(self, seen: Observation) -> Record | None:
        """What finished the message for good, by way of this delivery."""
        if seen.delivery.lock is None:
            return seen.record if deletes(seen.record) else None
        for settlement in seen.settlements:
            if settlement.op in REMOVALS and settlement.outcome == Outcome.OK:
                return None if "txn" in settlement.args else settlement
        return None

    def _came_back(self, again: Observation, first: Observation, end: Record) -> bool:
        """Whether the delivery was not certainly before the finish, nor excused by a kill that undid it."""
        if again.ret <= end.call:
            return False
        if again.call <= first.ret and (end is not first.record or again.call < first.call):
            return False  # it may have been the earlier one; of two that delete, each sees the other
        return not any(kill.start < again.ret and kill.end >= end.call for kill in self.kills)

    def _judge_return(self, first: Observation, end: Record, later: list[Observation]) -> bool:
        """True where the return is, or may be, a matter of RCV-7."""
        if end is first.record:
            certain = [s for s in later if s.call > (end.ret or 0) or deletes(s.record)]
            possible = [s for s in later if s.held_until > (end.ret or 0)]
        else:
            named = [seen for name in end.args["locks"] if (seen := self.facts.locks.get(name)) is not None]
            if any(self.locks.ended_but(seen, end) < end.call for seen in named):
                return False  # a lost lock that settled: RCV-8
            ret = returned(end)
            held = first.held_until == end.call and all(seen.held_unsettled > ret for seen in named)
            certain = [s for s in later if held and s.call > ret]
            possible = later
        if certain:
            self._report_return(first, end, certain[0].record)
        elif possible:
            self.report.ambiguous(
                ("RCV-7", "RCV-6", "RCV-8"),
                f"message {first.delivery.id!r} was finished and delivered again, but the two overlap, or "
                f"its lock may have ended before: a finished message came back (RCV-7), its lock did not "
                f"exclude others (RCV-6), or a lost lock settled (RCV-8)",
            )
        return bool(certain or possible)

    def _report_return(self, first: Observation, end: Record, again: Record) -> None:
        self.report.find(
            "RCV-7",
            f"after {end.op}",
            "A finished message was delivered again",
            (self.facts.by_id[first.delivery.id][0].record, first.record, end, again),
            f"Message {first.delivery.id!r} was finished by the {end.op} of {end.proc}, yet a later receive "
            f"of {again.proc} returned it.",
            "any message that was neither completed nor received and deleted, or none",
        )

    # RCV-6

    def _overlap(self, seens: Sequence[Observation], by_return: list[Observation]) -> bool:
        """Whether two certainly held the message at a time, or one got it while another certainly held it."""
        ends = [-1 if _gives_no_lock(s) else s.held_until for s in by_return]
        held, holder = -1, by_return[0]
        for seen, end in zip(by_return, ends, strict=True):
            at = seen.ret
            if at < held and at < end:
                return self._report_overlap(holder, seen, held)
            if end > held:
                held, holder = end, seen
        return self._within(seens, by_return, ends)

    def _within(self, seens: Sequence[Observation], by_return: list[Observation], ends: list[int]) -> bool:
        """Whether a receive that began and ended while a lock certainly held returned its message."""
        held, holder, taken = -1, seens[0], 0
        for seen in seens:
            while taken < len(by_return) and by_return[taken].ret < seen.call:
                if ends[taken] > held:
                    held, holder = ends[taken], by_return[taken]
                taken += 1
            if seen.ret < held:
                return self._report_overlap(holder, seen, held)
        return False

    def _report_overlap(self, holder: Observation, seen: Observation, held: int) -> bool:
        if self.facts.profile.flows and self._shared_out(holder.record, seen.record):
            self.report.ambiguous(
                ("RCV-6", *MISDELIVERY),
                f"message {seen.delivery.id!r} was delivered twice at a time: its lock did not exclude "
                f"others (RCV-6), or went to a flow that had not its partition (REB-2)",
            )
            return True
        self.report.find(
            "RCV-6",
            "overlap",
            "A locked message was delivered to somebody else",
            (holder.record, seen.record),
            f"Message {seen.delivery.id!r} was returned to {seen.record.proc} by {time_text(seen.ret)}; "
            f"the lock that {holder.record.proc} had got on it certainly held until {time_text(held)}.",
            "any message that is not locked, or none",
        )
        return True

    def _shared_out(self, holder: Record, again: Record) -> bool:
        """Whether another flow had, or lost, partitions: the lock may have been given on one of those."""
        flow, until = holder.args.get("flow"), again.ret or FOREVER
        return flow != again.args.get("flow") or any(
            event.args.get("flow") != flow and event.args["state"] != "ready" and event.call <= until
            for event in self.facts.assignment_events
            if event.call >= holder.call
        )

    def _gone_or_held(self, by_return: list[Observation]) -> bool:
        """Whether one delivery follows another whose lock can have ended only by removing the message: it had
        gone (RCV-7) or was still locked (RCV-6)."""
        for one, two in pairwise(by_return):
            if self._bars(one, two) and self._in_turn(one, two):
                why = f"message {two.delivery.id!r} came again, still locked (RCV-6) or gone (RCV-7)"
                self.report.ambiguous(("RCV-6", "RCV-7"), why)
                return True
        return False

    def _in_turn(self, one: Observation, two: Observation) -> bool:
        """Whether the first of two deliveries certainly came first, or the other bars it as well."""
        return one.ret < two.call or self._bars(two, one)

    def _bars(self, one: Observation, two: Observation) -> bool:
        """Whether the second cannot have been delivered after the first: no lock of the first can have ended
        by then but by removing the message."""
        if self.kills:
            return False
        if one.delivery.lock is None:
            return deletes(one.record)
        return one.held_unsettled > two.ret and all(
            settlement.op in REMOVALS for settlement in one.possibly_settled_by if settlement.call <= two.ret
        )

    # RCV-9

    def _count(self, life: Lifetime, by_return: list[Observation]) -> None:
        """Hold the counts shown against the locks that ended between one delivery and the next."""
        if all(seen.delivery.delivery_count is None for seen in by_return):
            return
        low = high = 0
        free_from, since, before = life.record.call, life.record.call, None
        for seen in by_return:
            called, count = seen.call, seen.delivery.delivery_count
            hidden = self.unseen.ended(seen.partition, free_from, since, seen.ret)
            if before is not None and before.ret >= called:
                # Two at a time: which was first is not known.
                if count is not None and count == before.delivery.delivery_count:
                    if self._must_raise(before, seen) and self._must_raise(seen, before):
                        self._leave_low_open(seen)
                        return
                # Of the one that was last, the count is shown; its lock is still to end.
                low = low if count is None else min(low, count)
                high = high + 1 if count is None else max(high, count)
                high += hidden
                free_from, since = min(free_from, seen.held_until), min(since, called)
                before = seen
                continue
            certain = before is not None and self._certainly_raised(before, seen)
            low, high = low + certain, high + hidden + (before is not None)
            if count is not None:
                self.counted += certain
                if not low <= count <= high:
                    self._judge_count(life, seen, before, low, high)
                    return
                if count == low and not certain and before is not None and self._must_raise(before, seen):
                    self._leave_low_open(seen)
                    return
                low = high = count
            free_from, since, before = seen.held_until, called, seen

    def _limit(self, life: Lifetime, by_return: list[Observation]) -> None:
        """No delivery bears a higher count than the entity allows. A peek may have raised it."""
        limit = self.facts.entity.max_delivery_count
        beyond = next((seen for seen in by_return if (seen.delivery.delivery_count or 0) > limit), None)
        if beyond is None:
            return
        count, record = beyond.delivery.delivery_count, beyond.record
        if any(peek.call < beyond.ret for peek in life.peeks):
            self.report.ambiguous(
                ("RCV-9", "PEEK-6"),
                f"message {life.id!r} was delivered with count {count}, of at most {limit}: it was not "
                f"dead-lettered (RCV-9), or a peek raised it (PEEK-6)",
            )
            return
        self.report.find(
            "RCV-9",
            "beyond the maximum",
            "A message was delivered after more failed deliveries than its entity allows",
            (record,),
            f"Message {life.id!r} was delivered to {record.proc} with delivery count {count}.",
            f"a delivery count of at most {limit} (max_delivery_count)",
        )

    def _certainly_raised(self, seen: Observation, again: Observation) -> bool:
        """Whether the delivery's lock certainly ended, before that one, in a way that raises the count."""
        if seen.delivery.lock is None or self._struck(seen, again):
            return False
        called, settlements = again.call, seen.possibly_settled_by
        if not settlements:
            return seen.expired < called
        if seen.expired < called and all(s.op == "abandon" and "txn" not in s.args for s in settlements):
            return True
        first = settlements[0]
        if (
            first.op != "abandon"
            or "txn" in first.args
            or first.outcome != Outcome.OK
            or len(settlements) > 1
        ):
            return False
        return first.ret is not None and first.ret < called and seen.held_until == first.call

    def _struck(self, seen: Observation, again: Observation) -> bool:
        """Whether a fault may have ended the delivery's lock, or undone what did, before it came again."""
        return seen.struck <= again.ret and (seen.struck <= seen.ended or bool(self.kills))

    def _must_raise(self, seen: Observation, again: Observation) -> bool:
        """Whether whatever ended the delivery's lock raised the count, if its message was not removed."""
        lock = seen.delivery.lock
        if lock is None or not self.facts.profile.locks_expire:
            return False
        return not self._struck(seen, again) and all(
            (s.op in REMOVALS or s.op == "abandon") and "txn" not in s.args for s in seen.possibly_settled_by
        )

    def _leave_low_open(self, seen: Observation) -> None:
        self.report.ambiguous(
            ("RCV-9", "RCV-6", "RCV-7"),
            f"the delivery count of message {seen.delivery.id!r} did not rise: the last lock was not counted "
            f"(RCV-9), or had not ended (RCV-6), or had removed the message (RCV-7)",
        )

    def _judge_count(
        self, life: Lifetime, seen: Observation, before: Observation | None, low: int, high: int
    ) -> None:
        """A count out of bounds: left open where a neighbour of RCV-9 explains as well why it is too high."""
        count = seen.delivery.delivery_count or 0
        if count < low:
            self._report_count(seen, before, low, high)
            return
        end = seen.ret
        since = life.possibly_from if before is None else before.call
        others = bisect_right(self.calls, end) - bisect_right(self.calls, since) - 1
        neighbours = {}
        if self.caching and count <= high + others:
            neighbours["RCV-6"] = "locks ended early, also such as nobody saw (RCV-6)"
        if any(peek.call < end for peek in life.peeks):
            neighbours["PEEK-6"] = "a peek raised it (PEEK-6)"
        if neighbours:
            self.report.ambiguous(
                ("RCV-9", *neighbours),
                f"the delivery count of message {life.id!r} rose more than its locks explain: each raised it "
                f"too far (RCV-9), or {', or '.join(neighbours.values())}",
            )
        else:
            self._report_count(seen, before, low, high)

    def _report_count(self, seen: Observation, before: Observation | None, low: int, high: int) -> None:
        delivery, record = seen.delivery, seen.record
        count = delivery.delivery_count or 0
        self.report.find(
            "RCV-9",
            "too low" if count < low else "too high",
            f"A delivery count {'misses a lock that ended' if count < low else 'is too high'}",
            (record,) if before is None else (before.record, record),
            f"Message {delivery.id!r} was delivered to {record.proc} with delivery count {count}.",
            f"a delivery count of {low}" if low == high else f"a delivery count from {low} to {high}",
        )

    # What was put to the test.

    def _exercised(self) -> None:
        receives = self.facts.receives
        if not receives:
            return
        last = self.calls[-1]
        finished = sum(
            len(record.args["locks"])
            for record in self.facts.settlements
            if record.op in REMOVALS
            and record.outcome == Outcome.OK
            and record.ret is not None
            and record.ret < last
            and "txn" not in record.args
        )
        finished += sum(
            len(r.messages)
            for r in receives
            if r.messages and deletes(r) and r.ret is not None and r.ret < last
        )
        self.report.count("RCV-7", finished)
        self._exercised_exclusion(receives)

    def _exercised_exclusion(self, receives: list[Record]) -> None:
        """A lock was tested where some receive began while it held, and ended then, or waited and returned
        its message after it."""
        by_lock = self.facts.locks
        tested = 0
        for record in receives:
            if not record.messages or record.ret is None or deletes(record):
                continue
            after = bisect_left(self.calls, record.ret)
            if after == len(receives):
                break
            asked, ret = receives[after], receives[after].ret
            if ret is None or asked.outcome != Outcome.OK:
                continue
            waited = {shown.id for shown in asked.messages}
            for delivery in record.messages:
                lock = delivery.lock
                if lock is None:
                    continue
                held, settlements = by_lock[lock].held_until, by_lock[lock].settlements
                if held > (asked.call if delivery.id in waited else ret):
                    tested += not settlements or settlements[0].call > ret
        self.report.count("RCV-6", tested)


def _gives_no_lock(seen: Observation) -> bool:
    return seen.delivery.lock is None and (deletes(seen.record) or seen.record.op != "receive")
