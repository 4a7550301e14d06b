"""What facts and screens ask of several records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from partq.conformance.history import Record

REMOVALS: Final = frozenset({"complete", "dead_letter"})
"""The settlements after which a message is gone from its queue."""


def out_of_order(records: Iterable[Record]) -> bool:
    """Whether one of them certainly was over before another one, which precedes it here, was called."""
    latest = -1
    for record in records:
        if record.ret is not None and record.ret < latest:
            return True
        if record.call > latest:
            latest = record.call
    return False
