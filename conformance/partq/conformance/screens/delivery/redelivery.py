"""Messages delivered more than once: exclusive locks (RCV-6), no return of finished messages (RCV-7), the
delivery count (RCV-9).

One anomaly, one finding: a message that came back after it was finished, or while it was locked, is not
judged further. Where a history shows that one of several rules is violated, but not which, the judge decides.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from partq.conformance.facts.index import RET, Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.locks import Locks, UnseenLocks
from partq.conformance.facts.records import REMOVALS
from partq.conformance.history import Record, time_text
from partq.conformance.screens.protocol import Report


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
            if len(seens) == 1 or not (
                self._finished(seens, by_return[-1].ret) or self._overlap(seens, by_return)
            ):
                self._count(life, by_return)
        self.report.count("RCV-9", self.counted)
        self._exercised()

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
        """The operation that finished the message for good, by this delivery or its lock."""
        if seen.delivery.lock is None:
            return seen.record if seen.record.deletes else None
        for settlement in seen.settlements:
            if settlement.op in REMOVALS and settlement.ok:
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
        """Judge the return; True if RCV-7 is, or may be, the rule it breaks."""
        ret = end.end
        if end is first.record:
            certain = [s for s in later if s.call > ret or s.record.deletes]
        else:
            named = [seen for name in end.args["locks"] if (seen := self.facts.locks.get(name)) is not None]
            if any(self.locks.ended_but(seen, end) < end.call for seen in named):
                return False  # a lost lock that settled: RCV-8
            held = first.held_until == end.call and all(seen.held_unsettled > ret for seen in named)
            certain = [s for s in later if held and s.call > ret]
        for again in certain[:1]:
            why = f"Message {first.delivery.id!r} was finished by the {end.op} of {end.proc}, yet a later "
            why += f"receive of {again.record.proc} returned it."
            sent = self.facts.by_id[first.delivery.id][0].record
            self.report.find("RCV-7", f"after {end.op}", (sent, first.record, end, again.record), why)
        return bool(certain) or end is not first.record or any(s.held_until > ret for s in later)

    # RCV-6

    def _overlap(self, seens: Sequence[Observation], by_return: list[Observation]) -> bool:
        """Whether one got the message while another certainly held it. Of two that got it at a time the judge
        says whether both held it."""
        ends = [-1 if _gives_no_lock(s) else s.held_until for s in by_return]
        held, holder, taken = -1, by_return[0], 0
        for seen in seens:
            while taken < len(by_return) and by_return[taken].ret < seen.call:
                if ends[taken] > held:
                    held, holder = ends[taken], by_return[taken]
                taken += 1
            if seen.ret < held:
                return self._report_overlap(holder, seen, held)
        return False

    def _report_overlap(self, holder: Observation, seen: Observation, held: int) -> bool:
        """With flows, it may also have gone to one that had not its partition (REB-2)."""
        if not (self.facts.profile.flows and self._shared_out(holder.record, seen.record)):
            why = f"{seen.delivery.id!r} was returned to {seen.record.proc} by {time_text(seen.ret)}; "
            why += f"the lock that {holder.record.proc} had got on it certainly held until {time_text(held)}."
            self.report.find("RCV-6", "overlap", (holder.record, seen.record), why)
        return True

    def _shared_out(self, holder: Record, again: Record) -> bool:
        """Whether another flow had, or lost, partitions: the lock may have been given on one of those."""
        flow, until = holder.args.get("flow"), again.end
        return flow != again.args.get("flow") or any(
            event.args.get("flow") != flow and event.args["state"] != "ready"
            for event in self.facts.assignment_events
            if holder.call <= event.call <= until
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
                # Two at a time: which was first is not known. Of the one that was last, the count is shown;
                # its lock is still to end.
                low = low if count is None else min(low, count)
                high = (high + 1 if count is None else max(high, count)) + hidden
                free_from, since, before = min(free_from, seen.held_until), min(since, called), seen
                continue
            certain = before is not None and self._certainly_raised(before, seen)
            low, high = low + certain, high + hidden + (before is not None)
            if count is not None:
                self.counted += certain
                if not low <= count <= high:
                    self._judge_count(life, seen, before, low, high)
                    return
                low = high = count
            free_from, since, before = seen.held_until, called, seen

    def _certainly_raised(self, seen: Observation, again: Observation) -> bool:
        """Whether the delivery's lock certainly ended, before that one, in a way that raises the count; not
        by a fault, and none undid it."""
        struck = seen.struck <= again.ret and (seen.struck <= seen.ended or bool(self.kills))
        if seen.delivery.lock is None or struck:
            return False
        settlements = seen.possibly_settled_by
        if any(one.op != "abandon" or "txn" in one.args for one in settlements):
            return False
        if seen.expired < again.call or not settlements:
            return seen.expired < again.call
        first = settlements[0]
        settled = first.ok and first.end < again.call
        return settled and len(settlements) == 1 and seen.held_until == first.call

    def _judge_count(
        self, life: Lifetime, seen: Observation, before: Observation | None, low: int, high: int
    ) -> None:
        """A count out of bounds, unless a peek (PEEK-6), or locks that ended early, also such as nobody saw
        (RCV-6), explain as well why it is too high."""
        delivery, record = seen.delivery, seen.record
        count, since = delivery.delivery_count or 0, life.possibly_from if before is None else before.call
        others = bisect_right(self.calls, seen.ret) - bisect_right(self.calls, since) - 1
        early = self.caching and count <= high + others
        if count < low or not (early or any(peek.call < seen.ret for peek in life.peeks)):
            cause = "too low" if count < low else "too high"
            why = f"Message {delivery.id!r} was delivered to {record.proc} with delivery count {count}."
            self.report.find("RCV-9", cause, (record,) if before is None else (before.record, record), why)

    # What was exercised.

    def _exercised(self) -> None:
        """RCV-7 was by all that was finished before the last receive; RCV-6 by each lock that was tried."""
        receives = self.facts.receives
        if not receives:
            return
        last = self.calls[-1]
        plain = (one for one in self.facts.settlements if one.op in REMOVALS and "txn" not in one.args)
        finished = sum(len(one.args["locks"]) for one in plain if one.ok and one.end < last)
        finished += sum(len(r.messages) for r in receives if r.messages and r.deletes and r.end < last)
        self.report.count("RCV-7", finished)
        self.report.count("RCV-6", sum(map(self._tested, receives)))

    def _tested(self, receive: Record) -> int:
        """How many of the locks that it gave held through the receive that follows it, or as that was called,
        if it waited and returned their message."""
        if not receive.messages or receive.ret is None or receive.deletes:
            return 0
        after = bisect_left(self.calls, receive.ret)
        following = self.facts.receives[after] if after < len(self.calls) else None
        if following is None or following.ret is None or not following.ok:
            return 0
        ret, waited = following.ret, {shown.id for shown in following.messages}
        given = (self.facts.locks[one.lock] for one in receive.messages if one.lock is not None)
        through = ((seen, following.call if seen.delivery.id in waited else ret) for seen in given)
        held = [seen for seen, until in through if seen.held_until > until]
        return sum(not seen.settlements or seen.settlements[0].call > ret for seen in held)


def _gives_no_lock(seen: Observation) -> bool:
    return seen.delivery.lock is None and (seen.record.deletes or seen.record.op != "receive")
