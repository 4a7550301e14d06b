"""How a broker breaks the rule on copies (TOPIC-1)."""

from __future__ import annotations

from collections.abc import Iterator

from ..departures import beyond
from ..edits import put
from ..locks.norm import may_be_gone
from ..messages import Message
from ..settling.norm import Place, lost
from ..state import Entry, State
from .norm import Verdicts, is_subscription, takes


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
