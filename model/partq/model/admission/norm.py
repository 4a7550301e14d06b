"""Reasons for which any valid request may be refused, whatever it asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..actions import FULL, GONE, Action, Observed, failure
from ..clauses import clause, point
from ..configuration import Config
from ..edits import with_txn
from ..hooks import Hook
from ..operations import CONNECTION_LOST, UNAVAILABLE
from ..routing.norm import failed
from ..state import State, Steps, transaction
from ..transactions.commits import rolled_back


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


Limits = Callable[[Config, str, Action], bool]

limits: Final = Hook[Limits]()
"""Mark what a mechanism knows of a limit: whether a send may be refused with an error of `FULL`."""


def may_be_beyond(state: State, action: Action, error: str) -> bool:
    """Whether the error tells of a limit, and the request may be beyond it. What quotas there are for others
    than sends, and for entities themselves, no source says."""
    if error not in FULL or not action.messages:
        return error == "quota" and not action.settings
    return all(may_be(state.cfg, error, action) for may_be in limits)


@point("KEY-9")
def refused_for_good(state: State, action: Action, error: str) -> Steps:
    """A valid request is refused with this error, which is a passing one where it is beyond a limit."""
    if may_be_beyond(state, action, error):
        yield from refused(state, action, frozenset({error}))


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
