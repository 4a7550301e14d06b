"""PEEK-6: a peek changes nothing. It gives no lock, and raises no delivery count.

What count a peek may show follows from what was shown before, and from the locks that may have ended since.
Where it is out of these bounds, the peek (PEEK-6) or the end of a lock (RCV-9, RCV-6) made it so.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

from partq.conformance.facts.index import FOREVER, Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.locks import Locks, UnseenLocks
from partq.conformance.facts.records import returned
from partq.conformance.facts.visibility import Visibility
from partq.conformance.screens.protocol import Report

_REQUIREMENT: Final = "PEEK-6"

_SCAN: Final = 64
"""So many deliveries of a message at a time are looked at; of more nothing is said."""


def check_touching(facts: Facts, visibility: Visibility, report: Report) -> None:
    """PEEK-6 on every message that was peeked."""
    lives = facts.derive(Lifetimes)
    for id, peeks in facts.peeked.items():
        report.count(_REQUIREMENT, len(peeks))
        for seen in peeks:
            if seen.delivery.lock is not None:
                _locked(report, seen)
                break
        life = lives.get(id)
        if life is not None and not _check_count(facts, visibility, report, life):
            _check_bounds(facts, report, life)


def _check_count(facts: Facts, visibility: Visibility, report: Report, life: Lifetime) -> bool:
    """From a peek to the next appearance the count stays, if no lock can have ended in between. Whether it
    was found not to."""
    before: Observation | None = None
    for seen in life.appearances:
        count = seen.delivery.delivery_count
        if count is None:
            continue
        if before is not None and count != before.delivery.delivery_count:
            own = seen.record if _is_later_receive(seen, before) else None
            ends = (before.record.ret, seen.record.ret)  # overlapping peeks may take effect in either order
            until = None if None in ends else max(end for end in ends if end is not None)
            if until is not None and visibility.count_rests(life, before.record.call, until, own):
                if not _counted_unseen(facts, life, before, seen, until) and (
                    own is None or not _counted_late(life, before, seen)
                ):
                    _raised(report, before, seen)
                    return True
        before = seen if seen.record.op == "peek" else None
    return False


def _counted_unseen(facts: Facts, life: Lifetime, before: Observation, seen: Observation, until: int) -> bool:
    """Whether locks of front ends that nobody saw, and no receive asked for, may have raised the count."""
    ends = facts.derive(UnseenLocks).ended(seen.partition, life.possibly_from, before.record.call, until)
    return 0 < (seen.delivery.delivery_count or 0) - (before.delivery.delivery_count or 0) <= ends


def _counted_late(life: Lifetime, before: Observation, seen: Observation) -> bool:
    """Whether a lock that had ended before the peek may have been counted when the message was delivered."""
    once = (before.delivery.delivery_count or 0) + 1
    earlier = life.deliveries[0].record.call
    return seen.delivery.delivery_count == once and earlier < before.record.call


def _is_later_receive(seen: Observation, before: Observation) -> bool:
    """Whether it is a receive that the peek before it certainly preceded. If the two overlap, the lock that
    the receive gave may have ended before the peek took effect."""
    ret = before.record.ret
    return seen.record.op != "peek" and ret is not None and ret < seen.record.call


def _check_bounds(facts: Facts, report: Report, life: Lifetime) -> None:
    """No count is less than one that was shown before, and no peek shows more than the locks that may have
    ended by then explain."""
    if facts.profile.kill_undoes_settlements:
        return
    wrong = _sunk([*life.peeks, *life.deliveries]) or _Ends(facts, life).too_many()
    if wrong is not None:
        seen = f"{wrong.record.op} of record {wrong.record.i} shows {life.id!r}"
        why = (
            f"{seen} with delivery count {wrong.delivery.delivery_count}, which the ends of its locks exclude"
        )
        report.ambiguous(("RCV-9", "PEEK-6", "RCV-6"), why)


def _sunk(appearances: list[Observation]) -> Observation | None:
    """The first that shows a lower count than one that was over before it."""
    over = sorted((seen for seen in appearances if seen.record.ret is not None), key=_returned)
    at, most = 0, 0
    for seen in sorted(appearances, key=_by_call):
        while at < len(over) and _returned(over[at]) < seen.record.call:
            most = max(most, over[at].delivery.delivery_count or 0)
            at += 1
        count = seen.delivery.delivery_count
        if count is not None and count < most:
            return seen
    return None


class _Ends:
    """The deliveries of one message, asked which of their locks may have ended when a peek looked."""

    def __init__(self, facts: Facts, life: Lifetime) -> None:
        self.facts = facts
        self.locks = facts.derive(Locks)
        self.life = life
        counted = (
            s for s in life.deliveries if s.record.ret is not None and s.delivery.delivery_count is not None
        )
        self.over = sorted(counted, key=_returned)

    def too_many(self) -> Observation | None:
        """The first peek that shows a count too high."""
        for peek in self.life.peeks:
            count, ret = peek.delivery.delivery_count, peek.record.ret
            if count and ret is not None and count > self._most(peek, ret):
                return peek
        return None

    def _most(self, peek: Observation, ret: int) -> int:
        """The highest count that it may show: that of the last delivery before it, and one for each lock
        since that may have ended."""
        at = bisect_left(self.over, peek.record.call, key=_returned)
        last = self.over[at - 1] if at else None
        deliveries, sent = self.life.deliveries, self.life.possibly_from
        since = sent if last is None else last.record.call
        begun = bisect_right(deliveries, ret, key=_by_call)
        recent = [seen for seen in deliveries[max(0, begun - _SCAN) : begun] if _returned(seen) >= since]
        if len(recent) == _SCAN:
            return FOREVER  # too many at a time to tell
        ends = sum(seen.held_until <= ret for seen in recent)
        start = sent if last is None else last.held_until
        known = 0 if last is None else last.delivery.delivery_count or 0
        return known + ends + self.facts.derive(UnseenLocks).ended(peek.partition, start, since, ret)


def _returned(seen: Observation) -> int:
    return returned(seen.record)


def _by_call(seen: Observation) -> int:
    return seen.record.call


def _locked(report: Report, seen: Observation) -> None:
    report.find(
        _REQUIREMENT,
        "lock",
        "A peek gave a lock",
        (seen.record,),
        f"{seen.record.proc} peeked message {seen.delivery.id!r} and got a lock with it.",
        "the message without a lock",
    )


def _raised(report: Report, before: Observation, seen: Observation) -> None:
    report.find(
        _REQUIREMENT,
        "count",
        "A peek changed a delivery count",
        (before.record, seen.record),
        f"Message {seen.delivery.id!r} showed delivery count {before.delivery.delivery_count}, then "
        f"{seen.delivery.delivery_count}, and nobody can have locked it in between.",
        f"delivery count {before.delivery.delivery_count}",
    )
