"""What a kill of the broker does to flows, and its start to what they wait for.

How a flow is lost, and what follows, is `norm`'s business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from ..configuration import FOREVER
from ..state import Deadline, Flows, State
from .handoffs import given_back

_BACK: Final = FOREVER - 1
"""When a change is told at the latest that is told once a killed broker is back."""


def killed(state: State) -> Iterator[State]:
    """What a kill of the broker may do to the flows: they are there again when it is, or gone. Of those that
    are kept the locks may be lost, so that a handoff has nothing to wait for any more (REB-14)."""
    flows = state.flows
    if flows is None:
        yield state
        return
    due = tuple(h and (h[0], min(h[1], state.now), h[2]) for h in flows.handoff)
    kept = state._replace(flows=flows._replace(handoff=due))
    yield _told_later(kept)
    names = [name for name, _ in flows.active + flows.standby]
    if names or any(flows.owner):
        yield _all_ended(state, flows, names)


def _all_ended(state: State, flows: Flows, names: Collection[str]) -> State:
    """The state after a kill that ended all flows. That partitions are unbound or unassigned may be told; and
    the delay that begins with the loss may be that of the next bind, too, but not one that ran before."""
    for name in names:
        state = given_back(state, name)
    had = [(p, pair[0]) for p, pair in enumerate(flows.owner) if pair is not None and state.cfg.observed]
    unseen = tuple((p, flow, told, FOREVER) for p, flow in had for told in ("unbound", "unassigned"))
    nothing = (None,) * len(state.parts)
    ends = 0 if state.cfg.untimed else state.now + state.cfg.entity.rebalance_delay
    return state._replace(flows=Flows(owner=nothing, handoff=nothing, unseen=unseen, ends=ends))


def _told_later(state: State) -> State:
    """The state in which changes may be told once the broker is back."""
    flows = state.flows
    assert flows is not None
    unseen = ((*event[:3], max(event[3], _BACK)) for event in flows.unseen)
    return state._replace(flows=flows._replace(unseen=tuple(unseen)))


def started(state: State, slack: int) -> State:
    """What timers and events a kill left over begins anew with the broker, if it was kept at all."""
    flows, now = state.flows, state.now + slack
    if flows is None:
        return state
    delay, time = state.cfg.entity.rebalance_delay, state.cfg.entity.max_handoff
    timer, waited = (
        one and Deadline(one.lo, max(one.hi, now + delay)) for one in (flows.timer, flows.waited)
    )
    handoff = tuple(h and (h[0], h[1], max(h[2], now + time)) for h in flows.handoff)
    unseen = tuple((*e[:3], e[3] if e[3] == FOREVER else now + state.cfg.telling) for e in flows.unseen)
    after = flows._replace(timer=timer, waited=waited, handoff=handoff, unseen=unseen)
    return state._replace(flows=after)
