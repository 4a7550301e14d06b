"""PEEK-6: a peek changes nothing. It gives no lock, and raises no delivery count."""

from __future__ import annotations

from typing import Final

from partq.conformance.facts.index import Facts, Observation
from partq.conformance.facts.visibility import Visibility
from partq.conformance.screens.protocol import Report

_REQUIREMENT: Final = "PEEK-6"


def check_touching(facts: Facts, visibility: Visibility, report: Report) -> None:
    """PEEK-6 on every message that was peeked."""
    for id, peeks in facts.peeked.items():
        report.count(_REQUIREMENT, len(peeks))
        for seen in peeks:
            if seen.delivery.lock is not None:
                _locked(report, seen)
                break
        if len(facts.by_id.get(id, ())) == 1:
            _check_count(facts, visibility, report, id, peeks)


def _check_count(
    facts: Facts, visibility: Visibility, report: Report, id: str, peeks: list[Observation]
) -> None:
    """From a peek to the next appearance the count stays, if no lock can have ended in between."""
    received = facts.received.get(id)
    appearances = peeks if received is None else sorted(peeks + received, key=_by_call)
    before: Observation | None = None
    for seen in appearances:
        count = seen.delivery.delivery_count
        if count is None:
            continue
        if before is not None and count != before.delivery.delivery_count:
            own = seen.record if _is_later_receive(seen, before) else None
            ends = (before.record.ret, seen.record.ret)  # overlapping peeks may take effect in either order
            until = None if None in ends else max(end for end in ends if end is not None)
            if until is not None and visibility.count_rests(id, before.record.call, until, own):
                if own is None or not _counted_late(facts, before, seen):
                    _raised(report, before, seen)
                    return
        before = seen if seen.record.op == "peek" else None


def _counted_late(facts: Facts, before: Observation, seen: Observation) -> bool:
    """Whether a lock that had ended before the peek may have been counted when the message was delivered."""
    once = (before.delivery.delivery_count or 0) + 1
    earlier = facts.received[seen.delivery.id][0]
    return seen.delivery.delivery_count == once and earlier.record.call < before.record.call


def _is_later_receive(seen: Observation, before: Observation) -> bool:
    """Whether it is a receive that the peek before it certainly preceded. If the two overlap, the lock that
    the receive gave may have ended before the peek took effect."""
    returned = before.record.ret
    return seen.record.op != "peek" and returned is not None and returned < seen.record.call


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
