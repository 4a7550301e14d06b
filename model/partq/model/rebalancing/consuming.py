"""What flows receive (REB-2, REB-5, REB-15): messages of the partitions that are ready for them.

How messages are picked from a partition is `delivery`'s business.
"""

from __future__ import annotations

from ..actions import LOST, NOWHERE, OK, REFUSED, Action, Answer, Observed, failure
from ..clauses import clause, guard, point
from ..delivery import norm as delivery
from ..operations import Outcome
from ..state import Flows, State, Steps, is_up


@point("REB-2", "REB-5", "REB-13", "REB-15")
def receive(state: State, action: Action, seen: Observed | None) -> Steps:
    """A flow receives from the partitions that are ready for it, and is not told which they are."""
    flows, name = state.flows, action.flow
    if flows is None or name is None or not is_own(flows, action):
        if action.only in (None, NOWHERE):
            yield failure(REFUSED | LOST), state
        if action.only in (None, NOWHERE) and (seen is None or not seen.messages):
            yield OK, state  # a receive may always come back empty
        return
    if not is_nameless(state, seen):
        return
    seen = unnamed(seen)
    mine = [p for p in range(len(flows.owner)) if delivers(state, flows, name, p) and is_up(state, p)]
    if seen is None or len(seen.messages) < 2:
        yield from delivery.receive(state, action, seen, mine)
    else:  # no requirement bounds their number
        yield from one_by_one(state, action, seen, mine)


def is_own(flows: Flows, action: Action) -> bool:
    """Whether the flow that an operation names is its client's."""
    return (action.flow, action.proc) in flows.active + flows.standby


@guard("REB-15")
def is_nameless(state: State, seen: Observed | None) -> bool:
    """Whether an answer does not tell partitions."""
    return seen is None or all(shown.partition is None for shown in seen.messages)


def unnamed(seen: Observed | None) -> Observed | None:
    """The answer without them."""
    if seen is None or all(shown.partition is None for shown in seen.messages):
        return seen
    return seen._replace(messages=tuple(shown._replace(partition=None) for shown in seen.messages))


@point("REB-1", "REB-2", "REB-5", "REB-13", "REB-14")
def delivers(state: State, flows: Flows, name: str, p: int) -> bool:
    """Whether the partition delivers to the flow: it is ready there."""
    return flows.owner[p] == (name, "ready")


@clause("REB-3")
def one_by_one(state: State, action: Action, seen: Observed, mine: list[int]) -> Steps:
    """The messages of an answer are delivered in its order."""
    states = [state]
    for shown in seen.messages if seen.status == Outcome.OK else ():
        found = [after for s in states for after in delivery.explained(s, action, (shown,), mine)]
        states = found if len(found) < 2 else list(dict.fromkeys(found))
    answer = Answer(Outcome.OK, messages=seen.messages)
    yield from ((answer, after) for after in states)
