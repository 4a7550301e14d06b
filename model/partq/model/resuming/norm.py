"""Resuming: a flow that comes back before the delay for its loss ends, with what it had, has that again.

Nothing else moves then, and the delay is called off if it ran for that loss alone. What comes back too late
is a flow like any other (REB-10). What the sources leave open is allowed either way: where the delay runs for
others, too, it may go on; what the flow was handing off, or was to get, is its own again or is not; and where
others have taken its place meanwhile it may be one flow too many.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from ..actions import INVALID, LOST, OK, REFUSED, Action, Observed, failure
from ..clauses import clause, point
from ..rebalancing.handoffs import FLOWLESS, NOBODY, Owner, changed, is_bound
from ..rebalancing.norm import bound, is_surplus, timers
from ..state import Deadline, Flows, State, Steps


def rebind(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client becomes a consumer again under the name of a flow that it had, with what that had."""
    flows, name = state.flows, action.flow
    if flows is None or name is None:
        yield failure(REFUSED | LOST), state
    elif is_bound(flows, name):
        yield failure(INVALID), state
    else:
        for after in returned(state, flows, (name, action.proc), action.slack):
            yield OK, after


@point("REB-8")
def returned(state: State, flows: Flows, flow: tuple[str, str], slack: int) -> Iterator[State]:
    """The states after a flow has come back."""
    mine = kept_for(flows, flow[0])
    if flows.timer is not None and (mine or _heirless(flows)):
        yield from _resumed(state, flows, flow, slack, mine)
    if not mine or flows.timer is None or is_surplus(state, flows) or flows.timer.lo <= state.now:
        yield from bound(state, flows, flow, slack)


def kept_for(flows: Flows, name: str) -> list[int]:
    """The partitions that wait for a flow that is gone."""
    return [
        p
        for p, pair in enumerate(flows.owner)
        if pair is not None and pair[0] == name and pair[1] in FLOWLESS
    ]


def _heirless(flows: Flows) -> list[int]:
    """The partitions in a handoff to a flow that is gone, which it may have been."""
    return [p for p, h in enumerate(flows.handoff) if h is not None and h[0] == NOBODY]


@clause("REB-8")
def _resumed(
    state: State, flows: Flows, flow: tuple[str, str], slack: int, mine: list[int]
) -> Iterator[State]:
    active = (*flows.active, flow)
    moving = [p for p in mine if flows.handoff[p] is not None]
    plain: dict[int, Owner] = dict.fromkeys((p for p in mine if p not in moving), (flow[0], "ready"))
    heirless = _heirless(flows)
    for called_off, heir in product((False, True)[: 1 + bool(moving)], (False, True)[: 1 + bool(heirless)]):
        changes = plain | dict.fromkeys(moving if called_off else (), (flow[0], "ready"))
        handoff = list(flows.handoff)
        for p in moving if called_off else ():
            handoff[p] = None
        for p in heirless if heir else ():
            handoff[p] = (flow[0], *handoff[p][1:])  # type: ignore[index]  # those have one
        after = changed(
            state, flows._replace(active=active, handoff=tuple(handoff), alone=""), changes, slack
        )
        assert after.flows is not None
        for timer in _delays(state, flows, after.flows, flow[0], slack):
            yield after._replace(flows=after.flows._replace(timer=timer))


def _delays(state: State, before: Flows, after: Flows, name: str, slack: int) -> list[Deadline | None]:
    """The delay after a flow has come back: none, if it ran for that flow alone and nothing else is to be
    done; if it ran for others, too, it may end without need."""
    quiet = all(pair is not None and pair[1] == "ready" for pair in after.owner)
    if quiet and before.alone == name:
        return [None]
    having = {pair[0] for pair in after.owner if pair is not None}
    done = before.alone == name or having >= {flow for flow, _ in after.active}
    return [*timers(state, before, slack), *([None] if quiet and done else [])]


CLIENT_OPS: Final = {"rebind": rebind}
"""The operation of clients."""
