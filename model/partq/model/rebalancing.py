"""Flows: who consumes, which partitions each of them has, and how these change hands (REB).

A flow that binds or leaves starts the rebalance delay, or a standby takes over at once; at the delay's end
any even distribution is allowed. A partition that moves is paused first, until its old flow has nothing
unsettled or the handoff time ends. `rebalance` and `handoff` are the broker's own moves; `advance` cannot
pass them once they are overdue. How messages are picked from a partition is `delivery`'s business.

Reconnecting with a former mapping, and changing the partition count, are not modelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from . import delivery
from .actions import INVALID, LOST, NOWHERE, OK, REFUSED, Action, Answer, Observed, failure
from .clauses import clause
from .state import FOREVER, FRESH, LOCKED, Deadline, Flows, State, is_up, position, with_part

Steps = Iterator[tuple[Answer, State]]
Owner = tuple[str, str] | None


def bind(state: State, action: Action, seen: Observed | None) -> Steps:
    """Become a consumer under a new flow name."""
    flows, name = state.flows, action.flow
    if flows is None or name is None or action.partition is not None:
        yield from _refuse_choice(state)
    elif _is_bound(flows, name):
        yield failure(INVALID), state
    else:
        for after in _bound(state, flows, (name, action.proc), action.slack):
            yield OK, after


@clause("REB-15")
def _refuse_choice(state: State) -> Steps:
    yield failure(REFUSED), state


@clause("REB-4", "REB-5")
def _bound(state: State, flows: Flows, flow: tuple[str, str], slack: int) -> Iterator[State]:
    if len(flows.active) + len(flows.standby) >= len(state.parts):
        yield state._replace(flows=flows._replace(standby=(*flows.standby, flow)))
        return
    for timer in _timers(state, flows, slack):
        yield state._replace(flows=flows._replace(active=(*flows.active, flow), timer=timer))


def _timers(state: State, flows: Flows, slack: int) -> list[Deadline]:
    """The rebalance delay started; one that runs already may go on, or start anew."""
    ends = state.now + state.cfg.entity.rebalance_delay
    started = Deadline(state.now, FOREVER) if state.cfg.untimed else Deadline(ends, ends + slack)
    return [started] if flows.timer in (None, started) else [flows.timer, started]


def unbind(state: State, action: Action, seen: Observed | None) -> Steps:
    """Stop consuming, in good order."""
    flows, name = state.flows, action.flow
    if flows is None or name is None or not _is_bound(flows, name):
        yield failure(REFUSED | LOST), state
        return
    for after in _left(state, name, action.slack):
        yield OK, after


def lost(state: State, proc: str, slack: int) -> Iterator[State]:
    """Every flow of a client gone."""
    flows = state.flows
    name = (
        None if flows is None else next((f for f, who in flows.active + flows.standby if who == proc), None)
    )
    if name is None:
        yield state
        return
    for after in _left(state, name, slack):
        yield from lost(after, proc, slack)


def _is_bound(flows: Flows, name: str) -> bool:
    return any(name == flow for flow, _ in flows.active + flows.standby)


def _left(state: State, name: str, slack: int) -> Iterator[State]:
    """The states after a flow is gone: what it had not settled is back in its place, marked redelivered."""
    flows = state.flows
    assert flows is not None
    state = _given_back(state, name)
    standby = tuple(f for f in flows.standby if f[0] != name)
    active = tuple(f for f in flows.active if f[0] != name)
    left = settled(state._replace(flows=flows._replace(active=active, standby=standby)), slack)
    assert left.flows is not None
    if len(standby) < len(flows.standby):
        yield left
    elif standby:
        yield from _taken_over(left, left.flows, name, slack)
    else:
        yield from _unbound(left, left.flows, name, slack)


@clause("REB-6")
def _taken_over(state: State, flows: Flows, name: str, slack: int) -> Iterator[State]:
    """A standby has all the partitions at once; which one is free."""
    for heir in flows.standby:
        after = flows._replace(
            active=(*flows.active, heir),
            standby=tuple(f for f in flows.standby if f != heir),
            handoff=tuple(h and (heir[0] if h[0] == name else h[0], *h[1:]) for h in flows.handoff),
        )
        changes = {p: (heir[0], "ready") for p, pair in enumerate(flows.owner) if pair == (name, "ready")}
        yield _changed(state, after, changes, slack)


@clause("REB-7", "REB-9", "REB-13")
def _unbound(state: State, flows: Flows, name: str, slack: int) -> Iterator[State]:
    """Its partitions wait for the delay to end. Without any, there may be no need for a delay."""
    changes: dict[int, Owner] = {
        p: (name, "unbound") for p, pair in enumerate(flows.owner) if pair == (name, "ready")
    }
    timers: list[Deadline | None] = [*_timers(state, flows, slack)]
    if not changes:
        timers = list(dict.fromkeys([flows.timer, *timers]))
    for timer in timers:
        yield _changed(state, flows._replace(timer=timer), changes, slack)


@clause("REB-3", "REB-14")
def _given_back(state: State, name: str, only: int | None = None) -> State:
    """What a flow had not settled, back in its place."""
    for p, part in enumerate(state.parts):
        if only in (None, p) and any(e.lock is not None and e.lock.holder == name for e in part.log):
            log = tuple(
                e._replace(status=FRESH, lock=None) if e.lock is not None and e.lock.holder == name else e
                for e in part.log
            )
            state = with_part(state, p, part._replace(log=log))
    return state


def killed(state: State) -> Iterator[State]:
    """What a kill of the broker may do to the flows: they are there again when it is, or all are gone."""
    yield state
    flows = state.flows
    if flows is not None and (flows.active or flows.standby or any(flows.owner)):
        for name, _ in flows.active + flows.standby:
            state = _given_back(state, name)
        count = len(state.parts)
        yield state._replace(flows=Flows(owner=(None,) * count, handoff=(None,) * count))


# What the broker does by itself


def moves(state: State) -> list[Action]:
    """The rebalance and the handoffs that are due."""
    flows = state.flows
    if flows is None or state.dead:
        return []
    found = [Action("rebalance")] if flows.timer is not None and flows.timer.lo <= state.now else []
    for p, waiting in enumerate(flows.handoff):
        if waiting is not None and waiting[1] <= state.now:
            found.append(Action("handoff", partition=state.cfg.names[p]))
    return found


def overdue(state: State, then: int) -> bool:
    """Whether by then something that is due, or an event that tells of it, would be too late."""
    flows, late = state.flows, state.cfg.late
    if flows is None or state.dead:
        return False
    ends = [waiting[2] for waiting in flows.handoff if waiting is not None]
    if flows.timer is not None:
        ends.append(flows.timer.hi)
    return any(end + late < then for end in ends) or any(latest < then for *_, latest in flows.unseen)


@clause("REB-4", "REB-7", "REB-9", "REB-11", "REB-12")
def rebalance(state: State, action: Action, seen: Observed | None) -> Steps:
    """The delay has ended: the partitions are distributed evenly over the active flows, in any way."""
    flows = state.flows
    if flows is None or flows.timer is None or flows.timer.lo > state.now or state.dead:
        return
    names = [flow for flow, _ in flows.active]
    for target in _even(len(state.parts), names):
        yield OK, _redistributed(state, flows._replace(timer=None), target)


@clause("REB-1", "REB-12")
def _even(count: int, names: list[str]) -> Iterator[tuple[str | None, ...]]:
    """Every assignment of partitions to flows in which their numbers differ by at most one."""
    if not names:
        yield (None,) * count
        return
    share, more = divmod(count, len(names))
    for favoured in combinations(names, more):
        sizes = {name: share + (name in favoured) for name in names}
        yield from _filled(count, names, sizes, ())


def _filled(
    count: int, names: list[str], sizes: dict[str, int], chosen: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    if len(chosen) == count:
        yield chosen
        return
    for name in names:
        if sizes[name]:
            yield from _filled(count, names, {**sizes, name: sizes[name] - 1}, (*chosen, name))


@clause("REB-13", "REB-14")
def _redistributed(state: State, flows: Flows, target: tuple[str | None, ...]) -> State:
    """Partitions that nobody consumes are with their new flow at once; one that another flow consumes is
    paused for its handoff."""
    changes: dict[int, Owner] = {}
    handoff: list[tuple[str, int, int] | None] = [None] * len(target)
    ends = state.now + state.cfg.entity.max_handoff
    low, high = (state.now, FOREVER) if state.cfg.untimed else (ends, ends)
    for p, name in enumerate(target):
        pair = flows.owner[p]
        if name is None:
            changes[p] = None
        elif pair is None or pair[1] == "unbound" or pair[0] == name:
            changes[p] = (name, "ready")
        else:
            changes[p] = (pair[0], "paused")
            handoff[p] = (name, low, high)
    after = _changed(state, flows._replace(handoff=tuple(handoff)), changes)
    return settled(after, 0)


@clause("REB-14")
def settled(state: State, slack: int) -> State:
    """A handoff whose old flow has nothing unsettled any more is due now."""
    flows = state.flows
    if flows is None or not any(flows.handoff):
        return state
    handoff = tuple(
        waiting
        if waiting is None or waiting[1] <= state.now or _open(state, p)
        else (waiting[0], state.now, min(waiting[2], state.now + slack))
        for p, waiting in enumerate(flows.handoff)
    )
    return state._replace(flows=flows._replace(handoff=handoff))


def _open(state: State, p: int) -> bool:
    return any(entry.status == LOCKED for entry in state.parts[p].log)


@clause("REB-1", "REB-2", "REB-14")
def handoff(state: State, action: Action, seen: Observed | None) -> Steps:
    """A partition passes to its new flow; what the old one had not settled may be delivered again."""
    flows, p = state.flows, position(state.cfg, action.partition)
    if flows is None or p is None or state.dead:
        return
    waiting, pair = flows.handoff[p], flows.owner[p]
    if waiting is None or pair is None or waiting[1] > state.now:
        return
    after = flows._replace(handoff=(*flows.handoff[:p], None, *flows.handoff[p + 1 :]))
    new = (waiting[0], "ready") if _is_bound(flows, waiting[0]) else None
    yield OK, _changed(_given_back(state, pair[0], p), after, {p: new})


@clause("REB-1", "REB-13")
def _changed(state: State, flows: Flows, changes: Mapping[int, Owner], slack: int = 0) -> State:
    """The state with other pairs of partition and flow; of each change there will be an event."""
    owner, unseen = list(flows.owner), list(flows.unseen)
    latest = state.now + slack + state.cfg.telling
    for p, pair in sorted(changes.items()):
        before = owner[p]
        if before == pair:
            continue
        if before is not None and (pair is None or pair[0] != before[0]):
            unseen.append((p, before[0], "unassigned", latest))
        if pair is not None:
            unseen.append((p, *pair, latest))
        owner[p] = pair
    events = tuple(unseen) if state.cfg.observed else ()
    return state._replace(flows=flows._replace(owner=tuple(owner), unseen=events))


@clause("REB-1", "REB-13")
def assignment(state: State, action: Action, seen: Observed | None) -> Steps:
    """The broker tells that a partition and a flow are a pair in this state from now on: it has to be true.
    With an observation, moves of the broker that are due are made if the event tells of them."""
    yield from _told(state, action, 0 if seen is None else 2)


def _told(state: State, action: Action, fold: int) -> Steps:
    flows, p = state.flows, position(state.cfg, action.partition)
    if flows is None or p is None:
        return
    news = [event for event in flows.unseen if event[0] == p]
    if news and news[0][2] == "paused" and action.state != "paused":
        news = news[1:]  # a handoff with nothing to wait for need not be told of
    if news:
        if news[0][2] == action.state and action.flow in (None, news[0][1]):
            others = tuple(e for e in flows.unseen if e[0] != p)
            unseen = tuple(sorted((*others, *news[1:]), key=_partition))
            yield OK, state._replace(flows=flows._replace(unseen=unseen))
        return
    if fold:
        for move in moves(state):
            mechanism = rebalance if move.op == "rebalance" else handoff
            for _, after in mechanism(state, move, None):
                yield from _told(after, action, fold - 1)


def _partition(event: tuple[int, str, str, int]) -> int:
    """What unseen events are sorted by: those of one partition stay in their order."""
    return event[0]


# Consuming


@clause("REB-2", "REB-5", "REB-13", "REB-15")
def receive(state: State, action: Action, seen: Observed | None) -> Steps:
    """A flow receives from the partitions that are ready for it, and is not told which they are."""
    flows, name = state.flows, action.flow
    if flows is None or name is None or (name, action.proc) not in flows.active + flows.standby:
        if action.only in (None, NOWHERE):
            yield failure(REFUSED | LOST), state
        if action.only in (None, NOWHERE) and (seen is None or not seen.messages):
            yield OK, state  # a receive may always come back empty
        return
    if seen is not None and any(shown.partition is not None for shown in seen.messages):
        return
    mine = [p for p, pair in enumerate(flows.owner) if pair == (name, "ready") and is_up(state, p)]
    yield from delivery.receive(state, action, seen, mine)
