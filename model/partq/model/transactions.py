"""Transactions: sends and settlements that happen together at the commit, or not at all.

A transaction is coordinated by one partition, which its key names. Until its end nothing of it is visible;
when its messages get their numbers, at the send or at the commit, is the broker's choice. What a single send
may be refused for is `routing`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator

from .actions import BROKEN_TXN, INVALID, LOST, NOWHERE, OK, REFUSED, Action, Answer, Observed, failure
from .clauses import clause
from .delivery import ended
from .messages import Delivery
from .operations import UNAVAILABLE, Outcome
from .routing import failed, hints_of, key_of, placements, refusals, rejected, store
from .settling import apply, held, lock_at
from .state import (
    FOREVER,
    FRESH,
    LAGGING,
    RESERVED,
    State,
    Txn,
    find_number,
    is_up,
    key_partition,
    put,
    returned,
    transaction,
    with_entry,
    with_part,
    with_txn,
)

Steps = Iterator[tuple[Answer, State]]
Place = tuple[int, int]


def begin(state: State, action: Action, seen: Observed | None) -> Steps:
    """Open a transaction under a new name."""
    if not state.cfg.profile.transactions:
        yield failure(REFUSED), state
    elif action.txn is None or transaction(state, action.txn) is not None:
        yield failure(INVALID), state
    else:
        yield OK, with_txn(state, action.txn, Txn(action.txn, action.proc))


def send(state: State, action: Action, seen: Observed | None) -> Steps:
    """Send in a transaction: refused at once, or enlisted."""
    txn = transaction(state, action.txn)
    anywhere = action.only in (None, NOWHERE)
    if txn is None:
        yield from [(failure(BROKEN_TXN), state)] if anywhere else []
        return
    refused = failed(_tainted(state, txn), len(action.messages))
    if txn.tainted and anywhere:
        yield failure(BROKEN_TXN), refused
    verdicts = refusals(state.cfg, action.messages)
    keys = {key_of(state.cfg, m) for m in action.messages}
    if state.cfg.profile.partitioned and (None in keys or False not in verdicts):
        yield from _keyless(refused) if anywhere else ()
        if seen is not None and seen.status == Outcome.OK:  # found out at the commit
            yield OK, with_txn(state, txn.name, txn._replace(tainted=True, doomed=True))
        return
    if anywhere and (True in verdicts or may_refuse_key(state, txn, keys)):
        yield failure(INVALID), refused
    if seen is None or seen.status == Outcome.ERROR:
        for answer, after in rejected(state, action):
            yield answer, _tainted(after, txn)
    if seen is None or seen.status == Outcome.OK:
        for after in _enlisted(state, txn, action, seen):
            yield OK, after


@clause("TXN-1")
def _keyless(refused: State) -> Steps:
    yield failure(INVALID), refused


@clause("TXN-2")
def may_refuse_key(state: State, txn: Txn, keys: set[str | None]) -> bool:
    """Whether a key may be refused: it is a second one (even if both live in one partition), or it lives in
    another partition than the messages that the transaction settles (not settled by any source)."""
    if not state.cfg.profile.partitioned:
        return False
    if txn.key is not None:
        return keys != {txn.key}
    return txn.locks_in is not None and any(k and key_partition(state, k) != txn.locks_in for k in keys)


@clause("TXN-2", "TXN-8", "ROUTE-1")
def _enlisted(state: State, txn: Txn, action: Action, seen: Observed | None) -> Iterator[State]:
    """The states after these sends were enlisted. A second key must live in the partition of the first."""
    hints = hints_of(action, seen)
    for placed, places in placements(state, action, hints):
        p = places[0]
        if txn.part is not None and state.cfg.profile.partitioned and txn.part != p:
            continue
        key = txn.key if txn.key is not None else key_of(state.cfg, action.messages[0])
        timings = (True, False) if state.cfg.early else (False,)
        for early in timings if txn.early is None else (txn.early,):
            begun = txn._replace(part=p, key=key, early=early)
            yield from _reserved(placed, begun, action, hints, seen is None)


@clause("SEQ-3", "SEQ-4")
def _reserved(
    state: State, txn: Txn, action: Action, hints: list[Delivery | None], strict: bool
) -> Iterator[State]:
    """The messages numbered now, invisible (early), or kept for the commit."""
    assert txn.part is not None
    p, ways = txn.part, [(state, txn.sends)]
    for message, hint in zip(action.messages, hints, strict=True):
        seq = None if hint is None else hint.seq
        if not txn.early:
            since = state.now if state.cfg.timed else 0
            ways = [(s, (*sends, (message.id, p, None, since, seq))) for s, sends in ways]
            continue
        ways = [
            (after, (*sends, (message.id, p, after.parts[p].log[-1].number, 0, seq)))
            for s, sends in ways
            for after in store(s, p, message.id, hint, strict, FOREVER, RESERVED)
        ]
    for s, sends in ways:
        yield with_txn(s, txn.name, txn._replace(sends=sends))


def settle(state: State, action: Action, seen: Observed | None) -> Steps:
    """Settle in a transaction: refused at once, or enlisted, the locks being held until its end."""
    txn = transaction(state, action.txn)
    if txn is None:
        yield failure(BROKEN_TXN), state
        return
    places = [place for place in held(state, action) if place is not None]
    kinds = _settle_refusals(state, txn, action, places, action.slack if seen is not None else None)
    if kinds:
        yield failure(kinds), _tainted(state, txn)
    if len(places) == len(action.locks) and _may_enlist(state, txn, places):
        yield OK, _enlist_locks(state, txn, action, places)


@clause("TXN-7", "RCV-8", "RCV-14")
def _settle_refusals(
    state: State, txn: Txn, action: Action, places: list[Place], slack: int | None
) -> frozenset[str]:
    """The kinds of error that a settlement in a transaction may have; none where it has to succeed."""
    kinds: frozenset[str] = frozenset()
    locks = [lock_at(state, place) for place in places]
    parts = {p for p, _ in places}
    reach = None if slack is None else state.now + slack
    if len(places) < len(action.locks) or any(lock.txn for lock in locks):
        kinds |= LOST
    if reach is not None and any(lock.lo <= reach or lock.shaken for lock in locks):
        kinds |= LOST
    if state.cfg.profile.partitioned and len(parts | {txn.locks_in, txn.part} - {None}) > 1:
        kinds |= INVALID
    if any(not is_up(state, p) for p in parts) or (state.down and len(places) < len(action.locks)):
        kinds |= UNAVAILABLE
    return kinds | BROKEN_TXN if txn.tainted else kinds


@clause("TXN-7")
def _may_enlist(state: State, txn: Txn, places: list[Place]) -> bool:
    """Whether these settlements can be part of the transaction. That it also sends to another partition than
    the one it settles in is not settled by any source: allowed."""
    parts = {p for p, _ in places}
    return (
        len(parts) == 1
        and all(is_up(state, p) for p in parts)
        and txn.locks_in in (None, *parts)
        and all(lock_at(state, place).txn is None for place in places)
    )


@clause("TXN-5")
def _enlist_locks(state: State, txn: Txn, action: Action, places: list[Place]) -> State:
    settles = list(txn.settles)
    for (p, index), token in zip(places, action.locks, strict=True):
        entry = state.parts[p].log[index]
        lock = lock_at(state, (p, index))
        settled = (action.op, p, entry.number, token)
        if settled not in settles:
            settles.append(settled)
        state = put(state, p, index, entry._replace(lock=lock._replace(txn=txn.name)))
    return with_txn(state, txn.name, txn._replace(locks_in=places[0][0], settles=tuple(settles)))


@clause("TXN-5")
def commit(state: State, action: Action, seen: Observed | None) -> Steps:
    """Make all of it happen; or, where something came in between, none of it."""
    txn = transaction(state, action.txn)
    if txn is None:
        yield failure(BROKEN_TXN), state
        return
    parts = [p for p in (txn.part, txn.locks_in) if p is not None]
    out = any(not is_up(state, p) for p in parts)
    if out or txn.tainted or txn.doomed or not _all_held(state, txn):
        yield failure(BROKEN_TXN), rolled_back(state, txn)
    elif seen is not None and seen.status == Outcome.ERROR:
        for after in _after_lost_lock(state, txn, state.now + action.slack):
            yield failure(BROKEN_TXN), after
    if not out and not txn.doomed:
        for after in _sent(state, txn, action.slack, seen is None):
            yield OK, with_txn(_settled(after, txn), txn.name, None)


def _all_held(state: State, txn: Txn) -> bool:
    """Whether every lock that the transaction settles is still held for it."""
    for _, p, number, token in txn.settles:
        index = find_number(state.parts[p], number)
        lock = None if index is None else state.parts[p].log[index].lock
        if lock is None or lock.token != token:
            return False
    return True


def _after_lost_lock(state: State, txn: Txn, reach: int) -> Iterator[State]:
    """Rolled back because a lock turns out to have ended by itself."""
    for _, p, number, _ in txn.settles:
        index = find_number(state.parts[p], number)
        assert index is not None
        entry = state.parts[p].log[index]
        for count, since in ended(lock_at(state, (p, index)), entry.tries, reach):
            yield rolled_back(put(state, p, index, returned(state, entry, count, since)), txn)


@clause("TXN-5", "SEQ-3")
def _sent(state: State, txn: Txn, slack: int, strict: bool) -> Iterator[State]:
    """The messages visible, or about to be: visibility may lag behind the commit."""
    ways = [state]
    status = LAGGING if state.cfg.lag else FRESH
    for id, p, number, since, seq in txn.sends:
        if number is not None:
            ways = [_revealed(s, p, number, status, slack) for s in ways]
            continue
        hint = None if seq is None else Delivery(id, seq=seq)
        begun = since if state.cfg.timed else None
        ways = [s for way in ways for s in store(way, p, id, hint, strict, slack, status, begun)]
    yield from ways


def _revealed(state: State, p: int, number: int, status: int, slack: int) -> State:
    index = find_number(state.parts[p], number)
    assert index is not None
    entry = state.parts[p].log[index]
    at = entry.at and (entry.at[0], min(entry.at[1], state.now + slack))
    since = state.now if state.cfg.hindsight else 0
    return put(state, p, index, entry._replace(status=status, at=at, since=since))


def _settled(state: State, txn: Txn) -> State:
    for op, p, number, token in txn.settles:
        index = find_number(state.parts[p], number)
        if index is not None:
            lock = state.parts[p].log[index].lock
            if op == "complete" or (lock is not None and lock.token == token):
                state = apply(state, op, [(p, index)])
    return state


def rollback(state: State, action: Action, seen: Observed | None) -> Steps:
    """Make none of it happen."""
    txn = transaction(state, action.txn)
    if txn is None:
        yield failure(BROKEN_TXN), state
        return
    if txn.tainted or any(p is not None and not is_up(state, p) for p in (txn.part, txn.locks_in)):
        yield failure(BROKEN_TXN), _tainted(state, txn)
    yield OK, rolled_back(state, txn)


@clause("TXN-5", "SEQ-4")
def rolled_back(state: State, txn: Txn) -> State:
    """The state without the transaction: nothing of it is stored, its locks are free to be used again."""
    late = 0
    for _, p, number, _, _ in txn.sends:
        index = None if number is None else find_number(state.parts[p], number)
        if index is None:
            late += 1
        else:
            state = with_part(state, p, with_entry(state.parts[p], index, None))
    for _, p, number, token in txn.settles:
        index = find_number(state.parts[p], number)
        entry = None if index is None else state.parts[p].log[index]
        if index is not None and entry is not None and entry.lock and entry.lock.token == token:
            state = put(state, p, index, entry._replace(lock=entry.lock._replace(txn=None)))
    return with_txn(failed(state, late), txn.name, None)


def _tainted(state: State, txn: Txn) -> State:
    """The state in which the broker may refuse to commit, for an operation in the transaction failed."""
    return with_txn(state, txn.name, txn._replace(tainted=True))


def moves(state: State) -> list[Action]:
    """The broker may roll back a transaction that a fault or a failed operation hit."""
    return [Action("forget", txn.proc, txn=txn.name) for txn in state.txns if txn.tainted]


def forget(state: State, action: Action, seen: Observed | None) -> Steps:
    """The broker rolls back a transaction that a fault or a failed operation hit."""
    txn = transaction(state, action.txn)
    if txn is not None and txn.tainted:
        yield OK, rolled_back(state, txn)
