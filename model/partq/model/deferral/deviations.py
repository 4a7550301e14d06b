"""How a broker breaks the rule on deferred messages (RCV-10), besides where its guards do not hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..actions import LOST, Action
from ..delivery.norm import explained
from ..departures import beyond
from ..edits import put
from ..locks.norm import ended
from ..messages import Delivery
from ..state import Entry, State, entries
from ..statuses import BACK, DEFERRED, LOCKED, LOOSE
from .norm import openings, refusals


@beyond(explained, "RCV-10", broken=True)
def not_set_aside(
    state: State, action: Action, answer: Sequence[Delivery], parts: Sequence[int] | None = None
) -> Iterator[State]:
    """Deferred messages are back in the queue."""
    ids, found = {seen.id for seen in answer}, state
    for p, entry in list(entries(state)):
        if entry.id in ids and entry.rest:
            status = BACK if entry.status == DEFERRED else entry.status
            plain = entry._replace(status=status, rest=0, since=state.now)
            found = put(found, p, found.parts[p].log.index(entry), plain)
    if found is not state:
        yield from explained(found, action, answer, parts)


@beyond(refusals, "RCV-10", broken=True)
def refused(state: State, action: Action) -> frozenset[str]:
    """A deferred message is not found by its number."""
    return LOST


@beyond(openings, "RCV-10", broken=True)
def any_by_number(state: State, entry: Entry, reach: int) -> list[Entry]:
    """A number gets messages that are not deferred."""
    if entry.status == LOCKED and not entry.rest:
        return [way for way in ended(state, entry, reach) if way is not None]
    return [entry] if entry.status in LOOSE and entry.status != DEFERRED else []
