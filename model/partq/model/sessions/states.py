"""The state of a session: a text that its holder sets, and that it or the next holder reads.

It lasts until it is set again, whatever becomes of the lock, of the session's messages or of the broker. An
empty text is no state.
"""

from __future__ import annotations

from typing import Final

from ..actions import OK, Action, Observed
from ..clauses import clause, point
from ..state import State, Steps
from .norm import proven, refused, served


@point("SES-1")
def get_state(state: State, action: Action, seen: Observed | None) -> Steps:
    """Read the state of a session that the client holds."""
    yield from refused(state, action)
    if reads(state, action):
        yield from ((OK, proven(known, lock)) for known, lock in served(state, action))


@point("SES-2")
def reads(state: State, action: Action) -> bool:
    """Whether the answer shows the last write, if it shows any."""
    return action.state in (None, dict(state.session_states).get(action.session_id or "", ""))


@point("SES-1")
def set_state(state: State, action: Action, seen: Observed | None) -> Steps:
    """Write the state of a session that the client holds."""
    yield from refused(state, action)
    yield from ((OK, written(proven(known, lock), action)) for known, lock in served(state, action))


@clause("SES-2")
def written(state: State, action: Action) -> State:
    """The state after the write."""
    states = {**dict(state.session_states), action.session_id or "": action.state or ""}
    return state._replace(session_states=tuple(sorted((name, one) for name, one in states.items() if one)))


CLIENT_OPS: Final = {"get_session_state": get_state, "set_session_state": set_state}
"""The operations of clients."""
