"""What a history shows of times to live."""

from __future__ import annotations

from typing import Final

from partq.conformance.history import Record
from partq.conformance.oracle.uses import Use


def _has_some(record: Record) -> bool:
    return any(message.ttl is not None for message in record.args.get("messages", ()))


def _may_end(record: Record, end: int) -> bool:
    """Whether a time to live of what is sent here may have ended by then."""
    messages = record.args.get("messages", ())
    return any(message.ttl is not None and record.call + message.ttl <= end for message in messages)


USE: Final = Use(
    uses=_has_some,
    rule="RCV-15",
    unmodelled="a message's time to live may have ended, which is not modelled",
    matters=_may_end,
    spreads=frozenset({"RCV-15"}),
)
