"""Scheduled messages in a history, and what exercises their rules."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Final

from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.history import Record
from partq.conformance.oracle.identity import late_cancels
from partq.conformance.oracle.uses import Use
from partq.conformance.screens.protocol import Exercise, where
from partq.model.messages import SCHEDULED


def _schedules(record: Record, end: int = 0) -> bool:
    return any(message.scheduled_at is not None for message in record.sent)


USE: Final = Use(
    uses=lambda record: record.op == "cancel_scheduled" or _schedules(record),
    rule="SCH-1",
    what="scheduled messages",
    matters=_schedules,
    spreads=frozenset({"SCH-1", "SCH-2", "SCH-3", "SCH-4", "SCH-5", "SCH-6"}),
)


def _scheduled(facts: Facts) -> set[str]:
    """The messages that were scheduled."""
    every = chain.from_iterable(facts.by_id.values())
    return {one.message.id for one in every if one.message.scheduled_at is not None}


_where_any: Final = where(lambda facts: facts.derive(_scheduled))


def _came(facts: Facts) -> int:
    """Each scheduled message that a client received."""
    return len(facts.derive(_scheduled) & facts.received.keys())


@_where_any
def _numbered(facts: Facts) -> int:
    """Each number that the operation returned, and each scheduled message of an answer to a peek."""
    returned = (one for record in facts.of("schedule") for one in record.messages)
    peeked = (one for record in facts.peeks for one in record.messages if one.state == SCHEDULED)
    return sum(one.seq is not None for one in returned) + sum(1 for _ in peeked)


@_where_any
def _cancelled(facts: Facts) -> int:
    """Each message that was cancelled."""
    return sum(record.ok for record in facts.of("cancel_scheduled"))


@_where_any
def _renumbered(facts: Facts) -> int:
    """Each scheduled message that is shown with several numbers."""
    numbers: dict[str, set[int]] = {id: set() for id in facts.derive(_scheduled)}
    for record in facts.records:
        for shown in record.messages:
            if shown.seq is not None and shown.id in numbers:
                numbers[shown.id].add(shown.seq)
    return sum(len(several) > 1 for several in numbers.values())


@_where_any
def _raced(facts: Facts) -> int:
    """Each message that became active although a cancel at about its time was answered ok, and each count
    of scheduled messages that is below zero after a cancel at such a time."""
    late = list(late_cancels(facts.records, facts.header.skew_ns))
    cancelled = {id for cancel, id in late if id is not None and _took_effect(facts, cancel)}
    came = [id for id in cancelled if len(facts.by_id.get(id, ())) == 1 and _became_active(facts, id)]
    since = min((cancel.call for cancel, _ in late), default=FOREVER)
    below = [one for one in facts.records if one.args.get("scheduled", 0) < 0 and since <= one.end]
    return len(came) + len(below)


def _took_effect(facts: Facts, cancel: Record) -> bool:
    """Whether the cancel was answered ok, and so was the commit of its transaction if it has one."""
    txn = facts.txns.get(cancel.args.get("txn", ""))
    return cancel.ok and (txn is None or txn.committed_by is not None)


def _became_active(facts: Facts, id: str) -> bool:
    peeked = (one.delivery.state for one in facts.peeked.get(id, ()))
    return id in facts.received or any(state not in (None, SCHEDULED) for state in peeked)


_SCHEDULE: Final = ("schedule",)
_CANCEL: Final = (*_SCHEDULE, "cancel_scheduled")

EXERCISED: Final[Mapping[str, Exercise]] = {
    "SCH-1": Exercise(_came, _SCHEDULE),
    "SCH-2": Exercise(_numbered, (*_SCHEDULE, "sequence numbers")),
    "SCH-3": Exercise(_cancelled, _CANCEL),
    "SCH-4": Exercise(_renumbered, (*_SCHEDULE, "sequence numbers")),
    "SCH-5": Exercise(_raced, _CANCEL),
    "SCH-6": Exercise(_came, _SCHEDULE),
}
