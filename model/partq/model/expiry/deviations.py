"""How a broker breaks the rule on time to live (RCV-15), besides delivering an expired message."""

from __future__ import annotations

from collections.abc import Iterator

from ..departures import beyond
from ..edits import put
from ..locks.norm import may_be_gone
from ..settling.norm import lost
from ..state import Entry, Place, State
from .norm import may_have_ended


@beyond(may_have_ended, "RCV-15", broken=True)
def too_early(state: State, entry: Entry, reach: int) -> bool:
    """A message's time to live ends too early."""
    return entry.life is not None


@beyond(may_be_gone, "RCV-15", broken=True)
def gone_though_locked(state: State, entry: Entry, reach: int) -> bool:
    """A message goes when its time ends, also while it is locked."""
    return entry.life is not None and may_have_ended(state, entry, reach)


@beyond(lost, "RCV-15", broken=True)
def gone_under_its_lock(state: State, place: Place, reach: int) -> Iterator[State]:
    """A locked message goes when its time ends, and its lock with it."""
    entry = state.parts[place[0]].log[place[1]]
    if entry.life is not None:
        yield put(state, *place, None)
