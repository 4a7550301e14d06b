"""Times to live in a history, and what exercises their rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.history import Record
from partq.conformance.oracle.uses import Use
from partq.conformance.screens.protocol import Exercise


def _may_end(record: Record, end: int) -> bool:
    """Whether a time to live of what is sent here may have ended by then."""
    return any(one.ttl is not None and record.call + one.ttl <= end for one in record.sent)


USE: Final = Use(
    uses=lambda record: any(message.ttl is not None for message in record.sent),
    rule="RCV-15",
    what="messages whose time to live may have ended",
    matters=_may_end,
    spreads=frozenset({"RCV-15"}),
    timed=True,
)


def _outlived(facts: Facts) -> int:
    """Each message whose time to live ended before the last operation did."""
    end = max((record.call for record in facts.records), default=0)
    sent = (one for sends in facts.by_id.values() for one in sends if one.message.ttl is not None)
    return sum(one.record.call + (one.message.ttl or 0) < end for one in sent)


EXERCISED: Final[Mapping[str, Exercise]] = {"RCV-15": Exercise(_outlived, ("receive",))}
