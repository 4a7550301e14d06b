"""What a kill of the broker does to flows, and its start to what they wait for.

How a flow is lost, and what follows, is `norm`'s business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain, combinations
from typing import Final

from ..actions import Action, Observed
from ..configuration import FOREVER
from ..errors import TooManyWays
from ..state import Deadline, Flows, State
from .handoffs import FLOWLESS, given_back
from .losses import all_left

_SOME: Final = 6
"""Of so many flows of which nothing is known any may be gone."""

_BACK: Final = FOREVER - 1
"""When a change is told at the latest that is told once a killed broker is back."""


def killed(state: State, action: Action, seen: Observed | None) -> Iterator[State]:
    """What a kill of the broker may do to the flows: they are there again when it is, or any of them, or all,
    are gone; what is known of them first. Of those that are kept the locks may be lost, so that a handoff has
    nothing to wait for any more (REB-14). Without an observation none is gone, or all are.

    Raises `TooManyWays` where a history is explained, after those ways that are tried."""
    flows = state.flows
    if flows is None:
        yield state
        return
    due = tuple(h and (h[0], min(h[1], state.now), h[2]) for h in flows.handoff)
    kept = state._replace(flows=flows._replace(handoff=due))
    names, fates = tuple(name for name, _ in flows.active + flows.standby), dict(action.fates)
    many = _are_many(_unheard(names, fates))
    for ended in _ways(names, fates):
        if not ended:
            yield _told_later(kept)
        elif len(ended) == len(names):
            yield _all_ended(state, flows, names)
        if ended and seen is not None and (len(ended) < len(names) or flows.standby):
            try:
                yield from (_told_later(after, ended) for after in all_left(kept, ended, action.slack, seen))
            except TooManyWays:
                many = True
    if not names and any(flows.owner):
        yield _all_ended(state, flows, names)
    if seen is not None and many:
        raise TooManyWays


def _unheard(names: Collection[str], fates: Mapping[str, bool | None]) -> list[str]:
    """The flows of which it is not known whether they are there."""
    return [name for name in names if fates.get(name) is None]


def _are_many(unheard: Collection[str]) -> bool:
    return len(unheard) > _SOME


def _ways(names: tuple[str, ...], fates: Mapping[str, bool | None]) -> list[tuple[str, ...]]:
    """Which flows may be gone: none, all, or, beside those that are known to be, any of the others that are
    not known to be there; of many, none or all. First what is likely, which is some only where that is
    known."""
    known = [fates[name] for name in names if name in fates]
    gone = [name for name in names if fates.get(name) is False]
    unheard = _unheard(names, fates)
    sizes = (0, len(unheard)) if _are_many(unheard) else range(len(unheard) + 1)
    more = chain.from_iterable(combinations(unheard, size) for size in sizes)
    some = [(*gone, *others) for others in more]
    whole: list[tuple[str, ...]] = [(), names] if True in known or None in known else [names, ()]
    return list(dict.fromkeys((*some, *whole) if True in known and gone else (*whole, *some)))


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


def _told_later(state: State, ended: Collection[str] = ()) -> State:
    """The state in which changes may be told once the broker is back, and those of flows that ended need
    not."""
    flows = state.flows
    assert flows is not None
    unseen = (
        (*event[:3], FOREVER if event[1] in ended and event[2] in FLOWLESS else max(event[3], _BACK))
        for event in flows.unseen
    )
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
