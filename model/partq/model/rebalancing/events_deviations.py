"""How a broker reports false states of partitions and flows (REB)."""

from __future__ import annotations

from collections.abc import Iterator

from ..actions import Action
from ..configuration import NARROWLY
from ..departures import beyond
from ..state import Flows, State
from .events import heard, owned, told
from .handoffs import given_back


@beyond(told, "REB-1", broken=True)
def told_of_two(state: State, flows: Flows, p: int, action: Action, fold: int) -> Iterator[State]:
    """A partition is ready at another flow while it is not taken from the old one."""
    pair, flow, active = flows.owner[p], action.flow, {name for name, _ in flows.active}
    if flow is None or flow not in active or action.state != "ready":
        return
    leaving = next((e for e in flows.unseen if e[0] == p and e[2] == "unassigned"), None)
    old = leaving[1] if leaving is not None else None if pair is None else pair[0]
    alive = old in active and all(e[0] != p for e in flows.unseen)
    if old not in (None, flow) and (leaving is not None or alive):
        yield _also(state, flows, p, flow, str(old))


@beyond(told, "REB-1", broken=True)
def told_again(state: State, flows: Flows, p: int, action: Action, fold: int) -> Iterator[State]:
    """A partition is reported ready at its flow once more."""
    if action.flow is not None and action.state == "ready" and flows.owner[p] == (action.flow, "ready"):
        yield state


@beyond(told, "REB-1", broken=True)
def told_of_one_of_two(state: State, flows: Flows, p: int, action: Action, fold: int) -> Iterator[State]:
    """One of two flows that have a partition loses it."""
    flow = action.flow
    if flow is None or action.state != "unassigned":
        return
    if (p, flow) in flows.former:
        yield given_back(state._replace(flows=_without(flows, p, flow)), flow, p)
    others = [name for q, name in flows.former if q == p and name != flow]
    if flows.owner[p] == (flow, "ready") and others:
        remaining = _without(flows, p, others[-1])
        yield owned(given_back(state._replace(flows=remaining), flow, p), p, (others[-1], "ready"))


def _also(state: State, flows: Flows, p: int, flow: str, old: str) -> State:
    """The partition is this flow's, and still the old one's."""
    former = tuple(sorted({*flows.former, (p, old)}))
    handoff = (*flows.handoff[:p], None, *flows.handoff[p + 1 :])
    return owned(heard(state, flows._replace(former=former, handoff=handoff), p, []), p, (flow, "ready"))


def _without(flows: Flows, p: int, flow: str) -> Flows:
    """The flows where this one does not have the partition beside another one any more."""
    return flows._replace(former=tuple(other for other in flows.former if other != (p, flow)))


@beyond(told, "REB-5", broken=True)
def told_of_surplus(state: State, flows: Flows, p: int, action: Action, fold: int) -> Iterator[State]:
    """A standby gets another flow's partitions in a rebalance."""
    flow = action.flow
    if flow is None or not flows.standby:
        return
    standby = next((one for one in flows.standby if one[0] == flow), None)
    if action.state == "unassigned" and flows.owner[p] == (flow, "ready"):
        yield owned(given_back(state, flow, p), p, None)
    elif action.state == "ready" and standby is not None and flows.owner[p] is None:
        others = tuple(one for one in flows.standby if one != standby)
        dealt = flows._replace(active=(*flows.active, standby), standby=others)
        yield owned(state._replace(flows=dealt), p, (flow, "ready"))


@beyond(told, "REB-6", "REB-7", "REB-8", broken=True)
def told_too_early(state: State, flows: Flows, p: int, action: Action, fold: int) -> Iterator[State]:
    """The partition of a lost flow has another one before the rebalance, narrowly before the delay ends."""
    pair, flow = flows.owner[p], action.flow
    if flow is None or pair is None or pair[1] != "unbound":
        return
    early = NARROWLY not in state.cfg.waived or (flows.timer is not None and flows.timer.lo > state.now)
    if action.state == "ready" and any(flow == name for name, _ in flows.active):
        if early or not state.forbids("REB-6"):
            yield owned(heard(state, flows, p, []), p, (flow, "ready"))
    elif action.state == "unassigned" and pair[0] == flow:
        yield heard(state, flows, p, [])


@beyond(told, "REB-11", broken=True)
def told_of_nobody(state: State, flows: Flows, p: int, action: Action, fold: int) -> Iterator[State]:
    """The partition of a lost flow has no flow after the rebalance."""
    pair = flows.owner[p]
    orphan = action.flow is not None and pair is not None and pair[1] == "unbound"
    if orphan and action.state == "unassigned" and flows.timer is None:
        yield heard(state, flows, p, [])


@beyond(told, "REB-13", broken=True)
def told_otherwise(state: State, flows: Flows, p: int, action: Action, fold: int) -> Iterator[State]:
    """A partition is in another state than the event says."""
    if not state.breaks(
        "REB-13"
    ):  # consulted at any event, as the search believes events unless it is waived
        return
    pair, flow = flows.owner[p], action.flow
    news = [event for event in flows.unseen if event[0] == p]
    for n, event in enumerate(news):
        if event[1] == flow:  # what comes before is not told of, or this in other words
            yield heard(state, flows, p, news[n + 1 :])
    if flow is not None and pair is not None and pair[0] == flow and not news:
        yield state
