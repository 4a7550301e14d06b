"""Time to live: from when on a message may be gone, and until when it may be delivered.

The end itself is no move of the broker: a message whose time may have ended stays as it is, and a client
finds it or not, until what is shown decides (`locks.norm.outlived`). `Entry.at` and `Entry.life` say within
which times the end lies.
"""

from __future__ import annotations

from ..clauses import clause, guard, point
from ..configuration import Config
from ..delivery.norm import demands
from ..locks.norm import ends_life
from ..messages import Message
from ..sequencing.entering import brings, due_of
from ..state import Entry, State


@brings
@clause("RCV-15")
def with_its_life(cfg: Config, entry: Entry, message: Message) -> Entry:
    """A message with how long after its enqueued time its time to live ends. That of a scheduled message runs
    from its activation, or from its send: no source settles it."""
    if message.ttl is None:
        return entry
    activated = message.scheduled_at is not None and not due_of(message)
    return entry._replace(life=(0 if activated else message.ttl, message.ttl))


@ends_life
@point("RCV-15")
def may_have_ended(state: State, entry: Entry, reach: int) -> bool:
    """Whether the time to live of a message that has one may have ended by ``reach``."""
    if entry.life is None or entry.at is None:
        return entry.life is not None
    return entry.at[0] + entry.life[0] - state.cfg.skew <= reach


@demands
@guard("RCV-15")
def is_alive(state: State, entry: Entry, until: int | None) -> bool:
    """Whether a message with a time to live may be delivered now, under a lock that is shown to last
    ``until`` then. A front end may have locked it before its time ended (RCV-5, RCV-13)."""
    cfg = state.cfg
    if entry.life is None or entry.at is None or cfg.untimed:
        return True
    begun = state.now
    if cfg.profile.caching_front_ends:
        begun = (begun if until is None else until - cfg.skew) - cfg.lock_duration
    return begun <= entry.at[1] + entry.life[1] + cfg.skew + cfg.late
