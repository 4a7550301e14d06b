"""What a history shows of deferred messages."""

from __future__ import annotations

from typing import Final

from partq.conformance.history import Record
from partq.conformance.oracle.uses import Use

OPERATIONS: Final = frozenset({"defer", "receive_deferred"})


def _defers(record: Record, end: int = 0) -> bool:
    return record.op in OPERATIONS


USE: Final = Use(
    uses=_defers,
    rule="RCV-10",
    unmodelled="deferred messages are not modelled where the profile has none",
    matters=_defers,
    spreads=frozenset({"RCV-10"}),
)
