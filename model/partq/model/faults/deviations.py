"""How a broker breaks rules at a fault, or at its repair."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..actions import OK, Action, Observed
from ..configuration import position
from ..departures import beyond
from ..routing.deviations import anew
from ..state import State, Steps, Txn, is_up
from ..transactions.deviations import in_part
from .norm import broker_start, ending, partition_down, partition_up, shake, struck_down, taint


@beyond(partition_down, "ROUTE-7")
def felt_elsewhere(state: State, action: Action, seen: Observed | None) -> Steps:
    """A partition's fault hits the locks and transactions of all others, too."""
    p = position(state.cfg, action.partition)
    if p is not None and not state.down >> p & 1:
        after = struck_down(state, p)
        for other in range(len(state.parts)):
            after = shake(after, other) if is_up(after, other) else after
        yield OK, taint(after, lambda txn: True)


@beyond(partition_up, "ROUTE-1")
def repaired_again(state: State, action: Action, seen: Observed | None) -> Steps:
    """The repair of a partition that was up has keys distributed anew."""
    p = position(state.cfg, action.partition)
    if seen is not None and (p is None or not state.down >> p & 1):
        yield from ((OK, after) for after in anew(state))


@beyond(broker_start, "ROUTE-1")
def started_again(state: State, action: Action, seen: Observed | None) -> Steps:
    """The start of a broker that runs has keys distributed anew."""
    if seen is not None and not state.dead:
        yield from ((OK, after) for after in anew(state))


@beyond(ending, "TXN-5", broken=True)
def done_in_part(state: State, hit: Callable[[Txn], bool]) -> Iterator[State]:
    """At a fault, transactions take effect in part."""
    states = [taint(state, hit)]
    for txn in filter(hit, state.txns):
        if txn.settles or any(send.seq is not None for send in txn.sends):
            states += [after for before in states for after in in_part(before, txn, 0)]
    yield from states[1:]
