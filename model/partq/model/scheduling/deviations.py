"""How a broker breaks the rules on scheduled messages (SCH)."""

from __future__ import annotations

from collections.abc import Iterator

from ..actions import OK, Action, Observed
from ..departures import beyond, instead
from ..edits import put, with_entry, with_part
from ..locks.norm import is_over
from ..messages import as_active
from ..peeking.observed import left_out
from ..sequencing.entering import has_come
from ..sequencing.norm import burn, timed
from ..state import Entry, Place, State, Steps
from ..statuses import FRESH, SCHEDULED
from .norm import UNKNOWN_NUMBER, activate, appended, cancel, refusals, ripe, waiting, withdrawn


@beyond(is_over, "SCH-1", broken=True)
def never_activated(state: State, entry: Entry, slack: int) -> bool:
    """A scheduled message is never activated."""
    return entry.status == SCHEDULED


@instead(left_out, "SCH-2", broken=True)
def hidden(told: list[Entry | None], state: State, entry: Entry, reach: int) -> list[Entry | None]:
    """A peek does not find a message that is scheduled."""
    return [entry] if entry.status == SCHEDULED else told


@beyond(withdrawn, "SCH-3", broken=True)
def cancelled_in_vain(state: State, place: Place, slack: int) -> Iterator[State]:
    """A cancelled message stays, also to come before its time: that was its cancel's business."""
    yield state
    entry = state.parts[place[0]].log[place[1]]
    if not has_come(state, entry.due, slack):
        yield put(state, *place, entry._replace(due=max(1, state.now)))


@beyond(refusals, "SCH-3", broken=True)
def refused_in_time(state: State, place: Place | None, action: Action) -> frozenset[str]:
    """A message that waits for its time cannot be cancelled."""
    return UNKNOWN_NUMBER


@beyond(cancel, "SCH-4", broken=True)
def cancelled_late(state: State, action: Action, seen: Observed | None) -> Steps:
    """The old number is taken for one that is valid; the message that had it stays, or is deleted."""
    active = {as_active(id) for id in action.about}
    places = [(p, n) for p, part in enumerate(state.parts) for n, e in enumerate(part.log) if e.id in active]
    if active and waiting(state, action) is None:
        yield OK, state
        yield from ((OK, put(state, *place, None)) for place in places)


@beyond(activate, "SCH-4", broken=True)
def under_its_number(state: State, action: Action, seen: Observed | None) -> Steps:
    """The message keeps its number, and its place."""
    for visible, place, entry in ripe(state, action):
        yield from _under_its_number(visible, place, entry, seen)


def _under_its_number(state: State, place: Place, entry: Entry, seen: Observed | None) -> Steps:
    p, index = place
    kept = entry._replace(id=as_active(entry.id), status=FRESH, since=state.now, due=0)
    part = with_entry(state.parts[p], index, kept)
    at = seen.messages[0].enqueued_at if seen is not None and seen.messages else None
    after = timed(state.cfg, part, kept.number, at)
    if after is not None:
        yield OK, with_part(state, p, after)


@beyond(activate, "SCH-6", broken=True)
def enqueued_again(state: State, action: Action, seen: Observed | None) -> Steps:
    """The message stays scheduled, to be activated once more, or is scheduled anew, which takes a number."""
    for visible, (p, _), entry in ripe(state, action):
        yield from appended(burn(visible, p, "", 1), p, entry, action, seen)


@beyond(activate, "SCH-1", broken=True)
def delivered_at_once(state: State, action: Action, seen: Observed | None) -> Steps:
    """The message is not scheduled at all, and has one number."""
    for visible, place, entry in ripe(state, action):
        if not has_come(state, entry.due, action.slack):
            yield from _under_its_number(visible, place, entry, seen)
