"""How a broker breaks the rules on dead letters (RCV-2, RCV-9, RCV-15)."""

from __future__ import annotations

from ..actions import Action, Observed
from ..configuration import NARROWLY
from ..departures import beyond, instead
from ..edits import put
from ..locks.norm import freed, outlived
from ..settling.norm import removed
from ..state import Entry, State, Steps
from ..statuses import PARTING
from .norm import OWN, STORED, all_came, buried, bury, dead_lettered, on_their_way, places_of


@beyond(bury, "RCV-9", broken=True)
def buried_alive(state: State, action: Action, seen: Observed | None) -> Steps:
    """A message is moved that was not delivered too often, narrowly for no reason that a holder gave; or it
    stays where it was, free if it was to go."""
    shown = seen.messages[0] if seen is not None and seen.messages else None
    unprompted = shown is None or shown.reason in (None, *OWN)
    for p, index in places_of(state, action):
        entry = state.parts[p].log[index]
        if entry.status in STORED and (unprompted or NARROWLY not in state.cfg.waived):
            yield from buried(removed(state, p, index), p, entry, shown)
            yield from buried(state, p, entry, shown)
        elif entry.status == PARTING:
            there = put(state, p, index, freed(state, entry, entry.tries, state.now, 0))
            yield from buried(there, p, entry, shown)


@instead(dead_lettered, "RCV-9", broken=True, where=lambda cfg: NARROWLY not in cfg.waived)
def given_back(told: Entry | None, state: State, entry: Entry) -> Entry | None:
    """A message that its holder dead-lettered is given back instead, and may yet be moved."""
    return freed(state, entry, entry.tries + 1, state.now, 0)


@beyond(all_came, "RCV-2")
def lost_on_its_way(state: State) -> bool:
    """A message that is set aside is lost."""
    return True


@beyond(all_came, "RCV-15", broken=True)
def ended_there(state: State) -> bool:
    """A message goes when its time to live ends, also once it is a dead letter."""
    return all(outlived(state, entry, state.now) for entry in on_their_way(state))
