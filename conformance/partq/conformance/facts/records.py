"""The interval in which a record may have taken effect. Shared by facts and screens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from partq.conformance.facts.index import FOREVER
from partq.conformance.history import Record

REMOVALS: Final = frozenset({"complete", "dead_letter"})
"""The settlements after which a message is gone from its queue."""


def returned(record: Record) -> int:
    """When the operation returned; `FOREVER` if it never did."""
    return FOREVER if record.ret is None else record.ret


def span(record: Record) -> tuple[int, int]:
    """The record's call and return; `FOREVER` if it never returned."""
    return record.call, returned(record)


def out_of_order(records: Iterable[Record]) -> bool:
    """Whether one of them certainly was over before another one, which precedes it here, was called."""
    latest = -1
    for record in records:
        if record.ret is not None and record.ret < latest:
            return True
        if record.call > latest:
            latest = record.call
    return False
