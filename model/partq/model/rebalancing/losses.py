"""Several flows that are gone at one instant, one after another: those of a client that is gone, or more.

What becomes of each is `norm`'s business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, combinations, islice
from typing import Final

from ..actions import Action, Observed
from ..clauses import clause
from ..errors import TooManyWays
from ..state import Flows, State
from .handoffs import all_tried, handoff, subsets
from .norm import left

MOST_LEFT: Final = 3_000
"""So many states are made of flows that are gone at one instant, and of their standbys."""


def lost(state: State, proc: str, slack: int, seen: Observed | None) -> Iterator[State]:
    """All flows of a client are lost. Raises what `all_left` does."""
    flows = state.flows
    every = () if flows is None else flows.active + flows.standby
    return all_left(state, [name for name, who in every if who == proc], slack, seen)


def all_left(state: State, names: Sequence[str], slack: int, seen: Observed | None) -> Iterator[State]:
    """The states after several flows are gone at one instant, one by one, as there may be many.

    Raises `TooManyWays` after those that are made where there are more, and what `all_tried` does."""
    found: set[State] = set()
    room = MOST_LEFT
    for order in _orders(state.flows, names):
        states = [state]
        for n, name in enumerate(order, 1):
            made = list(islice(_one_left(states, name, order[n:], slack), room))
            room -= len(made)
            states = list(dict.fromkeys(made))
        if not room:
            raise TooManyWays
        yield from (after for after in states if after not in found)
        found.update(states)
    all_tried(state, names, seen)


def _one_left(states: Iterable[State], name: str, others: Sequence[str], slack: int) -> Iterator[State]:
    for state in states:
        for after in left(state, name, slack):
            yield from _passed_on(after, name, others, slack)


@clause("REB-14")
def _passed_on(state: State, name: str, others: Sequence[str], slack: int) -> Iterator[State]:
    """The states in which some of the partitions that a flow was handing off when it went have passed to one
    of those flows, which go after it."""
    flows = state.flows
    assert flows is not None
    moves = {
        p: Action("handoff", partition=state.cfg.names[p], slack=slack)
        for p, (pair, waiting) in enumerate(zip(flows.owner, flows.handoff, strict=True))
        if pair is not None and pair[0] == name and waiting is not None and waiting[0] in others
    }
    for some in subsets(moves):
        states = [state]
        for p in some:
            states = [after for before in states for _, after in handoff(before, moves[p], None)]
        yield from states


def _orders(flows: Flows | None, names: Collection[str]) -> Iterator[tuple[str, ...]]:
    """In what orders flows that are gone at one instant may be replaced by standbys: first standbys that
    take over nothing, then as many active ones as there are standbys left, and in the end those standbys that
    are gone, too."""
    standby = () if flows is None else tuple(name for name, _ in flows.standby)
    going = tuple(name for name in standby if name in names)
    active = tuple(name for name in names if name not in going)
    for early in chain.from_iterable(combinations(going, size) for size in range(len(going) + 1)):
        late = tuple(name for name in going if name not in early)
        for first in combinations(active, min(len(active), len(standby) - len(early))):
            yield (*early, *first, *(name for name in active if name not in first), *late)
