"""Reasons for which any valid request may be refused, whatever it asks."""

from __future__ import annotations

from collections.abc import Iterator

from ..actions import FULL, GONE, Action, Answer, Observed, failure
from ..clauses import clause, point
from ..edits import with_txn
from ..operations import CONNECTION_LOST, UNAVAILABLE
from ..routing.norm import failed
from ..state import State, transaction
from ..transactions.commits import rolled_back

Steps = Iterator[tuple[Answer, State]]


@point("ROUTE-8")
def reaches_the_dead(state: State, action: Action) -> bool:
    """Whether a request may be done while the broker is dead."""
    return False


def turned_away(state: State, action: Action, seen: Observed | None) -> Steps:
    """A request is refused as busy, as the connection ended, for a fault, or for good."""
    if action.calm:
        yield from refused(state, action, UNAVAILABLE)
    if seen is not None and seen.error == CONNECTION_LOST:
        yield from refused(state, action, GONE)
    if state.down:
        yield from struck_elsewhere(state, action)
    if seen is not None and seen.error is not None:
        yield from refused_for_good(state, action, seen.error)


@point("ROUTE-7")
def struck_elsewhere(state: State, action: Action) -> Steps:
    """A request is refused for a partition's fault that does not concern it: never."""
    yield from ()


@point("KEY-9")
def refused_for_good(state: State, action: Action, error: str) -> Steps:
    """A valid request is refused with this error, which is no passing one: a send as beyond a limit."""
    if error in FULL and action.messages:
        yield from refused(state, action, FULL)


@clause("KEY-9")
def refused(state: State, action: Action, kinds: frozenset[str]) -> Steps:
    """Refused: nothing happened. A transaction may be lost by it, or go on."""
    after = failed(state, action.messages)
    yield failure(kinds), after
    txn = transaction(after, action.txn)
    if txn is not None:
        tainted = with_txn(after, txn.name, txn._replace(tainted=True))
        yield failure(kinds), tainted
        yield failure(kinds), rolled_back(tainted, txn)
