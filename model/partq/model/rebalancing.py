"""Flows: who consumes, which partitions each of them has, and how these change hands (REB).

A flow that binds or leaves starts the rebalance delay, or a standby takes over at once; at the delay's end
any even distribution is allowed. A partition that moves is paused first, until its old flow has nothing
unsettled or the handoff time ends. `rebalance` and `handoff` are the broker's own moves; `advance` cannot
pass them once they are overdue. How messages are picked from a partition is `delivery`'s business.

Reconnecting with a former mapping, and changing the partition count, are not modelled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain, combinations, islice, product
from typing import Final

from . import delivery
from .actions import INVALID, LOST, NOWHERE, OK, REFUSED, Action, Answer, Observed, failure
from .clauses import clause
from .distributions import even, uneven
from .edits import with_part
from .operations import Outcome
from .state import FOREVER, FRESH, LOCKED, Deadline, Flows, State, is_up, position, up

NOBODY: Final = ""
"""Whom a partition is handed to if the flow that it was for has gone, and none stands by. No source says
whether such a handoff ends before the next rebalance."""

FORGOTTEN: Final = 64
"""How many sets of partitions that stay unbound are tried, with REB-11 waived."""

Steps = Iterator[tuple[Answer, State]]
Owner = tuple[str, str] | None
Handoff = tuple[str, int, int]


def bind(state: State, action: Action, seen: Observed | None) -> Steps:
    """Become a consumer under a new flow name."""
    flows, name = state.flows, action.flow
    if flows is None or name is None or action.partition is not None:
        yield from _refuse_choice(state)
    if flows is None or name is None or (action.partition is not None and state.forbids("REB-15")):
        return
    if _is_bound(flows, name):
        yield failure(INVALID), state
    else:
        for after in _bound(state, flows, (name, action.proc), action.slack):
            yield OK, after


@clause("REB-15")
def _refuse_choice(state: State) -> Steps:
    yield failure(REFUSED), state


@clause("REB-4", "REB-5", "REB-9")
def _bound(state: State, flows: Flows, flow: tuple[str, str], slack: int) -> Iterator[State]:
    surplus = len(flows.active) + len(flows.standby) >= len(state.parts)
    if surplus:
        yield state._replace(flows=flows._replace(standby=(*flows.standby, flow)))
    if surplus and state.forbids("REB-5"):
        return
    any_time = surplus or not state.forbids("REB-4") or _may_wait(state, flows, flow[1])
    for timer in [] if surplus else _timers(state, flows, slack):
        yield state._replace(flows=flows._replace(active=(*flows.active, flow), timer=timer))
        if flows.timer is not None and any(flows.handoff):
            resumed, back = _cancelled(flows, range(len(flows.owner)))
            active = (*flows.active, flow)
            yield _changed(state, resumed._replace(active=active, timer=timer), back, slack)
    if any_time:
        timer = Deadline(state.now, FOREVER)
        yield state._replace(flows=flows._replace(active=(*flows.active, flow), timer=timer))
        yield from _left_out(state, flows, flow, slack)


@clause("REB-4", "REB-5")
def _left_out(state: State, flows: Flows, flow: tuple[str, str], slack: int) -> Iterator[State]:
    """The states after a bind, where a requirement is waived, of a flow that rebalances leave out, though
    there may be one; or that they include with those that they left out before."""
    waiting = (*flows.standby, flow)
    timers = [flows.timer, Deadline(state.now, FOREVER), *_timers(state, flows, slack)]
    for joining in dict.fromkeys(((), flows.standby, waiting)) if state.breaks("REB-4") else ((),):
        standby = tuple(one for one in waiting if one not in joining)
        active = (*flows.active, *joining)
        for timer in dict.fromkeys(timers):
            yield state._replace(flows=flows._replace(active=active, standby=standby, timer=timer))


@clause("REB-9", "REB-10")
def _may_wait(state: State, flows: Flows, proc: str) -> bool:
    """Whether the flow of a client that comes back may be left out, or wait: before the delay ends (REB-9) or
    after it (REB-10)."""
    return proc in flows.gone and not state.forbids("REB-10" if flows.timer is None else "REB-9")


def _timers(state: State, flows: Flows, slack: int) -> list[Deadline]:
    """The rebalance delay started; one that runs already may go on, or start anew."""
    ends = state.now + state.cfg.entity.rebalance_delay
    started = Deadline(state.now, FOREVER) if state.cfg.untimed else Deadline(ends, ends + slack)
    return [started] if flows.timer in (None, started) else [flows.timer, started]


def unbind(state: State, action: Action, seen: Observed | None) -> Steps:
    """Stop consuming, in good order. To a flow that is gone already nothing happens; no source says what is
    answered."""
    flows, name = state.flows, action.flow
    if flows is None or name is None or not _is_bound(flows, name):
        yield failure(REFUSED | LOST), state
        if flows is not None and seen is not None:
            yield OK, state
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


@clause("REB-4", "REB-9", "REB-10")
def _left(state: State, name: str, slack: int) -> Iterator[State]:
    """The states after a flow is gone: what it had not settled is back in its place, marked redelivered."""
    flows = state.flows
    assert flows is not None
    state = given_back(state, name)
    if state.cfg.waived and not (state.forbids("REB-9") and state.forbids("REB-10")):
        who = next(proc for flow, proc in flows.active + flows.standby if flow == name)
        flows = flows._replace(gone=tuple(sorted({*flows.gone, who})))
    standby = tuple(f for f in flows.standby if f[0] != name)
    active = tuple(f for f in flows.active if f[0] != name)
    left = settled(state._replace(flows=flows._replace(active=active, standby=standby)), slack)
    assert left.flows is not None
    if len(standby) < len(flows.standby):
        yield left
    elif standby:
        yield from _taken_over(left, left.flows, name, slack)
        if state.breaks("REB-4"):  # it is none, but a flow that was left out, and may go on to be
            joined = left.flows._replace(active=active + standby, standby=())
            for after in (left.flows, joined):
                yield from _unbound(left, after, name, slack)
    else:
        yield from _unbound(left, left.flows, name, slack)


@clause("REB-6")
def _taken_over(state: State, flows: Flows, name: str, slack: int) -> Iterator[State]:
    """A standby has all the partitions at once; which one is free."""
    for heir in flows.standby:
        after = flows._replace(
            active=(*flows.active, heir),
            standby=tuple(f for f in flows.standby if f != heir),
            handoff=_without(flows, name, heir[0]),
        )
        left = _left_behind(state, flows, name)
        kept = [p for p in left if flows.owner[p] == (name, "ready") or _to_nobody(flows, p)]
        changes = dict.fromkeys(kept, (heir[0], "ready"))
        yield _changed(state, after, {**left, **changes}, slack)
        if not state.forbids("REB-6"):  # it waits, or has some of them, or another flow does: events tell
            loose = after._replace(timer=Deadline(state.now, FOREVER))
            yield _changed(state, loose, left, slack)
            untold = loose._replace(owner=tuple(left.get(p, pair) for p, pair in enumerate(loose.owner)))
            yield state._replace(flows=untold)


@clause("REB-13")
def _left_behind(state: State, flows: Flows, name: str) -> dict[int, Owner]:
    """The partitions of a flow that is gone. One that it was handing off to another is due at once; where
    assignments are observed it is unbound until then from the event that tells so, if there is one."""
    return {
        p: (name, "unbound")
        for p, pair in enumerate(flows.owner)
        if pair == (name, "ready")
        or (pair == (name, "paused") and (not state.cfg.observed or _to_nobody(flows, p)))
    }


def _to_nobody(flows: Flows, p: int) -> bool:
    """Whether a partition is in a handoff to a flow that has gone."""
    waiting = flows.handoff[p]
    return waiting is not None and waiting[0] == NOBODY


@clause("REB-7", "REB-9", "REB-13")
def _unbound(state: State, flows: Flows, name: str, slack: int) -> Iterator[State]:
    """Its partitions wait for the delay to end. Without any, there may be no need for a delay."""
    changes = _left_behind(state, flows, name)
    started = _timers(state, flows, slack)
    if not state.forbids("REB-7"):
        started.append(Deadline(state.now, FOREVER))
    orphaned = flows._replace(handoff=_without(flows, name))
    had = any(pair == (name, "ready") for pair in flows.owner)
    moved = {p for p, h in enumerate(flows.handoff) if h is not None and h[0] == name}
    ways = [(orphaned, dict[int, Owner](), had or bool(moved))]
    if moved:
        kept, back = _cancelled(orphaned, moved)
        ways.append((kept, back, had or moved > back.keys()))
    for after, back, needs in ways:
        for timer in started if needs else dict.fromkeys([flows.timer, *started]):
            yield _changed(state, after._replace(timer=timer), {**changes, **back}, slack)


def _without(flows: Flows, name: str, heir: str = NOBODY) -> tuple[Handoff | None, ...]:
    """The handoffs after a flow is gone: those to it are to its heir, and those to nobody are over if their
    old flow is gone, too."""
    handoff = list(flows.handoff)
    for p, (pair, waiting) in enumerate(zip(flows.owner, flows.handoff, strict=True)):
        if waiting is not None:
            target = heir if waiting[0] == name else waiting[0]
            remains = target != NOBODY or (
                pair is not None and pair[1] == "paused" and _is_bound(flows, pair[0])
            )
            handoff[p] = (target, *waiting[1:]) if remains else None
    return tuple(handoff)


@clause("REB-9")
def _cancelled(flows: Flows, among: Collection[int]) -> tuple[Flows, dict[int, Owner]]:
    """As many flows as before: the handoffs of these partitions may be cancelled, by flows that are still
    there. What is left of the handoffs, and which partitions are with their flows again."""
    kept: dict[int, Owner] = {}
    for p, (pair, waiting) in enumerate(zip(flows.owner, flows.handoff, strict=True)):
        if p in among and waiting and pair is not None and pair[1] == "paused" and _is_bound(flows, pair[0]):
            kept[p] = (pair[0], "ready")
    handoff = tuple(None if p in kept else waiting for p, waiting in enumerate(flows.handoff))
    return flows._replace(handoff=handoff), kept


@clause("REB-3", "REB-14")
def given_back(state: State, name: str, only: int | None = None) -> State:
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
    """What a kill of the broker may do to the flows: they are there again when it is, or all are gone. Of
    those that are kept the locks may be lost, so that a handoff has nothing to wait for any more (REB-14)."""
    flows = state.flows
    if flows is None or not any(flows.handoff):
        yield state
    else:
        due = tuple(h and (h[0], min(h[1], state.now), h[2]) for h in flows.handoff)
        yield state._replace(flows=flows._replace(handoff=due))
    if flows is not None and (flows.active or flows.standby or any(flows.owner)):
        for name, _ in flows.active + flows.standby:
            state = given_back(state, name)
        count = len(state.parts)
        yield state._replace(flows=Flows(owner=(None,) * count, handoff=(None,) * count))


def started(state: State, slack: int) -> State:
    """What timers and events a kill left over begins anew with the broker, if it was kept at all."""
    flows, now = state.flows, state.now + slack
    if flows is None:
        return state
    delay, time = state.cfg.entity.rebalance_delay, state.cfg.entity.max_handoff
    timer = flows.timer and Deadline(flows.timer.lo, max(flows.timer.hi, now + delay))
    handoff = tuple(h and (h[0], h[1], max(h[2], now + time)) for h in flows.handoff)
    unseen = tuple((*event[:3], max(event[3], now + state.cfg.telling)) for event in flows.unseen)
    return state._replace(flows=flows._replace(timer=timer, handoff=handoff, unseen=unseen))


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
    ends = [waiting[2] for waiting in flows.handoff if waiting is not None and waiting[0] != NOBODY]
    if flows.timer is not None:
        ends.append(flows.timer.hi)
    if any(end + late < then for end in ends):
        return True
    return any(latest < then for *_, latest in flows.unseen) and state.forbids("REB-13")


@clause("REB-4", "REB-7", "REB-9", "REB-11", "REB-12")
def rebalance(state: State, action: Action, seen: Observed | None) -> Steps:
    """The delay has ended: the partitions are distributed evenly over the active flows, in any way, or in
    one of those that the action's ``target`` leaves."""
    flows = state.flows
    if flows is None or flows.timer is None or flows.timer.lo > state.now or state.dead:
        return
    names = [flow for flow, _ in flows.active]
    wanted = action.target or (None,) * len(state.parts)
    for target in even(wanted, names) if state.forbids("REB-12") else uneven(wanted, names):
        for after in _redistributed(state, flows._replace(timer=None), target):
            yield OK, after
    if not state.forbids("REB-11"):
        yield from ((OK, after) for after in _forgotten(state, flows, wanted))


@clause("REB-11")
def _forgotten(state: State, flows: Flows, wanted: tuple[str | None, ...]) -> Iterator[State]:
    """With REB-11 waived any partitions of lost flows may stay unbound: the others move, or nothing does."""
    unbound = {p: pair for p, pair in enumerate(flows.owner) if pair is not None and pair[1] == "unbound"}
    if not unbound:
        return
    ended = flows._replace(timer=None)
    yield state._replace(flows=ended)
    if None in wanted:
        return
    subsets = chain.from_iterable(combinations(unbound, size) for size in range(len(unbound), 0, -1))
    for after, kept in product(_redistributed(state, ended, wanted), islice(subsets, FORGOTTEN)):
        assert after.flows is not None
        owner = tuple(unbound[p] if p in kept else pair for p, pair in enumerate(after.flows.owner))
        unseen = tuple(event for event in after.flows.unseen if event[0] not in kept)
        yield after._replace(flows=after.flows._replace(owner=owner, unseen=unseen))


@clause("REB-13", "REB-14")
def _redistributed(state: State, flows: Flows, target: tuple[str | None, ...]) -> Iterator[State]:
    """Partitions that nobody consumes are with their new flow at once; one that another flow consumes is
    paused for its handoff."""
    changes: dict[int, Owner] = {}
    moving: dict[int, str] = {}
    for p, name in enumerate(target):
        pair = flows.owner[p]
        if name is None:
            changes[p] = None
        elif pair is None or pair[1] == "unbound" or pair[0] == name:
            changes[p] = (name, "ready")
        else:
            changes[p] = (pair[0], "paused")
            moving[p] = name
    for handoff in _deadlines(state, flows, moving):
        yield settled(_changed(state, flows._replace(handoff=handoff), changes), 0)


@clause("REB-14")
def _deadlines(state: State, flows: Flows, moving: Mapping[int, str]) -> list[tuple[Handoff | None, ...]]:
    """The handoffs to these flows. Of one that is under way already the handoff time goes on, or starts anew:
    no source says which. All of them do the same, or those to another flow than before start anew."""
    ends = state.now + state.cfg.entity.max_handoff
    any_time = state.cfg.untimed or not state.forbids("REB-14")
    low, high = (state.now, FOREVER) if any_time else (ends, ends)
    ways = []
    for kept in ("all", "none", "of the same flow"):
        handoff: list[Handoff | None] = [None] * len(flows.owner)
        for p, name in moving.items():
            old = flows.handoff[p]
            anew = old is None or kept == "none" or (kept != "all" and old[0] != name)
            handoff[p] = (name, low, high) if old is None or anew else (name, *old[1:])
        ways.append(tuple(handoff))
    return list(dict.fromkeys(ways))


@clause("REB-14")
def settled(state: State, slack: int) -> State:
    """A handoff whose old flow has nothing unsettled any more is due now; one whose locks a fault may have
    ended may be."""
    flows = state.flows
    if flows is None or not any(flows.handoff) or not state.forbids("REB-14"):
        return state
    handoff = tuple(
        waiting if waiting is None or waiting[1] <= state.now else _due(state, p, waiting, slack)
        for p, waiting in enumerate(flows.handoff)
    )
    return state._replace(flows=flows._replace(handoff=handoff))


def _due(state: State, p: int, waiting: Handoff, slack: int) -> Handoff:
    locks = [entry.lock for entry in state.parts[p].log if entry.lock is not None and entry.status == LOCKED]
    if not all(lock.shaken for lock in locks):
        return waiting
    flow, _, latest = waiting
    return (flow, state.now, latest if locks else min(latest, state.now + slack))


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
    yield OK, _changed(given_back(state, pair[0], p), after, {p: new})
    early = state.now < waiting[1] + state.cfg.entity.max_handoff
    if early and not state.forbids("REB-14"):  # the old flow still holds what it had
        yield OK, _changed(state, after, {p: new})


@clause("REB-1", "REB-13")
def _changed(state: State, flows: Flows, changes: Mapping[int, Owner], slack: int = 0) -> State:
    """The state with other pairs of partition and flow; of each change there will be an event. A flow that
    has come back under its name is another one (REB-9)."""
    owner, unseen = list(flows.owner), list(flows.unseen)
    latest = state.now + slack + state.cfg.telling
    for p, pair in sorted(changes.items()):
        before = owner[p]
        if before == pair:
            continue
        if before is not None and (pair is None or pair[0] != before[0] or before[1] == "unbound"):
            unseen.append((p, before[0], "unassigned", latest))
        if pair is not None:
            unseen.append((p, *pair, latest))
        owner[p] = pair
    events = tuple(unseen) if state.cfg.observed else ()
    return state._replace(flows=flows._replace(owner=tuple(owner), unseen=events))


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
        if flows is not None and seen is not None and seen.messages and not state.forbids("REB-2"):
            yield from _one_by_one(state, action, seen, up(state))
        return
    if seen is not None and any(shown.partition is not None for shown in seen.messages):
        if state.forbids("REB-15"):
            return
        seen = seen._replace(messages=tuple(shown._replace(partition=None) for shown in seen.messages))
    mine = [p for p in range(len(flows.owner)) if _delivers(state, flows, name, p) and is_up(state, p)]
    if seen is None or len(seen.messages) < 2:
        yield from delivery.receive(state, action, seen, mine)
        if seen is not None and state.cfg.waived:
            yield from _through_another(state, flows, action, seen)
    else:  # no requirement bounds their number
        yield from _one_by_one(state, action, seen, mine)


@clause("REB-2")
def _through_another(state: State, flows: Flows, action: Action, seen: Observed) -> Steps:
    """With REB-2 waived a client is handed through one of its flows what is another one's, whose it stays."""
    for p, pair in enumerate(flows.owner):
        if pair is not None and pair[0] != action.flow and (pair[0], action.proc) in flows.active:
            if pair[1] == "ready" and is_up(state, p) and not state.forbids("REB-2"):
                yield from delivery.receive(state, action._replace(flow=pair[0]), seen, [p])


@clause("REB-1", "REB-2", "REB-5", "REB-13", "REB-14")
def _delivers(state: State, flows: Flows, name: str, p: int) -> bool:
    """Whether the partition delivers to the flow: it is ready there. Or it is waived that it has to be the
    flow's (REB-2), no other's any more (REB-1), not a standby's (REB-5), not in a handoff (REB-13), or that
    the handoff has to end first (REB-14)."""
    pair, waiting = flows.owner[p], flows.handoff[p]
    if pair == (name, "ready"):
        return True
    if not state.cfg.waived:
        return False
    return (
        not state.forbids("REB-2")
        or (p, name) in flows.former
        or (not state.forbids("REB-5") and any(name == flow for flow, _ in flows.standby))
        or (not state.forbids("REB-13") and pair == (name, "paused"))
        or (waiting is not None and waiting[0] == name and not state.forbids("REB-14"))
    )


@clause("REB-3")
def _one_by_one(state: State, action: Action, seen: Observed, mine: list[int]) -> Steps:
    """The messages of an answer are delivered in its order."""
    states = [state]
    for shown in seen.messages if seen.status == Outcome.OK else ():
        found = (after for s in states for after in delivery.explained(s, action, (shown,), mine))
        states = list(dict.fromkeys(found))
    answer = Answer(Outcome.OK, messages=seen.messages)
    yield from ((answer, after) for after in states)
