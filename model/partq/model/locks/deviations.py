"""How a broker breaks the rules on how locks end (RCV), and what a peek may do to one (PEEK-6)."""

from __future__ import annotations

from ..configuration import NARROWLY
from ..departures import beyond
from ..state import Entry, State
from ..statuses import BACK
from .norm import ended, exhausted, freed, may_be_gone, timed_out


@beyond(ended, "RCV-6")
def ended_early(state: State, entry: Entry, reach: int) -> list[Entry | None]:
    """A lock ends at any time, counted or not."""
    lock = entry.lock
    early = lock is not None and not lock.shaken and lock.lo > reach
    return [freed(state, entry, entry.tries, state.now, 1)] if early else []


@beyond(ended, "PEEK-6", broken=True)
def ended_after_a_peek(state: State, entry: Entry, reach: int) -> list[Entry | None]:
    """A peek counted, and ended nothing, so that the lock goes on to its end."""
    lock = entry.lock
    if lock is None or not lock.shaken or lock.lo > reach or (state.cfg.hindsight and lock.lo < entry.since):
        return []
    return [timed_out(state, entry, lock)]


@beyond(may_be_gone, "RCV-2")
def lost(state: State, entry: Entry, reach: int) -> bool:
    """A message is lost."""
    return True


@beyond(may_be_gone, "PEEK-6")
def removed_by_a_peek(state: State, entry: Entry, reach: int) -> bool:
    """A peek removed it, as no client has received it."""
    return entry.status == BACK and not entry.turn and not entry.tries


@beyond(may_be_gone, "RCV-9")
def given_up(state: State, entry: Entry, reach: int) -> bool:
    """Fewer deliveries than the entity allows have sufficed, narrowly half as many; where the rule merely
    does not bind, as many."""
    if state.cfg.profile.flows and not state.breaks("RCV-9"):
        return False
    limit = state.cfg.entity.max_delivery_count
    if state.breaks("RCV-9"):
        limit = max(1, limit // 2) if NARROWLY in state.cfg.waived else 1
    return exhausted(state, entry, reach, limit)
