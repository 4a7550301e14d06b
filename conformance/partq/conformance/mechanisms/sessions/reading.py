"""Sessions in a history, and what exercises their rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.history import Record
from partq.conformance.oracle.uses import Use
from partq.conformance.screens.protocol import Exercise, where
from partq.model.profiles import Entity

_ACCEPTS: Final = "accept_session"
_CLOSES: Final = "close_session"
_RECEIVES: Final = "receive_session"
_READS: Final = "get_session_state"
_WRITES: Final = "set_session_state"
_OPERATIONS: Final = frozenset({_ACCEPTS, _RECEIVES, _CLOSES, _READS, _WRITES, "renew_session"})


def _is_chosen(entity: Entity) -> bool:
    return entity.requires_session


def _in_session(record: Record, end: int = 0) -> bool:
    return record.op in _OPERATIONS


USE: Final = Use(
    uses=_in_session,
    rule="SES-1",
    what="sessions",
    matters=_in_session,
    chosen=_is_chosen,
    asked=True,
    whole=True,
)


_where_required: Final = where(lambda facts: _is_chosen(facts.entity))


@_where_required
def _received(facts: Facts) -> int:
    """Each message that was received in a session."""
    return sum(len(record.messages) for record in facts.of(_RECEIVES))


@_where_required
def _without(facts: Facts) -> int:
    """Each send of a message without a session ID."""
    return sum(any(one.session_id is None for one in record.sent) for record in facts.records)


@_where_required
def _in_vain(facts: Facts) -> int:
    """Each accept that was refused as the session is held, or as there is none."""
    return sum(record.refused for record in facts.of(_ACCEPTS))


@_where_required
def _given_back(facts: Facts) -> int:
    """Each end of a lock with messages of its session locked: by a close, or, as another accept shows, by
    time."""
    held: dict[str, int] = {}
    ends = 0
    for record in facts.records:
        session = record.args.get("session_id", "")
        if not record.ok or not session:
            continue
        if record.op in (_ACCEPTS, _CLOSES):
            ends += held.pop(session, 0) > 0
        else:
            held[session] = held.get(session, 0) + sum(one.lock is not None for one in record.messages)
    return ends


@_where_required
def _read(facts: Facts) -> int:
    """Each state that was read after it was written."""
    written = set[str]()
    count = 0
    for record in facts.records:
        session = record.args.get("session_id", "")
        if record.op == _WRITES and not record.refused:
            written.add(session)
        elif record.op == _READS and record.ok and "state" in record.args:
            count += session in written
    return count


EXERCISED: Final[Mapping[str, Exercise]] = {
    "SES-1": Exercise(_received, (_ACCEPTS, _RECEIVES)),
    "SES-2": Exercise(_read, (_READS, _WRITES)),
    "SES-3": Exercise(_without, (_ACCEPTS, "send")),
    "SES-4": Exercise(_in_vain, (_ACCEPTS,)),
    "SES-5": Exercise(_given_back, (_ACCEPTS, _CLOSES)),
}
