"""How a broker breaks the rules on namespaces (ENT-3, ENT-4, ENT-5)."""

from __future__ import annotations

from ..actions import OK, Action, Observed, failure
from ..departures import beyond
from ..state import Other, State, Steps
from .norm import ANY, QUOTA, asked, create, delete, fits, is_beyond, is_foreign, named, with_other, without


@beyond(create, "ENT-3", broken=True)
def foreign_accepted(state: State, action: Action, seen: Observed | None) -> Steps:
    """An entity that is not partitioned is created where all are."""
    name, partitioned = asked(action)
    if is_foreign(state.cfg, partitioned):
        yield OK, with_other(state, Other(name, partitioned)) if named(state, name) is None else state


@beyond(create, "ENT-4", broken=True)
def apart(state: State, action: Action, seen: Observed | None) -> Steps:
    """An entity is refused, as the one kind does not stand beside the other, or created as the other kind."""
    name, partitioned = asked(action)
    if _is_mixed(state, partitioned):
        yield failure(ANY - QUOTA), state
        if named(state, name) is None and fits(state, not partitioned):
            yield OK, with_other(state, Other(name, not partitioned))


@beyond(delete, "ENT-4", broken=True)
def gone_beside(state: State, action: Action, seen: Observed | None) -> Steps:
    """An entity is gone since there is one of the other kind."""
    there = named(state, dict(action.settings)["name"])
    if there is not None and _is_mixed(state, True):
        yield failure(ANY), without(state, there)


def _is_mixed(state: State, partitioned: bool) -> bool:
    """Whether there are both kinds, with one of this kind."""
    return len({state.cfg.profile.partitioned, partitioned, *(one.partitioned for one in state.others)}) > 1


@beyond(create, "ENT-5")
def counted_otherwise(state: State, action: Action, seen: Observed | None) -> Steps:
    """A quota is reached within it."""
    yield failure(QUOTA), state


@beyond(create, "ENT-5", broken=True)
def beyond_quota(state: State, action: Action, seen: Observed | None) -> Steps:
    """One beyond a quota is refused as if for another reason."""
    if is_beyond(state, asked(action)[1], gone=False):
        yield failure(ANY), state
