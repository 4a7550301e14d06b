"""Assignment events: each reports a true state, and every change is reported. `norm` makes the changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..actions import OK, Action, Observed
from ..clauses import clause, point
from ..configuration import FOREVER, position
from ..state import Flows, State, Steps
from .handoffs import GONE, Owner, handoff
from .norm import due_moves, rebalance

Change = tuple[int, str, str, int]


@clause("REB-1", "REB-13")
def assignment(state: State, action: Action, seen: Observed | None) -> Steps:
    """The broker reports that a partition and a flow are a pair in this state from now on: it has to be true.
    With an observation, moves of the broker that are due are made if the event tells of them."""
    flows, p = state.flows, position(state.cfg, action.partition)
    if flows is not None and p is not None and p >= len(flows.owner):
        yield from ((OK, after) for after in _told_of_deleted(state, flows, p, action))
    elif flows is not None and p is not None:
        yield from ((OK, after) for after in told(state, flows, p, action, 0 if seen is None else 2))


@clause("REB-17")
def _told_of_deleted(state: State, flows: Flows, p: int, action: Action) -> Iterator[State]:
    """The states after an event of a partition that is deleted: its end may be told."""
    news = _untold(flows, p, action)
    if news and tells(news[0], action):
        yield heard(state, flows, p, news[1:])


@point("REB-1", "REB-8", "REB-13")
def told(state: State, flows: Flows, p: int, action: Action, fold: int) -> Iterator[State]:
    """The states after an event of that partition. ``fold``: how many moves of the broker may be made that it
    tells of."""
    news = _untold(flows, p, action)
    if news:
        if tells(news[0], action):
            yield heard(state, flows, p, news[1:])
        return
    if _tells_of_end(flows, p, action):
        yield owned(heard(state, flows, p, []), p, (str(action.flow), "unbound"))
    for move in due_moves(state) if fold else ():
        mechanism = rebalance if move.op == "rebalance" else handoff
        for _, after in mechanism(state, move, None):
            if after.flows is not None:
                yield from told(after, after.flows, p, action, fold - 1)


def _untold(flows: Flows, p: int, action: Action) -> list[Change]:
    """The changes of the partition that are not told of yet, from the first on that has to be before this
    event, or that it tells of."""
    news = [event for event in flows.unseen if event[0] == p]
    while news and may_be_untold(news[0], action):
        news = news[1:]
    return news


def tells(change: Change, action: Action) -> bool:
    """Whether the event tells of the change."""
    return change[2] == action.state and action.flow in (None, change[1])


def may_be_untold(change: Change, action: Action) -> bool:
    """Whether the event may come without one that tells of this change before it: of a handoff with nothing
    to wait for, of what a flow that has come back under its name has lost and has again, or of what became of
    a partition that was deleted."""
    _, flow, told, latest = change
    if latest == FOREVER:
        return not tells(change, action)
    if told == "unassigned":
        return action.state == "ready" and action.flow in (None, flow)
    return told == "paused" != action.state


def _tells_of_end(flows: Flows, p: int, action: Action) -> bool:
    """Whether the event reports that the flow handing the partition off has left."""
    return action.state == "unbound" and flows.owner[p] == (action.flow, GONE)


def heard(state: State, flows: Flows, p: int, left: list[Change]) -> State:
    """The state in which these changes of the partition are still to be told of."""
    others = (event for event in flows.unseen if event[0] != p)
    by_partition = sorted((*others, *left), key=lambda event: event[0])
    return state._replace(flows=flows._replace(unseen=tuple(by_partition)))


def owned(state: State, p: int, pair: Owner) -> State:
    """The state in which the partition has that pair."""
    flows = state.flows
    assert flows is not None
    return state._replace(flows=flows._replace(owner=(*flows.owner[:p], pair, *flows.owner[p + 1 :])))


BROKER_OPS: Final = {"assignment": assignment}
"""What the broker tells."""
