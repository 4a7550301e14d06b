"""How a broker breaks the rules on flows (REB)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice, product
from typing import Final

from ..actions import OK, Action, Observed
from ..configuration import FOREVER
from ..delivery import norm as delivery
from ..departures import beyond, instead
from ..state import Deadline, Flows, State, Steps, is_up, range_of, up
from . import norm
from .consuming import delivers, is_nameless, is_own, one_by_one, receive, unnamed
from .handoffs import changed, given_back, handed_over, handoff, handoff_time, redistributed, settled

_BOUND: Final = frozenset({"REB-2", "REB-14"})
"""With these a flow receives only from what delivers to it."""

FORGOTTEN: Final = 64
"""How many sets of partitions that stay unbound are tried, with REB-11 waived."""

Distribution = tuple[str | None, ...]


def _any_time(state: State) -> Deadline:
    return Deadline(state.now, FOREVER)


# Binding


@beyond(norm.bound, "REB-4", "REB-5", "REB-9", "REB-10")
def bound_anyhow(state: State, flows: Flows, flow: tuple[str, str], slack: int) -> Iterator[State]:
    """A surplus flow is an active one (REB-5); one that binds waits, or is left out of rebalances (REB-4),
    also where its client comes back, before the delay ends (REB-9) or after it (REB-10)."""
    if norm.is_surplus(state, flows):
        anyhow = not state.forbids("REB-5")
    else:
        returns = flow[1] in flows.gone and not state.forbids("REB-10" if flows.timer is None else "REB-9")
        anyhow = not state.forbids("REB-4") or returns
    if anyhow:
        yield state._replace(flows=flows._replace(active=(*flows.active, flow), timer=_any_time(state)))
        yield from _left_out(state, flows, flow, slack)


def _left_out(state: State, flows: Flows, flow: tuple[str, str], slack: int) -> Iterator[State]:
    """The states after a bind of a flow that rebalances leave out, though there may be one; or that they
    include with those that they left out before."""
    waiting = (*flows.standby, flow)
    later = dict.fromkeys((flows.timer, _any_time(state), *norm.timers(state, flows, slack)))
    for joining in dict.fromkeys(((), flows.standby, waiting)) if state.breaks("REB-4") else ((),):
        standby = tuple(one for one in waiting if one not in joining)
        active = (*flows.active, *joining)
        for timer in later:
            yield state._replace(flows=flows._replace(active=active, standby=standby, timer=timer))


# Leaving


@instead(norm.remaining, "REB-9", "REB-10", broken=True)
def remembered(told: Flows, state: State, flows: Flows, name: str) -> Flows:
    """A client that reconnects gets its old flow."""
    who = next(proc for flow, proc in flows.active + flows.standby if flow == name)
    return told._replace(gone=tuple(sorted({*told.gone, who})))


@beyond(norm.left, "REB-4", broken=True)
def left_without_heir(state: State, name: str, slack: int) -> Iterator[State]:
    """What stands by is none, but a flow that was left out, and may go on to be: there are fewer active flows
    than partitions."""
    after, was_active = norm.without_flow(state, name, slack)
    flows = after.flows
    if flows is not None and was_active and flows.standby and len(flows.active) + 1 < len(state.parts):
        joined = flows._replace(active=flows.active + flows.standby, standby=())
        for one in (flows, joined):
            yield from norm.unbound(after, one, name, slack)


@beyond(norm.taken_over, "REB-6")
def taken_over_later(state: State, flows: Flows, name: str, slack: int) -> Iterator[State]:
    """A standby waits, or has some of the partitions, or another flow does: events tell."""
    for heir in flows.standby:
        behind = norm.left_behind(state, flows, name)
        loose = norm.inherited(flows, name, heir)._replace(timer=_any_time(state))
        yield changed(state, loose, behind, slack)
        owner = tuple(behind.get(p, pair) for p, pair in enumerate(loose.owner))
        yield state._replace(flows=loose._replace(owner=owner))


@beyond(norm.delays, "REB-7")
def any_delay(state: State, flows: Flows, slack: int) -> list[Deadline]:
    """The partitions of a lost flow wait for no delay, or for more than it."""
    return [_any_time(state)]


# Rebalances and handoffs


@instead(norm.distributed, "REB-12")
def uneven(
    told: Iterator[Distribution], state: State, wanted: Distribution, names: list[str]
) -> Iterator[Distribution]:
    """Partitions are distributed unevenly."""
    free: Distribution = tuple(names) or (None,)
    known = all(name in (None, *names) for name in wanted)
    return product(*(free if name is None else (name,) for name in wanted)) if known else iter(())


@beyond(norm.rebalance, "REB-11")
def forgotten(state: State, action: Action, seen: Observed | None) -> Steps:
    """Any partitions of lost flows stay unbound: the others move, or nothing does."""
    flows = state.flows
    if flows is None or not norm.is_due(state, flows):
        return
    orphans = {p: pair for p, pair in enumerate(flows.owner) if pair is not None and pair[1] == "unbound"}
    if not orphans:
        return
    ended, target = flows._replace(timer=None), norm.wanted(state, action)
    yield OK, state._replace(flows=ended)
    if None in target:
        return
    subsets = chain.from_iterable(combinations(orphans, size) for size in range(len(orphans), 0, -1))
    for after, kept in product(redistributed(state, ended, target), islice(subsets, FORGOTTEN)):
        assert after.flows is not None
        owner = tuple(orphans[p] if p in kept else pair for p, pair in enumerate(after.flows.owner))
        unseen = tuple(event for event in after.flows.unseen if event[0] not in kept)
        yield OK, after._replace(flows=after.flows._replace(owner=owner, unseen=unseen))


@instead(handoff_time, "REB-14")
def any_handoff_time(told: tuple[int, int], state: State) -> tuple[int, int]:
    """A handoff ends at any time."""
    return state.now, FOREVER


@instead(settled, "REB-14")
def settled_for_nothing(told: State, state: State, slack: int) -> State:
    """A handoff waits for more than the old flow's settlements."""
    return state


@beyond(handoff, "REB-14")
def handed_over_early(state: State, action: Action, seen: Observed | None) -> Steps:
    """A partition passes while the old flow still holds messages."""
    passing, flows = handed_over(state, action), state.flows
    if passing is None or flows is None:
        return
    p, _, after, change = passing
    waiting = flows.handoff[p]
    if waiting is not None and state.now < waiting[1] + state.cfg.entity.max_handoff:
        yield OK, changed(state, after, {p: change})


# Receiving


def sources(state: State, action: Action) -> Sequence[int]:
    """The partitions from which a receive may bring messages: those that deliver to its flow, or all where a
    rule about that is not enforced."""
    flows, name, every = state.flows, action.flow, range_of(state, action.entity)
    if flows is None or name is None or state.cfg.waived or not state.cfg.binding.issuperset(_BOUND):
        return every
    return [p for p in every if delivers(state, flows, name, p)] if is_own(flows, action) else ()


@beyond(receive, "REB-2")
def received_unbound(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client receives from all partitions without a bound flow."""
    flows = state.flows
    bound = flows is not None and action.flow is not None and is_own(flows, action)
    if flows is not None and not bound and seen is not None and seen.messages:
        yield from one_by_one(state, action, seen, up(state))


@beyond(receive, "REB-2", broken=True)
def received_through_another(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client receives through one of its flows a message of another one, which keeps it."""
    flows, shown = state.flows, unnamed(seen)
    if flows is None or shown is None or len(shown.messages) > 1 or not is_nameless(state, seen):
        return
    for p, pair in enumerate(flows.owner if is_own(flows, action) else ()):
        if pair is not None and pair[0] != action.flow and (pair[0], action.proc) in flows.active:
            if pair[1] == "ready" and is_up(state, p):
                yield from delivery.receive(state, action._replace(flow=pair[0]), shown, [p])


@beyond(delivers, "REB-2", broken=True)
def delivers_to_any(state: State, flows: Flows, name: str, p: int) -> bool:
    """A partition delivers to a flow that does not have it."""
    return True


@beyond(delivers, "REB-1", broken=True)
def delivers_to_former(state: State, flows: Flows, name: str, p: int) -> bool:
    """A partition delivers to a flow that has it beside another one."""
    return (p, name) in flows.former


@beyond(delivers, "REB-5", broken=True)
def delivers_to_standby(state: State, flows: Flows, name: str, p: int) -> bool:
    """A partition delivers to a standby."""
    return any(name == flow for flow, _ in flows.standby)


@beyond(delivers, "REB-13", broken=True)
def delivers_while_paused(state: State, flows: Flows, name: str, p: int) -> bool:
    """A partition that is paused delivers to its old flow."""
    # Consulted wherever none delivers, as the search believes events unless it is waived.
    return state.breaks("REB-13") and flows.owner[p] == (name, "paused")


@beyond(receive, "REB-14", broken=True)
def redelivered_ahead(state: State, action: Action, seen: Observed | None) -> Steps:
    """A new flow is handed, before the handoff ends, what the old one has not settled."""
    flows, shown = state.flows, unnamed(seen)
    if flows is None or shown is None or not shown.messages or not is_own(flows, action):
        return
    for p, (pair, waiting) in enumerate(zip(flows.owner, flows.handoff, strict=True)):
        if pair is not None and waiting is not None and waiting[0] == action.flow and is_up(state, p):
            yield from one_by_one(given_back(state, pair[0], p), action, shown, [p])


@beyond(delivers, "REB-14", broken=True)
def delivers_ahead(state: State, flows: Flows, name: str, p: int) -> bool:
    """A partition delivers to its new flow before the handoff ends."""
    waiting = flows.handoff[p]
    return waiting is not None and waiting[0] == name


SOURCES: Final = {"receive": sources}
"""From where what clients do brings messages."""
