"""How a partition passes from one flow to another (REB-1, REB-13, REB-14).

A partition that moves is paused first, until its old flow has nothing unsettled or the handoff time ends.
Which partition goes to whom is `norm`'s business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain, combinations
from typing import Final

from ..actions import OK, Action, Answer, Observed
from ..clauses import clause, point
from ..configuration import FOREVER, position
from ..edits import with_part
from ..errors import TooManyWays
from ..state import Flows, State, Steps
from ..statuses import FRESH, LOCKED

NOBODY: Final = ""
"""The heir in a handoff whose new flow has left, without a standby. No source says whether such a handoff
ends before the next rebalance."""

GONE: Final = "gone"
"""The state of a partition that a flow was handing off when it went, until that is told: a flow that comes
back under its name is another one."""

FLOWLESS: Final = ("unbound", GONE)
"""The states in which a partition's flow has gone."""

SOME: Final = 10
"""So many handoffs to flows that have gone may be cancelled one by one."""

Owner = tuple[str, str] | None
Handoff = tuple[str, int, int]


def is_bound(flows: Flows, name: str) -> bool:
    return any(name == flow for flow, _ in flows.active + flows.standby)


def subsets(moved: Collection[int]) -> Iterator[Collection[int]]:
    """Of the handoffs to a flow that has gone those that are cancelled: none, all, or any; of many, none or
    all."""
    sizes = dict.fromkeys((0, len(moved), *(range(1, len(moved)) if len(moved) <= SOME else ())))
    return chain.from_iterable(combinations(sorted(moved), size) for size in sizes)


def all_tried(state: State, names: Collection[str], seen: Observed | None) -> None:
    """Raises `TooManyWays` where a history is explained, and not all ways to cancel the handoffs to these
    flows are tried."""
    waiting = () if state.flows is None else state.flows.handoff
    if seen is not None and sum(one is not None and one[0] in names for one in waiting) > SOME:
        raise TooManyWays


@clause("REB-13", "REB-14")
def redistributed(state: State, flows: Flows, target: tuple[str | None, ...]) -> Iterator[State]:
    """Partitions that nobody consumes are with their new flow at once; one that another flow consumes is
    paused for its handoff."""
    changes: dict[int, Owner] = {}
    moving: dict[int, str] = {}
    for p, name in enumerate(target):
        pair = flows.owner[p]
        if name is None:
            changes[p] = None
        elif pair is None or pair[1] in FLOWLESS or pair[0] == name:
            changes[p] = (name, "ready")
        else:
            changes[p] = (pair[0], "paused")
            moving[p] = name
    for handoff in _deadlines(state, flows, moving):
        yield settled(changed(state, flows._replace(handoff=handoff), changes), 0)


@clause("REB-14")
def _deadlines(state: State, flows: Flows, moving: Mapping[int, str]) -> list[tuple[Handoff | None, ...]]:
    """The handoffs to these flows. Of one that is under way already the handoff time goes on, or starts anew:
    no source says which. All of them do the same, or those to another flow than before start anew."""
    low, high = handoff_time(state)
    ways = []
    for kept in ("all", "none", "of the same flow"):
        handoff: list[Handoff | None] = [None] * len(flows.owner)
        for p, name in moving.items():
            old = flows.handoff[p]
            anew = old is None or kept == "none" or (kept != "all" and old[0] != name)
            handoff[p] = (name, low, high) if old is None or anew else (name, *old[1:])
        ways.append(tuple(handoff))
    return list(dict.fromkeys(ways))


@point("REB-14")
def handoff_time(state: State) -> tuple[int, int]:
    """When a handoff that begins now ends."""
    ends = state.now + state.cfg.entity.max_handoff
    return (state.now, FOREVER) if state.cfg.untimed else (ends, ends)


@point("REB-14")
def settled(state: State, slack: int) -> State:
    """A handoff whose old flow has nothing unsettled any more is due now; one whose locks a fault may have
    ended may be."""
    flows = state.flows
    if flows is None or not any(flows.handoff):
        return state
    handoff = tuple(
        waiting if waiting is None or waiting[1] <= state.now else _due(state, p, waiting, slack)
        for p, waiting in enumerate(flows.handoff)
    )
    return state._replace(flows=flows._replace(handoff=handoff))


def unsettled_less(before: State, action: Action, answer: Answer, after: State) -> State:
    """The state after a settlement: a handoff may have nothing more to wait for."""
    return settled(after, action.slack)


def _due(state: State, p: int, waiting: Handoff, slack: int) -> Handoff:
    locks = [entry.lock for entry in state.parts[p].log if entry.lock is not None and entry.status == LOCKED]
    if not all(lock.shaken for lock in locks):
        return waiting
    flow, _, latest = waiting
    return (flow, state.now, latest if locks else min(latest, state.now + slack))


@point("REB-1", "REB-2", "REB-14")
def handoff(state: State, action: Action, seen: Observed | None) -> Steps:
    """A partition passes to its new flow; what the old one had not settled may be delivered again."""
    passing = handed_over(state, action)
    if passing is not None:
        p, old, flows, change = passing
        state = given_back(state, old, p)
        slack = action.slack
        if change == (old, "ready") and (parted := changed(state, flows, {p: None}, slack)).flows is not None:
            state, flows = parted, parted.flows  # a standby has taken the place of the flow it was for
        yield OK, changed(state, flows, {p: change}, slack)


def handed_over(state: State, action: Action) -> tuple[int, str, Flows, Owner] | None:
    """The partition whose handoff may end, its old flow, the flows without the handoff, and its new pair."""
    flows, p = state.flows, position(state.cfg, action.partition)
    if flows is None or p is None or state.dead:
        return None
    waiting, pair = flows.handoff[p], flows.owner[p]
    if waiting is None or pair is None or waiting[1] > state.now:
        return None
    after = flows._replace(handoff=(*flows.handoff[:p], None, *flows.handoff[p + 1 :]))
    return p, pair[0], after, (waiting[0], "ready") if is_bound(flows, waiting[0]) else None


@clause("REB-3", "REB-14")
def given_back(state: State, name: str, only: int | None = None) -> State:
    """Return a flow's unacknowledged messages to their places."""
    for p, part in enumerate(state.parts):
        if only in (None, p) and any(e.lock is not None and e.lock.holder == name for e in part.log):
            log = tuple(
                e._replace(status=FRESH, lock=None) if e.lock is not None and e.lock.holder == name else e
                for e in part.log
            )
            state = with_part(state, p, part._replace(log=log))
    return state


@clause("REB-1", "REB-13")
def changed(state: State, flows: Flows, changes: Mapping[int, Owner], slack: int = 0) -> State:
    """The state with other pairs of partition and flow; of each change there will be an event. A flow that
    has come back under its name is another one (REB-9)."""
    owner, unseen = list(flows.owner), list(flows.unseen)
    latest = state.now + slack + state.cfg.telling
    for p, pair in sorted(changes.items()):
        before = owner[p]
        if before == pair:
            continue
        if before is not None and (pair is None or pair[0] != before[0] or before[1] in FLOWLESS):
            unseen.append((p, before[0], "unassigned", latest))
        if pair is not None and pair[1] != GONE:
            unseen.append((p, *pair, latest))
        owner[p] = pair
    events = tuple(unseen) if state.cfg.observed else ()
    return state._replace(flows=flows._replace(owner=tuple(owner), unseen=events))
