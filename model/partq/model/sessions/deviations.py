"""How a broker breaks the rules on sessions (SES)."""

from __future__ import annotations

from collections.abc import Iterator

from ..actions import OK, Action, Observed
from ..delivery import norm as delivery
from ..delivery.norm import by_number
from ..departures import beyond, instead
from ..edits import put
from ..locks.norm import ended, freed
from ..messages import Message, conflicting
from ..routing.deviations import either_key
from ..routing.norm import refusals
from ..routing.placing import keys_of
from ..state import Entry, SessionLock, State, Steps, Txn, entries
from ..transactions.deviations import breaches
from ..transactions.norm import is_second, may_be_enlisted
from . import norm
from .states import get_state, reads, set_state, written


@beyond(norm.receive, "SES-1", where=norm.has_sessions)
def received_by_another(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client receives messages of a session that it does not hold."""
    if seen is not None and seen.messages and norm.lock_on(state, action.session_id, action.proc) is None:
        lock = norm.lock_on(state, action.session_id)
        as_holder = action if lock is None else action._replace(proc=lock.holder)
        yield from norm.delivered(state, as_holder, seen, lock)


@beyond(norm.outside, "SES-1", where=norm.has_sessions)
def received_in_none(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client receives messages without having accepted their session."""
    if seen is not None and seen.messages:
        yield from delivery.receive(state, action, seen)


@beyond(norm.outside, "SES-3", where=norm.has_sessions)
def received_without_session(state: State, action: Action, seen: Observed | None) -> Steps:
    """A message without a session is received by anyone."""
    if seen is not None and seen.messages and any(_is_loose(state, one.id) for one in seen.messages):
        yield from delivery.receive(state, action, seen)


@beyond(norm.outside, "TXN-3", where=norm.has_sessions, broken=True)
def received_as_enlisted(state: State, action: Action, seen: Observed | None) -> Steps:
    """A message that a transaction sent without a session is received by anyone."""
    yield from received_without_session(state, action, seen)


def _is_loose(state: State, id: str) -> bool:
    return any(entry.id == id and not entry.session for _, entry in entries(state))


@beyond(norm.belongs, "SES-1", where=norm.has_sessions)
def of_another_session(state: State, entry: Entry, action: Action) -> bool:
    """A receive delivers messages of other sessions."""
    return True


@instead(by_number, "SES-1", where=norm.has_sessions)
def in_any_order(told: bool, state: State) -> bool:
    """The messages of a session come in any order."""
    return False


@beyond(refusals, "SES-3", where=norm.has_sessions)
def taken_without_session(state: State, messages: tuple[Message, ...]) -> frozenset[bool]:
    """A message without a session ID is accepted."""
    lacking = any(not norm.is_of_a_session(state.cfg, message) for message in messages)
    return frozenset({False}) if lacking else frozenset()


# In transactions


def _is_fit(message: Message) -> bool:
    """Whether a transaction may send the message to an entity with sessions."""
    return message.session_id is not None and not conflicting(message)


@beyond(may_be_enlisted, "TXN-3", where=norm.has_sessions, broken=True)
def enlisted_without_session(state: State, action: Action) -> bool:
    """A transaction takes messages without a session, or with another partition key."""
    return not all(map(_is_fit, action.messages))


@breaches
def is_of_no_session(state: State, txn: Txn, action: Action) -> bool:
    """A send has messages without a session, or with another partition key."""
    unfit = norm.has_sessions(state.cfg) and not all(map(_is_fit, action.messages))
    return unfit and state.breaks("TXN-3")


@breaches
def is_of_a_second_session(state: State, txn: Txn, action: Action) -> bool:
    """A send brings in a second session."""
    keys = {message.session_id for message in action.messages} - {None}
    return norm.has_sessions(state.cfg) and len(keys) == 1 and is_second(txn, keys) and state.breaks("TXN-4")


instead(keys_of, "TXN-3", where=norm.has_sessions, broken=True)(either_key)


@beyond(reads, "SES-2", where=norm.has_sessions)
def anything_read(state: State, action: Action) -> bool:
    """The state that is read is another than the last one written."""
    return True


@beyond(get_state, "SES-1", where=norm.has_sessions)
def read_by_another(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client reads the state of a session that it does not hold."""
    if norm.lock_on(state, action.session_id, action.proc) is None and reads(state, action):
        yield OK, state


@beyond(set_state, "SES-1", where=norm.has_sessions)
def written_by_another(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client writes the state of a session that it does not hold, or is told so."""
    if norm.lock_on(state, action.session_id, action.proc) is None:
        yield OK, written(state, action)
        yield OK, state


@beyond(norm.available, "SES-4", where=norm.has_sessions)
def held_twice(state: State, action: Action) -> Iterator[State]:
    """A session that is held is accepted: both clients hold it, or it is taken from the first, with the
    messages that it has locked or without."""
    lock = norm.lock_on(state, action.session_id)
    if lock is not None:
        yield state
        taken = state._replace(sessions=tuple(other for other in state.sessions if other != lock))
        yield taken
        for p, entry in list(entries(state)):
            if entry.session == lock.session and entry.lock is not None:
                back = freed(state, entry, entry.tries, state.now, 1)
                taken = put(taken, p, taken.parts[p].log.index(entry), back)
        yield taken


@beyond(norm.may_have_ended, "SES-5", where=norm.has_sessions)
def ended_at_any_time(state: State, lock: SessionLock, reach: int) -> bool:
    """The lock on a session ends early."""
    return True


@instead(norm.has_ended, "SES-5", where=norm.has_sessions)
def never_ended(told: bool, state: State, lock: SessionLock) -> bool:
    """The lock on a session does not end."""
    return False


@beyond(ended, "SES-5", where=norm.has_sessions)
def ended_otherwise(state: State, entry: Entry, reach: int) -> list[Entry | None]:
    """The lock on a session's message ends at any time, counted or not."""
    return [freed(state, entry, entry.tries, state.now, 1)] if entry.session else []


@beyond(norm.given_back, "SES-5", where=norm.has_sessions)
def closed_otherwise(state: State, entry: Entry) -> list[Entry | None]:
    """A message of a session that is closed is counted as a failed delivery, or stays locked."""
    return [freed(state, entry, entry.tries, state.now, 1), entry]
