"""Flows: the consumers, and the partitions assigned to each (REB).

A flow that binds or leaves starts the rebalance delay, or a standby takes over at once; at the delay's end
any even distribution is allowed. `rebalance` and `handoff` are the broker's own moves; `advance` cannot pass
them once they are overdue. How a partition is handed off is in `handoffs`, what flows receive in `consuming`,
what is lost at one instant in `losses`.

Reconnecting with a former mapping is `resuming`'s business, changing the partition count that of `scaling`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from ..actions import INVALID, LOST, OK, REFUSED, Action, Observed, failure
from ..clauses import clause, guard, point
from ..configuration import FOREVER
from ..operations import SETTLEMENTS
from ..state import Deadline, Flows, State, Steps
from .consuming import receive
from .distributions import even
from .handoffs import (
    FLOWLESS,
    GONE,
    NOBODY,
    Handoff,
    Owner,
    all_tried,
    changed,
    given_back,
    handoff,
    is_bound,
    redistributed,
    settled,
    subsets,
    unsettled_less,
)


def bind(state: State, action: Action, seen: Observed | None) -> Steps:
    """Become a consumer under a new flow name."""
    flows, name = state.flows, action.flow
    if flows is None or name is None or action.partition is not None:
        yield from _refuse_choice(state)
    if flows is None or name is None or not is_dealt(state, action):
        return
    if is_bound(flows, name):
        yield failure(INVALID), state
        if action.fates and (name, action.proc) in flows.active + flows.standby:
            yield OK, state  # it outlived a kill, and its client takes it for gone
    else:
        for after in bound(state, flows, (name, action.proc), action.slack):
            yield OK, after


@guard("REB-15")
def is_dealt(state: State, action: Action) -> bool:
    """Whether a flow does not choose its partition."""
    return action.partition is None


@clause("REB-15")
def _refuse_choice(state: State) -> Steps:
    yield failure(REFUSED), state


@point("REB-4", "REB-5", "REB-9")
def bound(state: State, flows: Flows, flow: tuple[str, str], slack: int) -> Iterator[State]:
    """The states after a flow is a consumer: a standby where there are enough, or active after the delay."""
    if is_surplus(state, flows):
        yield state._replace(flows=flows._replace(standby=(*flows.standby, flow)))
        if flows.scaled:  # the rebalance to come deals with it, or not
            yield state._replace(flows=flows._replace(active=(*flows.active, flow)))
        return
    active = (*flows.active, flow)
    for timer in timers(state, flows, slack):
        yield state._replace(flows=flows._replace(active=active, timer=timer, alone="", ends=0))
        if flows.timer is not None and any(flows.handoff):
            resumed, back = _cancelled(flows, range(len(flows.owner)))
            yield changed(state, resumed._replace(active=active, timer=timer, alone=""), back, slack)


def is_surplus(state: State, flows: Flows) -> bool:
    """Whether another flow would exceed the number of partitions."""
    return len(flows.active) + len(flows.standby) >= len(state.parts)


def timers(state: State, flows: Flows, slack: int) -> list[Deadline]:
    """The rebalance delay started; one that runs already may go on, or start anew. After a kill that ended
    all flows the one that began with their loss may go on: one deadline for both, as two would double what
    is searched."""
    ends = state.now + state.cfg.entity.rebalance_delay
    began = flows.ends if flows.ends > state.now else ends
    started = Deadline(state.now, FOREVER) if state.cfg.untimed else Deadline(min(began, ends), ends + slack)
    return [started] if flows.timer in (None, started) else [flows.timer, started]


def unbind(state: State, action: Action, seen: Observed | None) -> Steps:
    """Stop consuming, in good order. To a flow that is gone already nothing happens; no source says what is
    answered."""
    flows, name = state.flows, action.flow
    if flows is None or name is None or not is_bound(flows, name):
        yield failure(REFUSED | LOST), state
        if flows is not None and seen is not None:
            yield OK, state
        return
    for after in left(state, name, action.slack):
        yield OK, after
    all_tried(state, [name], seen)


@point("REB-4", "REB-9", "REB-10")
def left(state: State, name: str, slack: int) -> Iterator[State]:
    """The states after a flow is gone: what it had not settled is back in its place, marked redelivered."""
    after, was_active = without_flow(state, name, slack)
    flows = after.flows
    assert flows is not None
    if not was_active:
        yield after
        return
    if flows.standby:
        yield from taken_over(after, flows, name, slack)
    if flows.scaled:
        yield from _replaced(after, flows, name, slack)
    if not flows.standby:
        yield from unbound(after, flows, name, slack)


def _replaced(state: State, flows: Flows, name: str, slack: int) -> Iterator[State]:
    """Until the rebalance after the partitions' number has changed an active flow without any may be one too
    many, so that it takes over at once."""
    having = {pair[0] for pair in flows.owner if pair is not None}
    for heir in flows.active:
        if heir[0] not in having:
            others = tuple(flow for flow in flows.active if flow != heir)
            one = flows._replace(active=others, standby=(heir,))
            yield from taken_over(state, one, name, slack)


def without_flow(state: State, name: str, slack: int) -> tuple[State, bool]:
    """The state without a flow, what it has not decided but for; and whether that was an active one."""
    flows = state.flows
    assert flows is not None
    state = given_back(state, name)
    fewer = remaining(state, flows, name)
    return settled(state._replace(flows=fewer), slack), len(fewer.active) < len(flows.active)


@point("REB-9", "REB-10")
def remaining(state: State, flows: Flows, name: str) -> Flows:
    """The flows without this one. A client that comes back is another one."""
    standby = tuple(f for f in flows.standby if f[0] != name)
    return flows._replace(active=tuple(f for f in flows.active if f[0] != name), standby=standby)


@point("REB-6")
def taken_over(state: State, flows: Flows, name: str, slack: int) -> Iterator[State]:
    """A standby takes over all the partitions at once; any standby may."""
    for heir in flows.standby:
        behind = left_behind(state, flows, name)
        kept = [p for p in behind if flows.owner[p] == (name, "ready") or _to_nobody(flows, p)]
        changes = behind | dict.fromkeys(kept, (heir[0], "ready"))
        yield changed(state, inherited(flows, name, heir), changes, slack)
        own = [
            p
            for p, h in enumerate(flows.handoff)
            if h and h[0] == name and flows.owner[p] == (heir[0], "paused")
        ]
        if own:  # what it was handing over to that flow is its own again
            resumed, back = _cancelled(flows, own)
            yield changed(state, inherited(resumed, name, heir), changes | back, slack)


def inherited(flows: Flows, name: str, heir: tuple[str, str]) -> Flows:
    """The flows after a standby is in the place of one that is gone."""
    return flows._replace(
        active=(*flows.active, heir),
        standby=tuple(f for f in flows.standby if f != heir),
        handoff=_without(flows, name, heir[0]),
    )


@clause("REB-13")
def left_behind(state: State, flows: Flows, name: str) -> dict[int, Owner]:
    """The partitions of a flow that is gone. One that it was handing off to another is due at once; where
    assignments are observed it is unbound until then from the event that tells so, if there is one."""
    behind: dict[int, Owner] = {}
    for p, pair in enumerate(flows.owner):
        if pair in ((name, "ready"), (name, "paused")):
            untold = state.cfg.observed and pair == (name, "paused") and not _to_nobody(flows, p)
            behind[p] = (name, GONE if untold else "unbound")
    return behind


def _to_nobody(flows: Flows, p: int) -> bool:
    """Whether a partition is in a handoff to a flow that has gone."""
    waiting = flows.handoff[p]
    return waiting is not None and waiting[0] == NOBODY


@clause("REB-7", "REB-9", "REB-13")
def unbound(state: State, flows: Flows, name: str, slack: int) -> Iterator[State]:
    """Its partitions wait for the delay to end. Without any, there may be no need for a delay."""
    changes = left_behind(state, flows, name)
    started = delays(state, flows, slack)
    alone = name if state.cfg.resumed and flows.timer is None else ""
    orphaned = flows._replace(handoff=_without(flows, name))
    had = any(pair == (name, "ready") for pair in flows.owner)
    moved = {p for p, h in enumerate(flows.handoff) if h is not None and h[0] == name}
    for some in subsets(moved):
        after, back = _cancelled(orphaned, some)
        needs = had or moved > back.keys()
        for timer in started if needs else dict.fromkeys([flows.timer, *started]):
            yield changed(state, after._replace(timer=timer, alone=alone), {**changes, **back}, slack)


@point("REB-7")
def delays(state: State, flows: Flows, slack: int) -> list[Deadline]:
    """The delay after which a lost flow's partitions are distributed."""
    return timers(state, flows, slack)


def _without(flows: Flows, name: str, heir: str = NOBODY) -> tuple[Handoff | None, ...]:
    """The handoffs after a flow is gone: those to it are to its heir, and those to nobody are over if their
    old flow is gone, too."""
    handoff = list(flows.handoff)
    for p, (pair, waiting) in enumerate(zip(flows.owner, flows.handoff, strict=True)):
        if waiting is not None:
            target = heir if waiting[0] == name else waiting[0]
            remains = target != NOBODY or (
                pair is not None and pair[1] == "paused" and is_bound(flows, pair[0])
            )
            handoff[p] = (target, *waiting[1:]) if remains else None
    return tuple(handoff)


@clause("REB-9")
def _cancelled(flows: Flows, among: Collection[int]) -> tuple[Flows, dict[int, Owner]]:
    """As many flows as before: the handoffs of these partitions may be cancelled, by flows that are still
    there. What is left of the handoffs, and which partitions are with their flows again."""
    kept: dict[int, Owner] = {}
    for p, (pair, waiting) in enumerate(zip(flows.owner, flows.handoff, strict=True)):
        if p in among and waiting and pair is not None and pair[1] == "paused" and is_bound(flows, pair[0]):
            kept[p] = (pair[0], "ready")
    handoff = tuple(None if p in kept else waiting for p, waiting in enumerate(flows.handoff))
    return flows._replace(handoff=handoff), kept


# What the broker does by itself


def due_moves(state: State) -> list[Action]:
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
    return any(end + late < then for end in ends) or not is_told(state, flows, then)


@guard("REB-13")
def is_told(state: State, flows: Flows, then: int) -> bool:
    """Whether no event would be too late by then."""
    return all(latest >= then for *_, latest in flows.unseen)


@point("REB-4", "REB-7", "REB-9", "REB-11", "REB-12")
def rebalance(state: State, action: Action, seen: Observed | None) -> Steps:
    """The delay has ended: the partitions are distributed evenly over the active flows, in any way, or in
    one of those that the action's ``target`` leaves."""
    flows = state.flows
    if flows is None or not is_due(state, flows):
        return
    for target in distributed(state, wanted(state, action), [flow for flow, _ in flows.active]):
        for after in redistributed(state, _dealt(flows, target), target):
            yield OK, after
            if flows.waited is not None:
                yield OK, _still_waiting(flows, after)


def _still_waiting(flows: Flows, after: State) -> State:
    """The state after a rebalance beside a delay, in which what waits for that delay's end still does."""
    assert after.flows is not None
    waiting = {p: pair for p, pair in enumerate(flows.owner) if pair is not None and pair[1] in FLOWLESS}
    owner = tuple(waiting.get(p, pair) for p, pair in enumerate(after.flows.owner))
    unseen = (
        *(event for event in after.flows.unseen if event[0] not in waiting),
        *(event for event in flows.unseen if event[0] in waiting),
    )
    return after._replace(flows=after.flows._replace(owner=owner, unseen=unseen))


def _dealt(flows: Flows, target: tuple[str | None, ...]) -> Flows:
    """The flows after their rebalance. Of more flows than partitions those that get none stand by."""
    flows = flows._replace(timer=flows.waited, waited=None, alone="")
    if not flows.scaled:
        return flows
    if flows.timer is not None:
        return flows._replace(active=(*flows.active, *flows.standby), standby=())
    surplus = tuple(f for f in flows.active if f[0] not in target) if len(flows.active) > len(target) else ()
    active = tuple(f for f in flows.active if f not in surplus)
    return flows._replace(active=active, standby=(*flows.standby, *surplus), scaled=False)


def is_due(state: State, flows: Flows) -> bool:
    """Whether the rebalance delay may have ended."""
    return flows.timer is not None and flows.timer.lo <= state.now and not state.dead


def wanted(state: State, action: Action) -> tuple[str | None, ...]:
    """The flow of each partition that a rebalance is restricted to."""
    return action.target or (None,) * len(state.parts)


@point("REB-12")
def distributed(
    state: State, wanted: tuple[str | None, ...], names: list[str]
) -> Iterator[tuple[str | None, ...]]:
    """The distributions over these flows: even ones."""
    return even(wanted, names)


CLIENT_OPS: Final = {"bind": bind, "unbind": unbind}
"""What clients ask for."""

WITH_FLOWS: Final = {"receive": receive}
"""What clients do through flows."""

AFTERWARDS: Final = dict.fromkeys(SETTLEMENTS, unsettled_less)
"""What settlements mean to handoffs."""

BROKER_OPS: Final = {"rebalance": rebalance, "handoff": handoff}
"""The broker's own moves."""
