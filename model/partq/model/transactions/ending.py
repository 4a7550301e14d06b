"""Commit and rollback: what a transaction's end is refused for, and what it does then.

What of it takes effect is `commits`' business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, wraps
from itertools import chain

from ..actions import BROKEN_TXN, OK, Action, Observed, failure
from ..clauses import clause, guard, point
from ..edits import put, with_txn
from ..operations import UNAVAILABLE, Outcome
from ..scheduling import norm as scheduling
from ..settling.norm import lost
from ..state import Lock, Place, State, Steps, Txn, find_number, is_up, transaction
from ..statuses import FADING
from .commits import rolled_back, sent, settled
from .limits import idled


@point("TXN-10")
def ended(state: State, action: Action, seen: Observed | None) -> Steps:
    """In a transaction that is over nothing succeeds."""
    yield failure(BROKEN_TXN), state


def of_open(
    request: Callable[[State, Txn, Action, Observed | None], Steps],
) -> Callable[[State, Action, Observed | None], Steps]:
    """What is asked in a transaction that is open. In one that is over it is `ended`'s."""

    @wraps(request)
    def asked(state: State, action: Action, seen: Observed | None) -> Steps:
        state = idled(state, action)
        txn = transaction(state, action.txn)
        return ended(state, action, seen) if txn is None else request(state, txn, action, seen)

    return asked


@point("TXN-5", "ROUTE-5")
@of_open
def commit(state: State, txn: Txn, action: Action, seen: Observed | None) -> Steps:
    """Make all of it happen; or, where something came in between, none of it."""
    out = any(not is_up(state, p) for p in parts_of(txn))
    barred = txn.doomed or not settles_by_its_locks(state, txn)
    if _may_fail(state, txn, out) or not _all_waiting(state, txn, action):
        yield failure(BROKEN_TXN), rolled_back(state, txn)
        if not barred:
            yield from _refused_in_passing(state, txn, out)
    elif seen is not None and seen.status == Outcome.ERROR:
        for after in _after_lost_lock(state, txn, state.now + action.slack):
            yield failure(BROKEN_TXN), after
    serves = not out or (state.cfg.serving and stores_in_service(state, txn))
    if serves and not barred:
        for after in sent(state, txn, action.slack, seen is None):
            for cancelled in _cancelled(settled(after, txn), txn, action):
                yield OK, with_txn(cancelled, txn.name, None)


@point("TXN-5")
@of_open
def rollback(state: State, txn: Txn, action: Action, seen: Observed | None) -> Steps:
    """Make none of it happen."""
    out = any(not is_up(state, p) for p in parts_of(txn))
    if txn.tainted or out:
        yield failure(BROKEN_TXN), rolled_back(state, txn)
        yield from _refused_in_passing(state, txn, out)
    yield OK, rolled_back(state, txn)


def _cancelled(state: State, txn: Txn, action: Action) -> Iterator[State]:
    """The states after what the transaction cancels was; what was activated meanwhile stays (SCH-5)."""
    states: Iterator[State] = iter((state,))
    for p, id in txn.cancels:
        without = partial(_without, action._replace(about=(id,), only=p))
        states = chain.from_iterable(map(without, states))
    return states


def _without(cancel: Action, state: State) -> Iterator[State]:
    place = scheduling.waiting(state, cancel)
    if place is None:
        yield state
        return
    for after in scheduling.withdrawn(state, place, cancel.slack):
        entry = after.parts[place[0]].log[place[1]]
        yield put(after, *place, entry._replace(status=FADING)) if state.cfg.fading else after


@clause("SCH-5")
def _all_waiting(state: State, txn: Txn, action: Action) -> bool:
    """Whether all that the transaction cancels certainly waits for its time still. That it is enlisted, here
    or in another transaction, is no reason to refuse the commit."""
    ones = [action._replace(about=(id,), only=p) for p, id in txn.cancels]
    alone = state._replace(txns=())
    return not any(scheduling.refusals(alone, scheduling.waiting(state, one), one) for one in ones)


@guard("ROUTE-5")
def stores_in_service(state: State, txn: Txn) -> bool:
    """Whether all partitions that the commit stores messages in are up. Settling in others is free."""
    return all(is_up(state, send.part) for send in txn.sends)


@guard("RCV-6", "RCV-8")
def settles_by_its_locks(state: State, txn: Txn) -> bool:
    """Whether nothing that the transaction settles was delivered again, or dead-lettered, meanwhile."""
    return not txn.outlived


def _locks_of(state: State, txn: Txn) -> Iterator[tuple[Place | None, Lock | None, str]]:
    """Of each message that the transaction settles its place and its lock now, if there are any; and the
    token by which it is settled."""
    for _, p, number, token in txn.settles:
        index = find_number(state.parts[p], number)
        place, lock = (None, None) if index is None else ((p, index), state.parts[p].log[index].lock)
        yield place, lock, token


def _may_fail(state: State, txn: Txn, out: bool) -> bool:
    """Whether something came in between the commit and what it is to do, such as the end of a lock."""
    if out or txn.tainted or txn.doomed or txn.outlived:
        return True
    return any(lock is None or lock.token != token for _, lock, token in _locks_of(state, txn))


def _after_lost_lock(state: State, txn: Txn, reach: int) -> Iterator[State]:
    """Rolled back because a lock turns out to have ended by itself."""
    for place, _, _ in _locks_of(state, txn):
        assert place is not None
        for after in lost(state, place, reach):
            yield rolled_back(after, txn)


def _refused_in_passing(state: State, txn: Txn, out: bool) -> Steps:
    """The end of a transaction refused as busy, amid a fault or after one: it may be open still."""
    if out or txn.tainted:
        yield failure(UNAVAILABLE), tainted(state, txn)


def tainted(state: State, txn: Txn) -> State:
    """The state in which the broker may refuse to commit, for an operation in the transaction failed."""
    return with_txn(state, txn.name, txn._replace(tainted=True))


def parts_of(txn: Txn) -> set[int]:
    """The partitions that the transaction sends to, or settles in."""
    parts = {send.part for send in txn.sends}.union(p for _, p, _, _ in txn.settles)
    parts.update(p for p, _ in txn.cancels)
    return parts.union(p for p in (txn.part, txn.locks_in) if p is not None)
