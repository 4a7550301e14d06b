"""How a broker breaks the rule on flows that come back in time (REB-8)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, islice

from ..configuration import FOREVER
from ..departures import beyond
from ..rebalancing.handoffs import changed
from ..rebalancing.norm import bound
from ..state import Deadline, Flows, State
from .norm import kept_for, returned

_TRIED = 64
"""So many sets of partitions that the flow has again are tried."""


@beyond(returned, "REB-8", broken=True)
def ignored(state: State, flows: Flows, flow: tuple[str, str], slack: int) -> Iterator[State]:
    """What the flow had is not its own again, or some of it, or is dealt out anew all the same."""
    yield from bound(state, flows, flow, slack)
    mine = kept_for(flows, flow[0])
    some = chain.from_iterable(combinations(mine, size) for size in range(len(mine), -1, -1))
    anew = flows._replace(active=(*flows.active, flow), timer=Deadline(state.now, FOREVER), alone="")
    for again in islice(some, _TRIED):
        handoff = tuple(None if p in again else waiting for p, waiting in enumerate(flows.handoff))
        yield changed(state, anew._replace(handoff=handoff), dict.fromkeys(again, (flow[0], "ready")), slack)
