"""Session entities: a client accepts a session, and alone receives its messages until the lock ends.

A message that the holder receives is locked as long as the session is, so both locks have the same deadline,
and a fault that may have ended one may have ended the other. Whether it did stays open for each session until
something shows it: who is refused, who is served. Which session comes next is the answer's to say; a client
that never saw its answer may hold any (`SessionLock.session` is empty), until somebody is refused for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Final

from ..actions import LOST, OK, REFUSED, Action, Observed, failure
from ..clauses import clause, guard, point
from ..configuration import FOREVER, Config
from ..deferral.norm import unsettled
from ..delivery import norm as delivery
from ..edits import appeared, log_of, with_entry, with_log, with_part
from ..faults.norm import strikes
from ..locks.norm import ended, freed
from ..locks.norm import struck as message_struck
from ..messages import Message
from ..operations import UNAVAILABLE, Outcome
from ..routing.norm import demands, received_apart
from ..sequencing.entering import brings
from ..settling import norm as settling
from ..state import Entry, SessionLock, State, Steps, entries, is_up, key_partition
from ..statuses import RESERVED

Ways = Callable[[Entry], Sequence[Entry | None]]

HELD: Final = frozenset({"session_locked"})
"""The error of an accept of a session that is held."""

NONE_AVAILABLE: Final = frozenset({"timeout"})
"""The error of an accept of the next session where there is none."""

NOT_HELD: Final = LOST | HELD
"""The errors of a request in a session that its client does not hold. No source specifies the kind."""


@delivery.orders
def has_sessions(cfg: Config) -> bool:
    """Whether the entity has sessions."""
    return cfg.entity.requires_session


@demands
@clause("SES-3", "TXN-3")
def is_of_a_session(cfg: Config, message: Message) -> bool:
    """Whether a message bears a session ID where it has to."""
    return message.session_id is not None or not has_sessions(cfg)


@received_apart
@clause("SES-1")
def session_of(cfg: Config, message: Message) -> str | None:
    """The session that a message is received in, where it is."""
    return message.session_id if has_sessions(cfg) else None


@unsettled
@clause("RCV-10")
def leaves_deferred(cfg: Config) -> bool:
    """No source says how a deferred message of a session is received."""
    return has_sessions(cfg)


@brings
@clause("SES-1")
def in_its_session(cfg: Config, entry: Entry, message: Message) -> Entry:
    """A message with the session that it belongs to."""
    if message.session_id is None or not has_sessions(cfg):
        return entry
    return entry._replace(session=message.session_id, since=FOREVER if cfg.hindsight else entry.since)


# Who holds a session


def lock_on(state: State, session: str | None, holder: str | None = None) -> SessionLock | None:
    """The lock on that session that may still hold, of any client or of that one."""
    for lock in state.sessions:
        if lock.session == session and holder in (None, lock.holder) and not has_ended(state, lock):
            return lock
    return None


@point("SES-5")
def has_ended(state: State, lock: SessionLock) -> bool:
    """Whether the lock's time is certainly over."""
    return lock.hi <= state.now


@point("SES-5")
def may_have_ended(state: State, lock: SessionLock, reach: int) -> bool:
    """Whether the lock may have ended by ``reach``: its time is over, or a fault struck it."""
    return lock.shaken or lock.lo <= reach


def _with_lock(state: State, before: SessionLock | None, after: SessionLock | None) -> State:
    others = (lock for lock in state.sessions if lock != before and not has_ended(state, lock))
    return state._replace(sessions=tuple(sorted((*others, *(() if after is None else (after,))))))


def _locked_by(state: State, lock: SessionLock) -> list[tuple[int, Entry]]:
    """The messages that the holder has locked, with their partitions."""
    every = entries(state) if lock.session else ()
    return [(p, entry) for p, entry in every if entry.session == lock.session and entry.lock is not None]


def _each(state: State, lock: SessionLock, ways: Ways) -> Iterator[State]:
    """The states in which each message that the holder has locked is one of what it may be."""
    held = _locked_by(state, lock)
    for way in product(*(ways(entry) for _, entry in held)):
        after = state
        for (p, entry), now in zip(held, way, strict=True):
            part = after.parts[p]
            after = with_part(after, p, with_entry(part, part.log.index(entry), now))
        yield after


def proven(state: State, lock: SessionLock, held: SessionLock | None = None) -> State:
    """The state in which no fault has ended the lock. ``held``: it is this one from now on."""
    held = held or lock._replace(shaken=False)
    if held == lock:
        return state

    def kept(entry: Entry) -> Sequence[Entry]:
        assert entry.lock is not None
        on = entry.lock._replace(lo=held.lo, hi=held.hi, shaken=False)
        return (entry._replace(lock=on, upsets=0),)

    return next(_each(_with_lock(state, lock, held), lock, kept))


def gone(state: State, lock: SessionLock | None, reach: int) -> Iterator[State]:
    """The states in which the lock has ended by itself, if it may have; as it is where there is none."""
    if lock is None:
        yield state
    elif may_have_ended(state, lock, reach):
        yield from _each(_with_lock(state, lock, None), lock, lambda entry: ended(state, entry, reach))


def _unknown(state: State, holder: str | None = None) -> Iterator[SessionLock]:
    """The locks on a session that only the client was told, which it may never have been."""
    for lock in state.sessions:
        if not lock.session and holder in (None, lock.holder) and not has_ended(state, lock):
            yield lock


def _mine(state: State, action: Action) -> Iterator[tuple[State, SessionLock]]:
    """The client's lock on the session, with the state that knows of it; more than one where it may have been
    given it by an answer that is lost."""
    lock = lock_on(state, action.session_id, action.proc)
    if lock is not None:
        yield state, lock
    elif action.session_id is not None and lock_on(state, action.session_id) is None:
        for unknown in _unknown(state, action.proc):
            known = unknown._replace(session=action.session_id)
            yield _with_lock(state, unknown, known), known


def _deadline(state: State, action: Action) -> tuple[int, int]:
    """When a lock ends that begins now: at the time shown, if any is, or later, as timers may be late."""
    cfg = state.cfg
    if action.locked_until is not None:
        return action.locked_until - cfg.skew, action.locked_until + cfg.skew + cfg.late
    if cfg.untimed:
        return state.now, FOREVER
    return state.now + cfg.lock_duration, state.now + action.slack + cfg.lock_duration + cfg.late


def _serves(state: State, session: str | None) -> bool | None:
    """Whether the partition of the session is up; None where it is not known which one that is."""
    p = 0 if not state.cfg.profile.partitioned else key_partition(state, session or "")
    return (not state.down or None) if p is None else is_up(state, p)


def _refused_in_outage(state: State, action: Action) -> Steps:
    if not _serves(state, action.session_id):
        yield failure(UNAVAILABLE), state


# What clients ask for


def accept(state: State, action: Action, seen: Observed | None) -> Steps:
    """Accept the session of that name, or the next one."""
    if not has_sessions(state.cfg):
        yield failure(REFUSED), state
        return
    if action.session_id is None:
        yield failure(NONE_AVAILABLE), state
        if state.down:
            yield failure(UNAVAILABLE), state
        unknown = SessionLock("", action.proc, *_deadline(state, action))
        yield OK, _with_lock(state, None, unknown)
        return
    yield from _refused_in_outage(state, action)
    if not action.next:
        yield from ((failure(HELD), after) for after in _held(state, action.session_id))
    if (action.next and not has_messages(state, action.session_id)) or not (
        state.cfg.serving or _serves(state, action.session_id)
    ):
        return
    given = SessionLock(action.session_id, action.proc, *_deadline(state, action))
    for free in available(state, action):
        yield OK, _with_lock(free, None, given)
    mine = lock_on(state, action.session_id, action.proc)
    if mine is not None and not action.next:  # no source says what that does
        yield OK, proven(state, mine, given)


@clause("SES-4")
def _held(state: State, session: str) -> Iterator[State]:
    """The states in which somebody certainly holds the session, if that can be."""
    lock = lock_on(state, session)
    if lock is not None:
        yield proven(state, lock)
        return
    for unknown in _unknown(state):
        yield _with_lock(state, unknown, unknown._replace(session=session, shaken=False))


@point("SES-4")
def available(state: State, action: Action) -> Iterator[State]:
    """The states in which nobody holds the session, if that can be."""
    yield from gone(state, lock_on(state, action.session_id), state.now + action.slack)


@guard("SES-4")
def has_messages(state: State, session: str) -> bool:
    """Whether the session has any message, so that it may come next."""
    return any(entry.session == session and entry.status != RESERVED for _, entry in entries(state))


def refused(state: State, action: Action) -> Steps:
    """Why a request in a session may be refused: it always is where there are none."""
    if not has_sessions(state.cfg):
        yield failure(REFUSED), state
        return
    yield from _not_held(state, action)
    yield from _refused_in_outage(state, action)


def served(state: State, action: Action) -> Iterator[tuple[State, SessionLock]]:
    """The client's lock on the session, with the state that knows of it, where a request may be served."""
    if state.cfg.serving or _serves(state, action.session_id):
        yield from _mine(state, action)


def renew(state: State, action: Action, seen: Observed | None) -> Steps:
    """Restart the clock of a session's lock."""
    yield from refused(state, action)
    for known, lock in served(state, action):
        low, high = _deadline(state, action)
        yield OK, proven(known, lock, lock._replace(lo=low, hi=high, shaken=False))


def close(state: State, action: Action, seen: Observed | None) -> Steps:
    """Give a session back. Where it is lost already that may be answered ok, too."""
    for answer, after in _not_held(state, action):
        yield answer, after
        yield OK, after
    yield from _refused_in_outage(state, action)
    for known, lock in _mine(state, action):
        without = _with_lock(known, lock, None)
        yield from ((OK, after) for after in _each(without, lock, lambda entry: given_back(state, entry)))


@point("SES-5")
def given_back(state: State, entry: Entry) -> list[Entry | None]:
    """The message after its holder closed the session."""
    return [freed(state, entry, entry.tries, state.now, 0)]


@clause("SES-1", "SES-5")
def _not_held(state: State, action: Action) -> Steps:
    """A request in a session that its client does not hold, or no more, is refused."""
    lock = lock_on(state, action.session_id, action.proc)
    yield from ((failure(NOT_HELD), after) for after in gone(state, lock, state.now + action.slack))


# Receiving


def received(state: State, action: Action, seen: Observed | None) -> Steps:
    """A receive that is in no session: its dead-letter queue has none."""
    return (delivery.receive if action.entity else outside)(state, action, seen)


@point("SES-1", "SES-3")
def outside(state: State, action: Action, seen: Observed | None) -> Steps:
    """A receive that is in no session finds nothing."""
    yield failure(REFUSED), state
    if seen is None or not seen.messages:
        yield OK, state


@point("SES-1")
def receive(state: State, action: Action, seen: Observed | None) -> Steps:
    """Receive messages of a session that the client holds."""
    yield from refused(state, action)
    if has_sessions(state.cfg) and seen is not None and (seen.status != Outcome.OK or not seen.messages):
        yield OK, state
        return
    for known, lock in _mine(state, action):
        yield from delivered(proven(known, lock), action, seen, lock)


def delivered(state: State, action: Action, seen: Observed | None, lock: SessionLock | None) -> Steps:
    """What a receive delivers of the session: as of an entity with these messages alone, whose locks last as
    long as that on the session."""
    alone = state
    for p, part in enumerate(state.parts):
        log = tuple([entry for entry in part.log if belongs(state, entry, action)])
        alone = with_part(alone, p, with_log(part, log)) if len(log) < len(part.log) else alone
    end = (lock.lo, lock.hi) if lock is not None else _deadline(state, action)
    for answer, after in delivery.receive(alone, action, seen):
        yield answer, _together(state, alone, after, action, end)


@point("SES-1", "SES-3")
def belongs(state: State, entry: Entry, action: Action) -> bool:
    """Whether the message is of the session that is asked."""
    return entry.session == action.session_id


def _together(state: State, alone: State, after: State, action: Action, end: tuple[int, int]) -> State:
    """The state with what became of these messages, and all others as they were."""
    groups = set[str]()
    whole = after
    for p, part in enumerate(after.parts):
        was = alone.parts[p]
        if part is was:
            whole = with_part(whole, p, state.parts[p])
            continue
        groups |= {e.group for e in was.log if e.group} - {e.group for e in part.log if e.group}
        before = {entry.id: entry.lock for entry in was.log}
        mine = [entry if entry.lock == before.get(entry.id) else _as_long(entry, end) for entry in part.log]
        others = [entry for entry in state.parts[p].log if not belongs(state, entry, action)]
        whole = with_part(whole, p, with_log(part, log_of((*mine, *others))))
    return appeared(whole, groups, action.slack) if groups else whole


def _as_long(entry: Entry, end: tuple[int, int]) -> Entry:
    return entry._replace(lock=entry.lock and entry.lock._replace(lo=end[0], hi=end[1]))


@clause("RCV-13")
def renew_lock(state: State, action: Action, seen: Observed | None) -> Steps:
    """The lock of a session's message is that of the session: it need not be renewed by itself."""
    yield failure(REFUSED), state
    yield from settling.renew(state, action, seen)


# Faults


@strikes
@clause("SES-1")
def struck(state: State, p: int | None, victim: str | None) -> State:
    """The state in which a fault may have ended locks on sessions: of the partition, or of the client."""
    for lock in state.sessions:
        place = key_partition(state, lock.session) if p is not None and lock.session else None
        if (p is None or place in (None, p)) and victim in (None, lock.holder):
            state = _with_lock(state, lock, lock._replace(shaken=True))
            if p is None:  # else the messages of the partition are struck, too
                state = next(_each(state, lock, partial(_struck, state)))
    return state


def _struck(state: State, entry: Entry) -> Sequence[Entry]:
    return (message_struck(state, entry),)


CLIENT_OPS: Final = {
    "accept_session": accept,
    "renew_session": renew,
    "close_session": close,
    "receive_session": receive,
}
"""The operations of clients."""

BY_SETTING: Final = {"receive": (has_sessions, received), "renew_lock": (has_sessions, renew_lock)}
"""Those of others that are otherwise on an entity with sessions."""
