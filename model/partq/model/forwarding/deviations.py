"""How a broker breaks the rules on forwarding (FWD)."""

from __future__ import annotations

from ..actions import OK, Action, Observed
from ..deadletters.norm import buried, bury, leaves, places_of
from ..departures import beyond
from ..edits import using
from ..routing.norm import hints_of, store
from ..routing.placing import candidates
from ..sequencing.entering import kept
from ..settling.norm import removed
from ..state import State, Steps
from .norm import forward, set_aside, within_hops


@beyond(forward, "FWD-1", broken=True)
def anywhere(state: State, action: Action, seen: Observed | None) -> Steps:
    """A message that is forwarded comes to any partition, whatever its key."""
    (message,), hints = action.messages, hints_of(state, action, seen)
    for p in candidates(state, None, hints[0], action.only) if within_hops(state.cfg) else ():
        for found, stored in kept(using(state, p), action, (p,), hints):
            for after in store(found, p, message.id, hints[0], seen is None, action) if stored else ():
                yield OK, after


@beyond(bury, "FWD-2", broken=True, where=lambda cfg: set_aside(cfg) is not None)
def for_any_reason(state: State, action: Action, seen: Observed | None) -> Steps:
    """A message that would be forwarded too often is in the dead-letter queue for any reason."""
    shown = seen.messages[0] if seen is not None and seen.messages else None
    for p, index in places_of(state, action):
        entry = state.parts[p].log[index]
        if leaves(state, entry, action.slack):
            yield from buried(removed(state, p, index), p, entry, shown)
