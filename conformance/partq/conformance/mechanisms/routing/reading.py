"""What exercises the rule on the keys of a partition, for which no screen looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.screens.protocol import Exercise, where


@where(lambda facts: facts.profile.flows)
def _crowded(facts: Facts) -> int:
    """Each answered message of a key beyond those that may have had a partition of their own."""
    keys: set[str | None] = {None}
    count = 0
    for sent in facts.sends:
        keys.add(sent.key)
        crowded = sent.key is not None and len(keys) > facts.entity.partitions + 1
        count += crowded and not sent.record.unknown
    return count


EXERCISED: Final[Mapping[str, Exercise]] = {
    "REB-18": Exercise(_crowded, ("send",)),
}
