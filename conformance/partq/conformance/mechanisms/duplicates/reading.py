"""Duplicates in a history, and what exercises their rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from partq.conformance.facts.index import Facts, Sent
from partq.conformance.facts.records import returned
from partq.conformance.oracle.uses import Use
from partq.conformance.screens.exercise import Exercise
from partq.model.operations import Outcome

USE: Final = Use(
    uses=lambda record: False,
    rule="DUP-1",
    what="duplicates",
    matters=lambda record, end: False,
    chosen=lambda entity: entity.duplicate_detection,
)


def _where_detected(count: Callable[[Facts], int]) -> Callable[[Facts], int]:
    return lambda facts: count(facts) if facts.entity.duplicate_detection else 0


def _pairs(facts: Facts) -> Iterator[tuple[Sent, Sent]]:
    """Each two sends of one ID and key, one after the other, that were accepted."""
    for sends in facts.by_id.values():
        by_key: dict[str | None, list[Sent]] = {}
        for one in sends if len(sends) > 1 else ():
            if one.record.outcome == Outcome.OK:
                by_key.setdefault(one.key if facts.profile.partitioned else None, []).append(one)
        for accepted in by_key.values():
            yield from pairwise(accepted)


@_where_detected
def _dropped(facts: Facts) -> int:
    """Each send that repeats an ID within the window."""
    window = facts.entity.duplicate_window
    return sum(returned(later.record) - first.record.call < window for first, later in _pairs(facts))


@_where_detected
def _new_again(facts: Facts) -> int:
    """Each send that repeats an ID after the window."""
    window = facts.entity.duplicate_window
    return sum(later.record.call - returned(first.record) > window for first, later in _pairs(facts))


@_where_detected
def _keyed_by_id(facts: Facts) -> int:
    """Each accepted message whose key is its ID, and that was sent again, or in a transaction."""
    sends: Sequence[Sent] = [one for several in facts.by_id.values() for one in several]
    plain = [s for s in sends if s.message.session_id is None and s.message.partition_key is None]
    accepted = [s for s in plain if s.record.outcome == Outcome.OK]
    return sum("txn" in s.record.args or len(facts.by_id[s.message.id]) > 1 for s in accepted)


EXERCISED: Final[Mapping[str, Exercise]] = {
    "KEY-4": Exercise(_keyed_by_id, ("partitions",), judged=True),
    "DUP-1": Exercise(_dropped, ("send",), judged=True),
    "DUP-2": Exercise(_new_again, ("send",), judged=True),
}
