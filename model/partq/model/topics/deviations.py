"""How a broker breaks the rules on topics (TOPIC, TXN-6)."""

from __future__ import annotations

from collections.abc import Iterator

from ..actions import OK, Action, Observed, failure
from ..departures import beyond
from ..edits import put
from ..locks.norm import may_be_gone
from ..messages import Message
from ..operations import ERRORS
from ..settling.norm import lost
from ..state import Entry, Place, State, Steps
from .norm import Verdicts, change, changed, in_transaction, is_subscription, meant_by, takes


@beyond(takes, "TOPIC-1", broken=True)
def copied_or_not(state: State, message: Message) -> Verdicts:
    """A subscription gets no copy of what its rule matches, or one of what it does not match."""
    return frozenset({True, False})


@beyond(may_be_gone, "TOPIC-1", where=is_subscription, broken=True)
def gone_with_another(state: State, entry: Entry, reach: int) -> bool:
    """A copy goes when another one does."""
    return True


@beyond(lost, "TOPIC-1", where=is_subscription, broken=True)
def gone_under_its_lock(state: State, place: Place, reach: int) -> Iterator[State]:
    """The same while it is locked, and its lock with it."""
    yield put(state, *place, None)


@beyond(change, "TOPIC-2", where=is_subscription)
def unchanged(state: State, action: Action, seen: Observed | None) -> Steps:
    """A change is refused, with effect or without, has no effect, or removes the other rules; or a rule is
    added without its action."""
    yield failure(frozenset(ERRORS)), state
    yield from _done_all_the_same(state, action)
    yield OK, state
    yield OK, changed(state._replace(rules=()), action, ())
    if len(bare := tuple(pair for pair in action.rule if pair[0] != "action")) < len(action.rule):
        yield OK, changed(state, action._replace(rule=bare), ())


@beyond(in_transaction, "TXN-6", where=is_subscription, broken=True)
def changed_in_transaction(state: State, action: Action, seen: Observed | None) -> Steps:
    """A change in a transaction is accepted, with effect or without, or takes effect though it is refused."""
    yield from _done_all_the_same(state, action)
    for meant in meant_by(state, action):
        yield OK, changed(state, action, meant)
    yield OK, state


def _done_all_the_same(state: State, action: Action) -> Steps:
    """A change that is refused takes effect."""
    for meant in meant_by(state, action):
        yield failure(frozenset(ERRORS)), changed(state, action, meant)
