"""What exercises the rule on a time to live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.screens.exercise import Exercise


def _outlived(facts: Facts) -> int:
    """Each message whose time to live ended before the last operation did."""
    end = max((record.call for record in facts.records), default=0)
    sent = (one for sends in facts.by_id.values() for one in sends if one.message.ttl is not None)
    return sum(one.record.call + (one.message.ttl or 0) < end for one in sent)


EXERCISED: Final[Mapping[str, Exercise]] = {"RCV-15": Exercise(_outlived, ("receive",), judged=True)}
