"""Scaling: an update changes the number of partitions of a queue with flows.

The highest are deleted with all that is in them, or the next ones are added, empty and with no flow; keys are
mapped anew, and a rebalance follows. No source says whether that waits for the delay, which flows are active
until then, nor whether it is that of a delay that runs already, or comes beside it: either is allowed. Of a
partition that is deleted the end may be told, or not; what a client holds of it may be settled, or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..actions import OK, Action, Observed, failure
from ..clauses import clause, point
from ..configuration import FOREVER
from ..operations import ERRORS
from ..rebalancing.handoffs import changed
from ..settling import norm as settling
from ..state import Deadline, Flows, Part, State, Steps

COUNT: Final = "partitions"


@point("REB-17")
def update(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client asks for a number of partitions. Which ones a broker refuses no source says."""
    yield failure(frozenset(ERRORS)), state
    for after in updated(state, action):
        yield OK, after


def updated(state: State, action: Action) -> Iterator[State]:
    """The states after the update was accepted, to no more partitions than have names."""
    flows, count = state.flows, dict(action.settings)[COUNT]
    if flows is None or count == len(state.parts):
        yield state
    elif type(count) is int and 0 < count <= len(state.cfg.names):
        yield from rescaled(state, flows, count, action.slack)


@point("REB-17")
def rescaled(state: State, flows: Flows, count: int, slack: int) -> Iterator[State]:
    """The states with another number of partitions. Where a delay runs already a rebalance may come before
    its end, over all flows or only those that do not wait for it."""
    after = with_partitions(state, flows, count, slack)
    yield after
    for waited in dict.fromkeys((flows.timer, flows.waited)):
        if waited is None or after.flows is None:
            continue
        beside = after.flows._replace(waited=waited)
        yield after._replace(flows=beside)
        served = {pair[0] for pair in flows.owner if pair is not None}
        old = tuple(flow for flow in beside.active if flow[0] in served)
        new = tuple(flow for flow in beside.active if flow[0] not in served)
        if old and new:
            yield after._replace(flows=beside._replace(active=old, standby=new))


@clause("ROUTE-1", "REB-13", "REB-17")
def with_partitions(state: State, flows: Flows, count: int, slack: int) -> State:
    """The state with so many partitions, and a rebalance to come."""
    ended = changed(state, flows, dict.fromkeys(range(count, len(state.parts))), slack).flows
    assert ended is not None
    more = (None,) * (count - len(state.parts))
    unseen = tuple(
        (p, flow, told, latest if p < count else FOREVER) for p, flow, told, latest in ended.unseen
    )
    after = ended._replace(
        active=(*flows.active, *flows.standby),
        standby=(),
        owner=(*ended.owner[:count], *more),
        handoff=(*flows.handoff[:count], *more),
        timer=_delay(state, slack),
        unseen=unseen,
        alone="",
        scaled=True,
        waited=None,
    )
    parts = (*state.parts[:count], *(Part(0, 0, 0, ()) for _ in more))
    deleted = tuple(sorted({*state.deleted, *_tokens(state.parts[count:])}))
    down = state.down & (1 << count) - 1
    return state._replace(parts=parts, keys=(), down=down, flows=after, deleted=deleted)


def _delay(state: State, slack: int) -> Deadline:
    """When the rebalance may follow: at once, or after the delay."""
    ends = state.now + state.cfg.entity.rebalance_delay + slack
    return Deadline(state.now, FOREVER if state.cfg.untimed else ends)


def _tokens(parts: tuple[Part, ...]) -> Iterator[str]:
    for lock in (entry.lock for part in parts for entry in part.log):
        if lock is not None and lock.token is not None:
            yield from (lock.token, *lock.rivals)


def settle(state: State, action: Action, seen: Observed | None) -> Steps:
    """Settle what may have been deleted with its partition: that is accepted, or refused as a lost lock."""
    yield from settling.settle(state, action, seen)
    left = tuple(token for token in action.locks if token not in state.deleted)
    if len(left) < len(action.locks):
        yield from settling.settle(state, action._replace(locks=left), seen) if left else ((OK, state),)


WITH_FLOWS: Final = {"update": update, settling.REMOVES: settle, settling.RETURNS: settle}
"""What clients do to a queue with flows."""
