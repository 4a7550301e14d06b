"""What a history shows of scheduled messages."""

from __future__ import annotations

from typing import Final

from partq.conformance.history import Record
from partq.conformance.oracle.uses import Use


def _schedules(record: Record, end: int = 0) -> bool:
    return any(message.scheduled_at is not None for message in record.args.get("messages", ()))


USE: Final = Use(
    uses=lambda record: record.op == "cancel_scheduled" or _schedules(record),
    rule="SCH-1",
    unmodelled="scheduled messages are not modelled",
    matters=_schedules,
    spreads=frozenset({"SCH-1", "SCH-2", "SCH-3", "SCH-4", "SCH-5", "SCH-6"}),
)
