"""How a broker breaks the rule on another number of partitions (REB-17)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, islice, permutations

from ..actions import Action, Observed, failure
from ..configuration import FOREVER
from ..departures import beyond
from ..edits import with_part
from ..operations import ERRORS
from ..state import Deadline, Flows, Part, State, Steps
from ..statuses import FRESH
from .norm import rescaled, update, updated, with_partitions

_TRIED = 64
"""So many sets of partitions that are deleted instead, or too, are tried."""


@beyond(update, "REB-17", broken=True)
def refused_and_done(state: State, action: Action, seen: Observed | None) -> Steps:
    """An update that is refused changes the number."""
    for after in updated(state, action):
        yield failure(frozenset(ERRORS)), after


@beyond(rescaled, "REB-17", broken=True)
def rescaled_otherwise(state: State, flows: Flows, count: int, slack: int) -> Iterator[State]:
    """Nothing changes, or the number is another; what is deleted stays in other partitions, or messages of
    others are deleted; and no rebalance follows, or one at any time."""
    for after in (state, *_of_other_number(state, flows, count, slack), *_kept(state, flows, count, slack)):
        yield from _unbalanced(after)
    for others in _others_deleted(state, flows, count, slack):
        for after in islice(others, _TRIED):
            yield from _unbalanced(after)


def _unbalanced(state: State) -> Iterator[State]:
    """The state with no rebalance to come, or one at any time."""
    flows = state.flows
    assert flows is not None
    for timer in dict.fromkeys((flows.timer, None, Deadline(state.now, FOREVER))):
        yield state._replace(flows=flows._replace(timer=timer, scaled=True))


def _of_other_number(state: State, flows: Flows, count: int, slack: int) -> Iterator[State]:
    for other in (count, count - 1, count + 1):
        if 0 < other <= len(state.cfg.names):
            yield with_partitions(state, flows, other, slack)


def _kept(state: State, flows: Flows, count: int, slack: int) -> Iterator[State]:
    """What was deleted is in another partition: one for all, or for each another."""
    after, deleted = with_partitions(state, flows, count, slack), state.parts[count:]
    if any(part.log for part in deleted):
        for homes in (range(count), *((p,) for p in range(count))):
            moved = after
            for n, part in enumerate(deleted, count):
                p = homes[n % len(homes)]
                moved = with_part(moved, p, _joined(moved.parts[p], part))
            yield moved


def _joined(part: Part, other: Part) -> Part:
    """The first partition with what is in the other one behind its own, as if it was sent anew."""
    late = (
        entry._replace(number=n, status=FRESH, lock=None, turn=0, tries=0)
        for n, entry in enumerate(other.log, start=part.next)
    )
    return part._replace(next=part.next + len(other.log), log=(*part.log, *late))


def _others_deleted(state: State, flows: Flows, count: int, slack: int) -> Iterator[Iterator[State]]:
    """Messages of partitions that remain are deleted, too, or those of others instead."""
    after = with_partitions(state, flows, count, slack)
    places, empty = range(len(state.parts)), Part(0, 0, 0, ())
    many = chain.from_iterable(combinations(range(count), size) for size in range(count, 0, -1))
    yield (
        after._replace(parts=tuple(empty if p in lost else part for p, part in enumerate(after.parts)))
        for lost in many
    )
    yield (
        after._replace(parts=(*(_moved(state, p, q) for p, q in enumerate(one)), *after.parts[len(one) :]))
        for one in permutations(places, min(count, len(places)))
    )


def _moved(state: State, p: int, q: int) -> Part:
    """What is in partition ``p`` if that of ``q`` is there."""
    return state.parts[p] if p == q else _joined(Part(0, 0, 0, ()), state.parts[q])
