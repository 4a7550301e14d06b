"""What the environment does: partitions go down and come up, front ends and connections are lost, the broker
is killed and started, time passes, and at the end the entity is found empty.

Faults lose no accepted message and undo no completion (RCV-2, RCV-7). What they may do to locks, cursors and
open transactions is only noted (`shaken`, `loose`, `tainted`); the operation that finds out decides it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import rebalancing
from .actions import OK, Action, Answer, Observed
from .clauses import clause
from .settling import expired
from .state import (
    LOCKED,
    RESERVED,
    Client,
    Entry,
    State,
    Txn,
    client,
    is_up,
    position,
    with_client,
    with_part,
)

Steps = Iterator[tuple[Answer, State]]


@clause("RCV-2", "RCV-6", "ROUTE-7")
def partition_down(state: State, action: Action, seen: Observed | None) -> Steps:
    """A partition stops serving. Locks on its messages may end, with or without raising the count."""
    p = position(state.cfg, action.partition)
    if p is not None and not state.down >> p & 1:
        after = _shake(state._replace(down=state.down | 1 << p, used=state.used | 1 << p), p)
        yield OK, _taint(after, lambda txn: p in (txn.part, txn.locks_in))


def partition_up(state: State, action: Action, seen: Observed | None) -> Steps:
    """A partition serves again."""
    p = position(state.cfg, action.partition)
    if p is not None and state.down >> p & 1:
        yield OK, state._replace(down=state.down & ~(1 << p))


def _shake(state: State, p: int) -> State:
    part, hindsight = state.parts[p], state.cfg.hindsight
    return with_part(state, p, part._replace(log=tuple(_shaken(entry, hindsight) for entry in part.log)))


def _shaken(entry: Entry, hindsight: bool) -> Entry:
    """A fault may end the message's lock; also one of a front end that nobody knows of."""
    if entry.lock is not None:
        return entry._replace(lock=entry.lock._replace(shaken=True))
    return entry._replace(upsets=entry.upsets + 1) if hindsight else entry


def _given_up(state: State) -> State:
    """A front end that is gone, or whose client is, may give up the locks of its cache."""
    for p, part in enumerate(state.parts):
        log = tuple(
            entry if entry.status == LOCKED else _shaken(entry, state.cfg.hindsight) for entry in part.log
        )
        if log != part.log:
            state = with_part(state, p, part._replace(log=log))
    return state


def _taint(state: State, hit: Callable[[Txn], bool]) -> State:
    return state._replace(txns=tuple(t._replace(tainted=True) if hit(t) else t for t in state.txns))


@clause("RCV-2", "RCV-6", "RCV-7")
def broker_kill(state: State, action: Action, seen: Observed | None) -> Steps:
    """The broker dies. Locks and open transactions may be lost or kept, cursors reset or kept."""
    if state.dead:
        return
    after = state._replace(dead=True)
    for p in range(len(state.parts)):
        after = _shake(after, p)
    for known in state.clients:
        after = with_client(after, known._replace(loose=_has_cursor(known), shaky=True))
    after = _taint(after, lambda txn: True)
    for flows in rebalancing.killed(after):
        yield OK, flows


def broker_start(state: State, action: Action, seen: Observed | None) -> Steps:
    """The broker serves again."""
    if state.dead:
        yield OK, state._replace(dead=False)


def frontend_lost(state: State, action: Action, seen: Observed | None) -> Steps:
    """The front end of a client is lost: its next call may fail, its cursor and transactions may be gone."""
    victim = action.victim or action.proc
    after = _disturbed(state, victim)
    for gone in rebalancing.lost(after, victim, action.slack):
        yield OK, gone


def disconnect(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client's connection ends without a word; what it held by locks it keeps (with flows: loses)."""
    after = _disturbed(state, action.proc)
    for gone in rebalancing.lost(after, action.proc, action.slack):
        yield OK, gone


def reconnect(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client has a connection again."""
    yield OK, state


def _disturbed(state: State, victim: str) -> State:
    known = client(state, victim)
    after = with_client(state, known._replace(loose=_has_cursor(known), shaky=True))
    if state.cfg.profile.caching_front_ends:
        after = _given_up(after)
    return _taint(after, lambda txn: txn.proc == victim)


def _has_cursor(known: Client) -> bool:
    return any(known.cursor)


@clause("REB-7", "REB-11", "REB-14", "RCV-9")
def advance(state: State, action: Action, seen: Observed | None) -> Steps:
    """Time passes; locks whose time ends are given back. It cannot pass a move of the broker that is due:
    that has to be made first."""
    then = state._replace(now=state.now + action.by)
    if not rebalancing.overdue(state, then.now):
        for after in expired(then):
            yield OK, after


@clause("RCV-2", "TXN-5")
def drained(state: State, action: Action, seen: Observed | None) -> Steps:
    """The entity was found empty: so it is, but for open transactions and partitions that are still down."""
    for p, part in enumerate(state.parts):
        if is_up(state, p) and any(entry.status != RESERVED for entry in part.log):
            return
    yield OK, state
