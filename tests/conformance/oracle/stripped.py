"""Lawful histories as a poorer recorder would have made them: fields, and what observes, left out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Final

from msgspec import structs

from partq.conformance.history import History, Record
from partq.model.profiles import SECOND

Stripping = Callable[[tuple[Record, ...]], tuple[Record, ...]]

FIELDS: Final = (
    "seq",
    "partition",
    "enqueued_at",
    "locked_until",
    "delivery_count",
    "redelivered",
    "state",
)
SHOWN_BY: Final = {"": None, " of receives": ("receive",), " of peeks": ("peek",)}
FAULTS: Final = ("partition_down", "partition_up", "broker_kill", "broker_start", "frontend_lost")


def _without(field: str, ops: tuple[str, ...] | None) -> Stripping:
    """No message is shown with the field, or none by these operations."""

    def strip(records: tuple[Record, ...]) -> tuple[Record, ...]:
        return tuple(
            structs.replace(r, messages=tuple(m._replace(**{field: None}) for m in r.messages))
            if r.messages and (ops is None or r.op in ops)
            else r
            for r in records
        )

    return strip


def _without_ends(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """No answer shows until when a lock on a session lasts."""
    return tuple(
        structs.replace(r, args={name: value for name, value in r.args.items() if name != "locked_until"})
        if "locked_until" in r.args
        else r
        for r in records
    )


def _without_states(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """No answer shows the state of a session."""
    return tuple(
        structs.replace(r, args={name: value for name, value in r.args.items() if name != "state"})
        if r.op == "get_session_state"
        else r
        for r in records
    )


def _without_peeks(records: tuple[Record, ...]) -> tuple[Record, ...]:
    return tuple(record for record in records if record.op != "peek")


def _touching(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """Faults begin when the last instant before them ends, and end when the next one begins."""
    instants = sorted({at for r in records for at in (r.call, r.ret) if at is not None})
    place = {at: n for n, at in enumerate(instants)}
    ends = (0, len(instants) - 1)
    return tuple(
        structs.replace(
            r,
            call=instants[max(ends[0], place[r.call] - 1)],
            ret=instants[min(ends[1], place[r.ret] + 1)],
        )
        if r.op in FAULTS and r.ret is not None
        else r
        for r in records
    )


def _widened(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """Faults take as long as the events before and after them allow."""
    env = [record for record in records if record.op in FAULTS or record.op == "advance"]
    before = {two.i: one.ret for one, two in pairwise(env)}
    after = {one.i: two.call for one, two in pairwise(env)}
    last = max((r.ret or r.call for r in records), default=0)
    return tuple(
        structs.replace(
            r,
            call=min(r.call, (before.get(r.i) or -1) + 1),
            ret=max(r.ret, after.get(r.i, last + 2) - 1),
        )
        if r.op in FAULTS and r.ret is not None
        else r
        for r in records
    )


def _polled(period: int) -> Stripping:
    """Assignments are known from looks, one in each period."""

    def strip(records: tuple[Record, ...]) -> tuple[Record, ...]:
        return tuple(
            structs.replace(r, call=r.call // period * period, ret=(r.call // period + 1) * period)
            if r.op == "assignment"
            else r
            for r in records
        )

    return strip


STRIPPINGS: Final[dict[str, Stripping]] = {
    **{f"{field}{where}": _without(field, ops) for field in FIELDS for where, ops in SHOWN_BY.items()},
    "seq of schedules": _without("seq", ("schedule",)),
    "ends of sessions": _without_ends,
    "states of sessions": _without_states,
    "peeks": _without_peeks,
    "faults touching": _touching,
    "faults widened": _widened,
    "assignments polled each 50 ms": _polled(SECOND // 20),
    "assignments polled each 3 s": _polled(3 * SECOND),
}


WAYS: Final = (*((name,) for name in STRIPPINGS), *combinations(STRIPPINGS, 2))
"""Every stripping alone, then in pairs."""


def stripped(history: History, names: tuple[str, ...]) -> History:
    """The history with all of that left out."""
    records = history.records
    for name in names:
        records = STRIPPINGS[name](records)
    in_order = sorted(records, key=lambda record: record.call)
    return History(history.header, tuple(structs.replace(r, i=n) for n, r in enumerate(in_order)))
