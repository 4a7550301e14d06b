"""Scheduled messages in a history, and what exercises their rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.history import Record
from partq.conformance.oracle.uses import Use
from partq.conformance.screens.protocol import Exercise
from partq.model.messages import SCHEDULED
from partq.model.operations import Outcome


def _schedules(record: Record, end: int = 0) -> bool:
    return any(message.scheduled_at is not None for message in record.args.get("messages", ()))


USE: Final = Use(
    uses=lambda record: record.op == "cancel_scheduled" or _schedules(record),
    rule="SCH-1",
    what="scheduled messages",
    matters=_schedules,
    spreads=frozenset({"SCH-1", "SCH-2", "SCH-3", "SCH-4", "SCH-5", "SCH-6"}),
)


def _scheduled(facts: Facts) -> set[str]:
    """The messages that were scheduled."""
    return {
        id for id, sends in facts.by_id.items() if any(one.message.scheduled_at is not None for one in sends)
    }


def _where_any(count: Callable[[Facts], int]) -> Callable[[Facts], int]:
    """Count only histories in which a message was scheduled."""
    return lambda facts: count(facts) if facts.derive(_scheduled) else 0


def _came(facts: Facts) -> int:
    """Each scheduled message that a client received."""
    return len(facts.derive(_scheduled) & facts.received.keys())


@_where_any
def _numbered(facts: Facts) -> int:
    """Each number that the operation returned, and each scheduled message of an answer to a peek."""
    returned = (one for record in facts.records if record.op == "schedule" for one in record.messages)
    peeked = (one for record in facts.peeks for one in record.messages if one.state == SCHEDULED)
    return sum(one.seq is not None for one in returned) + sum(1 for _ in peeked)


@_where_any
def _cancelled(facts: Facts) -> int:
    """Each message that was cancelled."""
    return sum(r.op == "cancel_scheduled" and r.outcome == Outcome.OK for r in facts.records)


@_where_any
def _renumbered(facts: Facts) -> int:
    """Each scheduled message that is shown with several numbers."""
    numbers: dict[str, set[int]] = {id: set() for id in facts.derive(_scheduled)}
    for record in facts.records:
        for shown in record.messages:
            if shown.seq is not None and shown.id in numbers:
                numbers[shown.id].add(shown.seq)
    return sum(len(several) > 1 for several in numbers.values())


_SCHEDULE: Final = ("schedule",)

EXERCISED: Final[Mapping[str, Exercise]] = {
    "SCH-1": Exercise(_came, _SCHEDULE, judged=True),
    "SCH-2": Exercise(_numbered, (*_SCHEDULE, "sequence numbers"), judged=True),
    "SCH-3": Exercise(_cancelled, ("schedule", "cancel_scheduled"), judged=True),
    "SCH-4": Exercise(_renumbered, (*_SCHEDULE, "sequence numbers"), judged=True),
    "SCH-6": Exercise(_came, _SCHEDULE, judged=True),
}
