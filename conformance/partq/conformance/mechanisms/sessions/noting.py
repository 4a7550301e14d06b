"""What random programs do with the state of a session."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload import phrases
from partq.conformance.workload.phrases import Draft, Phrases
from partq.model.operations import ENV
from partq.model.profiles import SECOND


def lose_front_end(draft: Draft) -> None:
    """The front end of a client is lost."""
    draft.add(ENV, "frontend_lost", proc=draft.client())


def _note(draft: Draft) -> None:
    """The state of a session is written and read, by its holder or by one that lost it."""
    lost = {"lost": True} if draft.chance(8) else {}
    where = {"session": draft.source.below(2), **lost}
    client = draft.client()
    if draft.source.below(3):
        draft.add(client, "set_session_state", state=_state(draft), **where)
    if draft.source.below(3):
        draft.add(draft.client() if draft.chance(4) else client, "get_session_state", **where)


def _state(draft: Draft) -> str:
    return f"{len(draft.steps)} done" if draft.source.below(6) else ""


def _noted(draft: Draft) -> None:
    """One holder writes the state of a session, and the next one reads it, whatever came in between."""
    first, other, session = draft.client(), draft.client(), draft.key()
    draft.add(first, "accept_session", session_id=session, timeout=SECOND)
    for _ in range(1 + draft.source.below(2)):
        draft.add(first, "set_session_state", named=session, state=_state(draft))
    if draft.chance(2):
        draft.add(first, "get_session_state", named=session)
    way = draft.source.below(4)
    if way == 0:
        draft.add(first, "close_session", named=session)
    elif way == 1:
        draft.wait(draft.entity.lock_duration + SECOND)
    else:
        faults = phrases.PHRASES["outage"], phrases.PHRASES["kill"], phrases.PHRASES["kill"], lose_front_end
        faults[draft.source.below(4)](draft)
    draft.add(other, "accept_session", session_id=session, timeout=SECOND)
    draft.add(other, "get_session_state", named=session)
    if draft.chance(3):
        draft.add(first, "set_session_state", named=session, state=_state(draft))
        draft.add(other, "get_session_state", named=session)


def _cleared(draft: Draft) -> None:
    """A state is written and cleared, and that of another session is read."""
    client, session, other = draft.client(), draft.key(), draft.key()
    for name in dict.fromkeys((session, other)):
        draft.add(client, "accept_session", session_id=name, timeout=SECOND)
    draft.add(client, "set_session_state", named=session, state=f"{len(draft.steps)} done")
    draft.add(client, "get_session_state", named=other)
    draft.add(client, "set_session_state", named=session, state="")
    draft.add(client, "get_session_state", named=session)


NOTING: Final[Phrases] = {"session_note": _note, "session_noted": _noted, "session_cleared": _cleared}
