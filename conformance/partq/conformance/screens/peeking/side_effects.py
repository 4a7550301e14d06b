"""PEEK-6: a peek changes nothing. It gives no lock, and raises no delivery count.

What count a peek may show follows from what was shown before, and from the locks that may have ended since.
Where it is out of these bounds, the peek (PEEK-6) or the end of a lock (RCV-9, RCV-6) made it so.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

from partq.conformance.facts.index import CALL, FOREVER, RET, Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.locks import UnseenLocks
from partq.conformance.facts.visibility import Visibility
from partq.conformance.screens.protocol import Report

_REQUIREMENT: Final = "PEEK-6"

_SCAN: Final = 64
"""So many deliveries of a message at a time are looked at; of more nothing is said."""


def check_touching(facts: Facts, visibility: Visibility, report: Report) -> None:
    """PEEK-6 on every message that was peeked."""
    lives = facts.derive(Lifetimes)
    report.count(_REQUIREMENT, sum(map(len, facts.peeked.values())))
    for id, peeks in facts.peeked.items():
        for seen in peeks:
            if seen.delivery.lock is not None:
                _locked(report, seen)
                break
        life = lives.get(id)
        if life is None:
            continue
        appearances = life.appearances
        if any(seen.delivery.delivery_count for seen in appearances):
            if not _check_count(facts, visibility, report, life, appearances):
                _check_bounds(facts, report, life, appearances)


def _check_count(
    facts: Facts, visibility: Visibility, report: Report, life: Lifetime, appearances: Sequence[Observation]
) -> bool:
    """From a peek to the next appearance the count stays, if no lock can have ended in between, and none
    before whose end was not counted yet. Whether it was found not to."""
    before: Observation | None = None
    for seen in appearances:
        count = seen.delivery.delivery_count
        if count is None:
            continue
        if before is not None and count != before.delivery.delivery_count:
            own = seen.record if _is_later_receive(seen, before) else None
            until = max(before.ret, seen.ret)  # overlapping peeks may take effect in either order
            if visibility.count_rests(life, before.call, until, own):
                late = _counted_late(facts, life, before, seen)
                if not late and not _counted_unseen(facts, life, before, seen, until):
                    _raised(report, before, seen)
                    return True
        before = seen if seen.record.op == "peek" else None
    return False


def _counted_unseen(facts: Facts, life: Lifetime, before: Observation, seen: Observation, until: int) -> bool:
    """Whether locks of front ends that nobody saw, and no receive asked for, may have raised the count."""
    ends = facts.derive(UnseenLocks).ended(seen.partition, life.possibly_from, before.call, until)
    return 0 < _count(seen) - _count(before) <= ends


def _counted_late(facts: Facts, life: Lifetime, before: Observation, seen: Observation) -> bool:
    """Whether a lock that had ended before the peek, a client's or one that nobody saw, may have been counted
    after it (RCV-9 says not when)."""
    if _count(seen) != _count(before) + 1:
        return False
    if any(given.call < before.call for given in life.deliveries[:1]):
        return True
    known = life.possibly_from
    return facts.derive(UnseenLocks).ended(seen.partition, known, known, before.call) > 0


def _is_later_receive(seen: Observation, before: Observation) -> bool:
    """Whether it is a receive that the peek before it certainly preceded. If the two overlap, the lock that
    the receive gave may have ended before the peek took effect."""
    return seen.record.op != "peek" and before.ret < seen.call


def _check_bounds(facts: Facts, report: Report, life: Lifetime, appearances: Sequence[Observation]) -> None:
    """No count is less than one that was shown before, and no peek shows more than the locks that may have
    ended by then explain."""
    if facts.profile.kill_undoes_settlements:
        return
    wrong = _sunk(appearances) or _too_high(facts, life)
    if wrong is not None:
        seen = f"{wrong.record.op} of record {wrong.record.i} shows {life.id!r}"
        why = (
            f"{seen} with delivery count {wrong.delivery.delivery_count}, which the ends of its locks exclude"
        )
        report.ambiguous(("RCV-9", "PEEK-6", "RCV-6"), why)


def _sunk(appearances: Sequence[Observation]) -> Observation | None:
    """The first that shows a lower count than one that was over before it. They are in order of calls."""
    counts = [count for seen in appearances if (count := seen.delivery.delivery_count) is not None]
    if counts == sorted(counts):
        return None
    over = sorted(appearances, key=RET)
    at, most = 0, 0
    for seen in appearances:
        while at < len(over) and over[at].ret < seen.call:
            most = max(most, _count(over[at]))
            at += 1
        count = seen.delivery.delivery_count
        if count is not None and count < most:
            return seen
    return None


def _too_high(facts: Facts, life: Lifetime) -> Observation | None:
    """The first peek that shows a count higher than the locks that may have ended explain."""
    peeks = [peek for peek in life.peeks if peek.delivery.delivery_count]
    over = sorted((s for s in life.deliveries if s.delivery.delivery_count is not None), key=RET)
    return next((peek for peek in peeks if _count(peek) > _highest(facts, life, over, peek)), None)


def _highest(facts: Facts, life: Lifetime, over: list[Observation], peek: Observation) -> int:
    """The highest count that a peek may show: that of the last delivery before it, and one for each lock
    since that may have ended. ``over``: the deliveries that show a count, in order of returns."""
    at = bisect_left(over, peek.call, key=RET)
    last = over[at - 1] if at else None
    since = life.possibly_from if last is None else last.call
    begun = bisect_right(life.deliveries, peek.ret, key=CALL)
    recent = [seen for seen in life.deliveries[max(0, begun - _SCAN) : begun] if seen.ret >= since]
    if len(recent) == _SCAN:
        return FOREVER  # too many at a time to tell
    ends = sum(seen.held_until <= peek.ret for seen in recent)
    start = since if last is None else last.held_until
    known = 0 if last is None else _count(last)
    return known + ends + facts.derive(UnseenLocks).ended(peek.partition, start, since, peek.ret)


def _count(seen: Observation) -> int:
    return seen.delivery.delivery_count or 0


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
