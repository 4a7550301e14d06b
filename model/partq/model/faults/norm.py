"""What the environment does: partitions go down and come up, front ends and connections are lost, the broker
is killed and started, time passes, and at the end the entity is found empty.

Faults lose no accepted message and undo no completion (RCV-2, RCV-7). What they may do to locks, cursors and
open transactions is only noted (`shaken`, `loose`, `tainted`); the operation that finds out decides it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ..actions import OK, Action, Observed
from ..clauses import clause, point
from ..configuration import position
from ..deadletters.norm import all_came
from ..edits import later, with_client, with_log, with_part
from ..hooks import Hook
from ..locks.norm import emptied, is_over, struck
from ..rebalancing import kills, losses
from ..rebalancing import norm as rebalancing
from ..routing import norm as routing
from ..settling.norm import expired
from ..state import Client, State, Steps, Txn, client, is_up, range_of, stored_with
from ..statuses import LOCKED
from ..transactions.ending import parts_of


@point("RCV-2", "RCV-6", "ROUTE-7")
def partition_down(state: State, action: Action, seen: Observed | None) -> Steps:
    """A partition stops serving. Locks on its messages may end, with or without raising the count."""
    if action.partition is None:
        yield from _any_struck(state)
        return
    p = position(state.cfg, action.partition)
    if p is not None and not state.down >> p & 1:
        for tainted in ending(struck_down(state, p), lambda txn: p in parts_of(txn)):
            yield from ((OK, redrawn) for redrawn in routing.redrawn(tainted))


def _any_struck(state: State) -> Steps:
    """Some partitions are struck, and which ones is not known; for how long, is the reader's business."""
    for p in range(len(state.parts)):
        state = shake(state, p)
    for tainted in ending(state, lambda txn: True):
        yield from ((OK, redrawn) for redrawn in routing.redrawn(tainted))


def struck_down(state: State, p: int) -> State:
    """The state in which that partition is down, and locks on its messages may have ended."""
    state = state._replace(used=state.used | 1 << p)
    for place in stored_with(state, p):
        state = shake(state._replace(down=state.down | 1 << place), place)
    return state


@point("ROUTE-1")
def partition_up(state: State, action: Action, seen: Observed | None) -> Steps:
    """A partition serves again."""
    p = position(state.cfg, action.partition)
    if p is not None and state.down >> p & 1:
        after = state._replace(down=state.down & ~sum(1 << place for place in stored_with(state, p)))
        yield from ((OK, redrawn) for redrawn in routing.redrawn(after))


Strikes = Callable[[State, int | None, str | None], State]

strikes: Final = Hook[Strikes]()
"""Mark what else a fault may do: of that partition, or to the connection of that client, or of any."""


def _struck(state: State, p: int | None, victim: str | None = None) -> State:
    for strike in strikes:
        state = strike(state, p, victim)
    return state


def shake(state: State, p: int) -> State:
    """The state in which locks on that partition's messages may have ended."""
    state = _struck(state, p)
    part = state.parts[p]
    if not part.log:
        return state
    return with_part(state, p, with_log(part, tuple([struck(state, entry) for entry in part.log])))


def _given_up(state: State) -> State:
    """A front end that is gone, or whose client is, may give up the locks of its cache."""
    for p, part in enumerate(state.parts):
        if any(entry.status != LOCKED for entry in part.log):
            log = tuple([entry if entry.status == LOCKED else struck(state, entry) for entry in part.log])
            state = with_part(state, p, with_log(part, log))
    return state


@point("TXN-5")
def ending(state: State, hit: Callable[[Txn], bool]) -> Iterator[State]:
    """The states after a fault that may have transactions rolled back, which shows as they are used."""
    yield taint(state, hit)


def taint(state: State, hit: Callable[[Txn], bool]) -> State:
    """The state in which the broker may refuse to commit these transactions."""
    return state._replace(txns=tuple(t._replace(tainted=True) if hit(t) else t for t in state.txns))


@clause("RCV-2", "RCV-6", "RCV-7")
def broker_kill(state: State, action: Action, seen: Observed | None) -> Steps:
    """The broker dies. Locks and open transactions may be lost or kept, cursors reset or kept."""
    if state.dead:
        return
    after = state._replace(dead=True)
    for p in range(len(state.parts)):
        after = shake(after, p)
    after = _cursors_loosened(after)
    for known in state.clients:
        after = with_client(after, client(after, known.proc)._replace(shaky=True))
    for tainted in ending(after, lambda txn: True):
        yield from ((OK, flows) for flows in kills.killed(tainted, action, seen))


@point("ROUTE-1")
def broker_start(state: State, action: Action, seen: Observed | None) -> Steps:
    """The broker serves again."""
    if state.dead:
        after = kills.started(state._replace(dead=False), action.slack)
        yield from ((OK, redrawn) for redrawn in routing.redrawn(after))


def frontend_lost(state: State, action: Action, seen: Observed | None) -> Steps:
    """The front end of a client is lost: its next call may fail. Which other clients it served is not known:
    the cursor and the transaction of any may be gone."""
    victim = action.victim or action.proc
    struck_too = _struck(state, None)
    for after in ending(_cursors_loosened(_disturbed(struck_too, victim)), lambda txn: True):
        for gone in losses.lost(after, victim, action.slack, seen):
            yield from ((OK, redrawn) for redrawn in routing.redrawn(gone))


def disconnect(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client's connection ends without a word; what it held by locks it keeps (with flows: loses; where
    connections end locks: may lose)."""
    after = _disturbed(state, action.proc)
    for gone in losses.lost(after, action.proc, action.slack, seen):
        yield OK, gone


def reconnect(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client reconnects."""
    yield OK, state


def _disturbed(state: State, victim: str) -> State:
    state = _struck(state, None, victim)
    after = with_client(state, _loosened(client(state, victim))._replace(shaky=True))
    if state.cfg.profile.caching_front_ends:
        after = _given_up(after)
    if state.cfg.profile.connection_ends_locks:
        after = _locks_shaken(after, victim)
    return taint(after, lambda txn: txn.proc == victim)


@clause("RCV-6")
def _locks_shaken(state: State, victim: str) -> State:
    """The state in which the locks of a client whose connection ended may have ended with it."""
    for p, part in enumerate(state.parts):
        log = (e if e.lock is None or e.lock.holder != victim else struck(state, e) for e in part.log)
        state = with_part(state, p, with_log(part, tuple(log)))
    return state


def _cursors_loosened(state: State) -> State:
    for known in state.clients:
        state = with_client(state, _loosened(known))
    return state


def _loosened(known: Client) -> Client:
    """The client after a fault that may have set its cursors back to the start."""
    return known._replace(loose=sum(1 << p for p, number in enumerate(known.cursor) if number))


@clause("REB-7", "REB-11", "REB-14", "RCV-9")
def advance(state: State, action: Action, seen: Observed | None) -> Steps:
    """Time passes; locks whose time ends are given back. It cannot pass a move of the broker that is due:
    that has to be made first."""
    then = later(state, state.now + action.by)
    if not rebalancing.overdue(state, then.now):
        for after in expired(then):
            yield OK, after


@clause("RCV-2", "TXN-5")
def drained(state: State, action: Action, seen: Observed | None) -> Steps:
    """The entity was found empty: so it is, but for open transactions and partitions that are still down, and
    what is left may have been dead-lettered, unless it was that queue which was found empty."""
    if action.entity and not all_came(state):
        return
    for p in range_of(state, action.entity):
        part = state.parts[p]
        if is_up(state, p) and part.log:
            if not all(is_over(state, entry, action.slack) for entry in part.log):
                return
            left = (emptied(state, entry, action.slack) for entry in part.log)
            state = with_part(state, p, with_log(part, tuple([entry for entry in left if entry is not None])))
    yield OK, state


_EVENTS: Final = (
    disconnect,
    reconnect,
    partition_down,
    partition_up,
    frontend_lost,
    broker_kill,
    broker_start,
    advance,
    drained,
)

BROKER_OPS: Final = {event.__name__: event for event in _EVENTS} | {"connection_lost": frontend_lost}
"""What the environment does."""
