"""PEEK-6: a peek changes nothing. It gives no lock, and raises no delivery count."""

from __future__ import annotations

from typing import Final

from partq.conformance.facts import Facts, Seen

from .protocol import Report
from .visibility import Visibility

_RULE: Final = "PEEK-6"


def check_touching(facts: Facts, visibility: Visibility, report: Report) -> None:
    """PEEK-6 on every message that was peeked."""
    for id, peeks in facts.peeked.items():
        report.count(_RULE, len(peeks))
        for seen in peeks:
            if seen.delivery.lock is not None:
                _locked(report, seen)
                break
        if len(facts.by_id.get(id, ())) == 1:
            _check_count(facts, visibility, report, id, peeks)


def _check_count(facts: Facts, visibility: Visibility, report: Report, id: str, peeks: list[Seen]) -> None:
    """From a peek to the next appearance the count stays, if no lock can have ended in between."""
    received = facts.received.get(id)
    appearances = peeks if received is None else sorted(peeks + received, key=_by_call)
    before: Seen | None = None
    for seen in appearances:
        count = seen.delivery.delivery_count
        if count is None:
            continue
        if before is not None and count != before.delivery.delivery_count:
            own = seen.record if _is_later_receive(seen, before) else None
            ends = (before.record.ret, seen.record.ret)  # overlapping peeks may take effect in either order
            until = None if None in ends else max(end for end in ends if end is not None)
            if until is not None and visibility.count_rests(id, before.record.call, until, own):
                _raised(report, before, seen)
                return
        before = seen if seen.record.op == "peek" else None


def _is_later_receive(seen: Seen, before: Seen) -> bool:
    """Whether it is a receive that the peek before it surely preceded. If the two overlap, the lock that the
    receive gave may have ended before the peek took effect."""
    returned = before.record.ret
    return seen.record.op != "peek" and returned is not None and returned < seen.record.call


def _by_call(seen: Seen) -> int:
    return seen.record.call


def _locked(report: Report, seen: Seen) -> None:
    report.find(
        _RULE,
        "lock",
        "A peek gave a lock",
        (seen.record,),
        f"{seen.record.proc} peeked message {seen.delivery.id!r} and got a lock with it.",
        "the message without a lock",
    )


def _raised(report: Report, before: Seen, seen: Seen) -> None:
    report.find(
        _RULE,
        "count",
        "A peek changed a delivery count",
        (before.record, seen.record),
        f"Message {seen.delivery.id!r} showed delivery count {before.delivery.delivery_count}, then "
        f"{seen.delivery.delivery_count}, and nobody can have locked it in between.",
        f"delivery count {before.delivery.delivery_count}",
    )
