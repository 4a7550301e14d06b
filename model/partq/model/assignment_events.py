"""Assignment events: what the broker tells of partitions and flows is true, and nothing is left untold.

How partitions change hands is `rebalancing`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator

from .actions import OK, Action, Answer, Observed
from .clauses import clause
from .rebalancing import Owner, given_back, handoff, moves, rebalance
from .state import NARROWLY, Flows, State, position

Steps = Iterator[tuple[Answer, State]]
Change = tuple[int, str, str, int]


@clause("REB-1", "REB-13")
def assignment(state: State, action: Action, seen: Observed | None) -> Steps:
    """The broker tells that a partition and a flow are a pair in this state from now on: it has to be true.
    With an observation, moves of the broker that are due are made if the event tells of them."""
    yield from _told(state, action, 0 if seen is None else 2)


def _told(state: State, action: Action, fold: int) -> Steps:
    flows, p = state.flows, position(state.cfg, action.partition)
    if flows is None or p is None:
        return
    if state.cfg.waived:
        yield from ((OK, after) for after in _told_otherwise(state, flows, p, action))
    news = [event for event in flows.unseen if event[0] == p]
    while news and may_be_untold(news[0], action):
        news = news[1:]
    if news:
        if news[0][2] == action.state and action.flow in (None, news[0][1]):
            yield OK, _heard(state, flows, p, news[1:])
        return
    if _tells_of_end(flows, p, action):
        yield OK, _owned(_heard(state, flows, p, []), p, (str(action.flow), "unbound"))
    if fold:
        for move in moves(state):
            mechanism = rebalance if move.op == "rebalance" else handoff
            for _, after in mechanism(state, move, None):
                yield from _told(after, action, fold - 1)


def may_be_untold(change: Change, action: Action) -> bool:
    """Whether the event may come without one that tells of this change before it: of a handoff with nothing
    to wait for, or of what a flow that has come back under its name has lost and has again."""
    _, flow, told, _ = change
    if told == "unassigned":
        return action.state == "ready" and action.flow in (None, flow)
    return told == "paused" != action.state


def _tells_of_end(flows: Flows, p: int, action: Action) -> bool:
    """Whether the event tells that a flow is gone that was handing the partition off."""
    gone = all(action.flow != name for name, _ in flows.active + flows.standby)
    return gone and action.state == "unbound" and flows.owner[p] == (action.flow, "paused")


def _heard(state: State, flows: Flows, p: int, left: list[Change]) -> State:
    """The state in which these changes of the partition are still to be told of."""
    others = (event for event in flows.unseen if event[0] != p)
    return state._replace(flows=flows._replace(unseen=tuple(sorted((*others, *left), key=_partition))))


@clause("REB-1", "REB-6", "REB-7", "REB-11", "REB-13")
def _told_otherwise(state: State, flows: Flows, p: int, action: Action) -> Iterator[State]:
    """What an event may tell if a requirement is waived: that a partition is ready at another flow while it
    is not taken from the old one, or so again (REB-1); that the partition of a lost flow has another one
    before the rebalance (REB-6, REB-7; narrowly before the delay ends), or nobody after it (REB-11); another
    state than it is in (REB-13)."""
    pair, flow = flows.owner[p], action.flow
    if flow is None:
        return
    ready = action.state == "ready" and any(flow == name for name, _ in flows.active)
    if ready and not state.forbids("REB-1"):
        leaving = next((e for e in flows.unseen if e[0] == p and e[2] == "unassigned"), None)
        old = leaving[1] if leaving is not None else None if pair is None else pair[0]
        alive = any(old == name for name, _ in flows.active) and all(e[0] != p for e in flows.unseen)
        if old not in (None, flow) and (leaving is not None or alive):
            yield _also(state, flows, p, flow, str(old))
    if not state.forbids("REB-1") and action.state == "ready" and pair == (flow, "ready"):
        yield state
    if action.state == "unassigned" and (p, flow) in flows.former:
        yield given_back(state._replace(flows=_without(flows, p, flow)), flow, p)
    others = [name for q, name in flows.former if q == p and name != flow]
    if action.state == "unassigned" and pair == (flow, "ready") and others:
        remaining = _without(flows, p, others[-1])
        yield _owned(given_back(state._replace(flows=remaining), flow, p), p, (others[-1], "ready"))
    if flows.standby and not state.forbids("REB-5"):
        yield from _told_of_surplus(state, flows, p, flow, action.state)
    orphan = pair is not None and pair[1] == "unbound"
    early = NARROWLY not in state.cfg.waived or (flows.timer is not None and flows.timer.lo > state.now)
    if orphan and not (state.forbids("REB-6") and state.forbids("REB-7")):
        assert pair is not None
        if ready and (early or not state.forbids("REB-6")):
            yield _owned(_heard(state, flows, p, []), p, (flow, "ready"))
        elif action.state == "unassigned" and pair[0] == flow:
            yield _heard(state, flows, p, [])
    if orphan and action.state == "unassigned" and flows.timer is None and not state.forbids("REB-11"):
        yield _heard(state, flows, p, [])
    if not state.forbids("REB-13"):
        news = [event for event in flows.unseen if event[0] == p]
        for n, event in enumerate(news):
            if event[1] == flow:  # what comes before is not told of, or this in other words
                yield _heard(state, flows, p, news[n + 1 :])
        if pair is not None and pair[0] == flow and not news:
            yield state


@clause("REB-5")
def _told_of_surplus(state: State, flows: Flows, p: int, flow: str, told: str | None) -> Iterator[State]:
    """With REB-5 waived a standby may be dealt in, in somebody's place."""
    standby = next((one for one in flows.standby if one[0] == flow), None)
    if told == "unassigned" and flows.owner[p] == (flow, "ready"):
        yield _owned(given_back(state, flow, p), p, None)
    elif told == "ready" and standby is not None and flows.owner[p] is None:
        others = tuple(one for one in flows.standby if one != standby)
        dealt = flows._replace(active=(*flows.active, standby), standby=others)
        yield _owned(state._replace(flows=dealt), p, (flow, "ready"))


def _also(state: State, flows: Flows, p: int, flow: str, old: str) -> State:
    """The partition is this flow's, and still the old one's."""
    former = tuple(sorted({*flows.former, (p, old)}))
    handoff = (*flows.handoff[:p], None, *flows.handoff[p + 1 :])
    heard = _heard(state, flows._replace(former=former, handoff=handoff), p, [])
    return _owned(heard, p, (flow, "ready"))


def _without(flows: Flows, p: int, flow: str) -> Flows:
    """The flows where this one does not have the partition beside another one any more."""
    return flows._replace(former=tuple(other for other in flows.former if other != (p, flow)))


def _owned(state: State, p: int, pair: Owner) -> State:
    flows = state.flows
    assert flows is not None
    return state._replace(flows=flows._replace(owner=(*flows.owner[:p], pair, *flows.owner[p + 1 :])))


def _partition(event: Change) -> int:
    """What unseen events are sorted by: those of one partition stay in their order."""
    return event[0]
