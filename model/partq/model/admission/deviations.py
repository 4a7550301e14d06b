"""How a broker refuses valid requests against the rules (ROUTE-7, KEY-9), or carries them out while dead."""

from __future__ import annotations

from typing import Final

from ..actions import FULL, LOCK_LOST, LOST, Action
from ..configuration import NARROWLY
from ..departures import beyond
from ..operations import FOR_GOOD, UNAVAILABLE
from ..routing.placing import key_of
from ..settling.norm import held, held_of, holds
from ..state import State, Steps, is_up, key_partition
from .norm import may_be_beyond, reaches_the_dead, refused, refused_for_good, struck_elsewhere

UNMODELLED: Final = FULL | FOR_GOOD | {"session_locked"}
"""Errors that a valid request may get for a reason that is not modelled."""

REQUESTS: Final = frozenset(
    {"send", "send_batch", "schedule", "cancel_scheduled", "receive", "peek", "begin", "commit"}
    | {"rollback", "bind", "rebind", "unbind"}
)
"""Operations whose refusal for good is KEY-9's alone. That of a settlement or renewal may be its lock's, too
(`_certainly_held`)."""


@beyond(reaches_the_dead, "ROUTE-8")
def stored_by_the_dead(state: State, action: Action) -> bool:
    """Messages sent while all partitions are down are stored."""
    return bool(action.messages)


@beyond(struck_elsewhere, "ROUTE-7")
def felt_elsewhere(state: State, action: Action) -> Steps:
    """A request is refused for a fault elsewhere; narrowly with an error that tells of one, not for good.
    Whether a keyless send may be, or one to a partition that is down, is not said here (ROUTE-6, ROUTE-5)."""
    keys = {key_of(state.cfg, m) for m in action.messages}
    homes = {None if key is None else key_partition(state, key) for key in keys}
    struck = homes != {None} and all(p is not None and not is_up(state, p) for p in homes)
    if not keys or not (keys == {None} or struck):
        wide = state.breaks("ROUTE-7") and NARROWLY not in state.cfg.waived
        yield from refused(state, action, UNAVAILABLE | FOR_GOOD if wide else UNAVAILABLE)


@beyond(refused_for_good, "KEY-9")
def refused_for_nothing(state: State, action: Action, error: str) -> Steps:
    """A valid request is refused for good."""
    if error not in UNMODELLED or may_be_beyond(state, action, error):
        return
    if action.op in REQUESTS or error not in LOST or _certainly_held(state, action, error):
        yield from refused(state, action, UNMODELLED)


def _certainly_held(state: State, action: Action, error: str) -> bool:
    """Whether all locks that are named certainly hold, and the error speaks of none."""
    places = held(state, action)
    if error == LOCK_LOST or None in places:
        return False
    return all(holds(state, place, action.slack) for place in held_of(places))
