"""Transactions: sends and settlements that happen together at the commit, or not at all.

A transaction is coordinated by one partition, which its key names. Until its end nothing of it is visible;
when its messages get their numbers, at the send or at the commit, is the broker's choice. What a single send
may be refused for is `routing`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator

from .actions import BROKEN_TXN, INVALID, LOST, NOWHERE, OK, REFUSED, Action, Answer, Observed, failure
from .clauses import clause
from .commits import in_part, rolled_back, sent, settled
from .edits import put, with_txn
from .locks import returned
from .memory import whose, withheld
from .messages import Delivery, conflicting
from .operations import UNAVAILABLE, Outcome
from .pending import take
from .profiles import MAX_IDLE, SECOND
from .routing import (
    failed,
    hints_of,
    in_order,
    key_of,
    placements,
    refusals,
    rejected,
    stored_by_refusals,
    unpinned,
)
from .settling import apply, held, lock_at, lost
from .state import Pending, State, Txn, find_number, is_up, key_partition, transaction

Steps = Iterator[tuple[Answer, State]]
Place = tuple[int, int]


def begin(state: State, action: Action, seen: Observed | None) -> Steps:
    """Open a transaction under a new name, or under that of one that the broker may have rolled back."""
    state = _idled(state, action)
    known = transaction(state, action.txn)
    if seen is not None and known is not None and known.tainted:
        state = rolled_back(state, known)
    if not state.cfg.profile.transactions:
        yield failure(REFUSED), state
    elif action.txn is None or transaction(state, action.txn) is not None:
        yield failure(INVALID), state
    else:
        yield OK, with_txn(state, action.txn, _used(state, Txn(action.txn, action.proc)))


def _idled(state: State, action: Action) -> State:
    """The state in which every transaction that may have been idle for too long may be rolled back.
    Not a TXN-9 clause: rollback is optional."""
    oldest = state.now + action.slack - MAX_IDLE
    if state.cfg.untimed or all(txn.tainted or txn.used > oldest for txn in state.txns):
        return state
    return state._replace(txns=tuple(t._replace(tainted=t.tainted or t.used <= oldest) for t in state.txns))


def _used(state: State, txn: Txn) -> Txn:
    """The transaction after an operation in it. To the second before: what differs by less is one state."""
    return txn if state.cfg.untimed else txn._replace(used=state.now // SECOND * SECOND)


@clause("TXN-10")
def _ended(state: State, action: Action, seen: Observed | None) -> Steps:
    """In a transaction that is over nothing succeeds; where that is waived, it is done outside of it, or not
    at all."""
    yield failure(BROKEN_TXN), state
    shown = _shown(action, seen)
    if shown and seen is not None and seen.status == Outcome.ERROR and state.cfg.waived:
        if not state.forbids("TXN-10") or stored_by_refusals(state, action, seen):
            yield failure(BROKEN_TXN), withheld(state, shown)
    if state.forbids("TXN-10"):
        return
    yield OK, withheld(state, shown)
    if action.locks:
        places = [place for place in held(state, action) if place is not None]
        if len(places) == len(action.locks):
            yield OK, apply(state, action.op, places)


def _shown(action: Action, seen: Observed | None) -> set[str]:
    """Those of the messages sent that the history shows."""
    return set() if seen is None else {d.id for d in seen.messages if action.messages}


def send(state: State, action: Action, seen: Observed | None) -> Steps:
    """Send in a transaction: refused at once, or enlisted."""
    state = _idled(state, action)
    txn = transaction(state, action.txn)
    anywhere = action.only in (None, NOWHERE)
    if txn is None:
        yield from _ended(state, action, seen) if anywhere else ()
        return
    if seen is not None and seen.status == Outcome.ERROR and seen.messages and state.cfg.waived:
        yield from _refused_and_done(state, txn, action, seen)
    refused = failed(_tainted(state, txn), action.messages)
    if txn.tainted and anywhere:
        yield failure(BROKEN_TXN), refused
    verdicts = refusals(state, action.messages)
    keys = {key_of(state.cfg, m) for m in action.messages}
    if state.cfg.profile.partitioned and (None in keys or True in verdicts):
        yield from _keyless(refused) if anywhere else ()
        if seen is not None and seen.status == Outcome.OK:  # found out at the commit
            yield OK, _doomed(state, txn)
        if False not in verdicts or (None in keys and not may_be_keyless(state)):
            return
    if anywhere and (True in verdicts or _may_refuse_key(state, txn, action)):
        yield failure(INVALID), refused
    if seen is None or seen.status == Outcome.ERROR:
        for answer, after in rejected(state, action):
            yield answer, _tainted(after, txn)
    if seen is None or seen.status == Outcome.OK:
        for after in _enlisted(state, txn, action, seen):
            yield OK, after
        if seen is not None and seen.messages and state.cfg.waived and _is_done_apart(state, txn, keys):
            yield OK, withheld(state, _shown(action, seen))
        if state.cfg.waived and _is_second(txn, keys) and not state.forbids("TXN-2"):
            yield OK, _doomed(state, txn)  # found out at the commit
        if seen is not None and not seen.messages and _may_be_ignored(state, txn, keys):
            yield OK, state


@clause("TXN-1", "TXN-2", "KEY-3", "KEY-7")
def _refused_and_done(state: State, txn: Txn, action: Action, seen: Observed) -> Steps:
    """Where a requirement that has a send refused is waived: refused, and what the history shows of it is
    stored at once or at any later time."""
    keys = {key_of(state.cfg, m) for m in action.messages}
    kinds = stored_by_refusals(state, action, seen)
    if (
        (None in keys and state.breaks("TXN-1"))
        or (_is_second(txn, keys) and state.breaks("TXN-2"))
        or (any(map(conflicting, action.messages)) and state.breaks("KEY-3"))
        or (len(keys) > 1 and state.breaks("KEY-7"))
    ):
        kinds |= INVALID
    if kinds:
        yield failure(kinds), withheld(_tainted(state, txn), _shown(action, seen))


@clause("TXN-1", "KEY-5")
def may_be_keyless(state: State) -> bool:
    """Whether a message without a key may be part of a transaction: it is waived that it must not, or that
    its ID is no key."""
    return not state.forbids("TXN-1") or not state.forbids("KEY-5")


@clause("TXN-1", "TXN-2", "TXN-5")
def _is_done_apart(state: State, txn: Txn, keys: set[str | None]) -> bool:
    """Whether a send may be done apart from its transaction, because it is waived that it must not."""
    return (
        state.breaks("TXN-5")
        or (_is_second(txn, keys) and state.breaks("TXN-2"))
        or (None in keys and state.breaks("TXN-1"))
    )


@clause("TXN-1", "TXN-2")
def _may_be_ignored(state: State, txn: Txn, keys: set[str | None]) -> bool:
    """Whether a send may be answered ok and never be done, as it has to be refused by a requirement that is
    waived."""
    if not state.cfg.waived or not state.cfg.profile.partitioned:
        return False
    second = _is_second(txn, keys) and not state.forbids("TXN-2")
    return second or (None in keys and may_be_keyless(state))


def _is_second(txn: Txn, keys: set[str | None]) -> bool:
    """Whether these keys are others than the one of the transaction, or more than one."""
    return keys != {txn.key} if txn.key is not None else len(keys) > 1


def _doomed(state: State, txn: Txn) -> State:
    """The state in which the transaction will not be committed."""
    return with_txn(state, txn.name, txn._replace(tainted=True, doomed=True))


@clause("TXN-1")
def _keyless(refused: State) -> Steps:
    yield failure(INVALID), refused


@clause("TXN-2", "TXN-8")
def _may_refuse_key(state: State, txn: Txn, action: Action) -> bool:
    """Whether a key may be refused: it is a second one (even if both live in one partition), or it lives in
    another partition than the messages that the transaction settles (not settled by any source), as it may
    do where it is waived that it says where it lives."""
    if not state.cfg.profile.partitioned:
        return False
    keys = {key_of(state.cfg, m) for m in action.messages}
    if txn.key is not None:
        return keys != {txn.key}
    if txn.locks_in is None:
        return False
    apart = any(key and key_partition(state, key) != txn.locks_in for key in keys)
    return apart or any(unpinned(state, action, m) for m in action.messages)


@clause("TXN-2", "TXN-8", "ROUTE-1")
def _enlisted(state: State, txn: Txn, action: Action, seen: Observed | None) -> Iterator[State]:
    """The states after these sends were enlisted. A second key must live in the partition of the first."""
    hints = hints_of(state, action, seen)
    for placed, places in placements(state, action, hints):
        p = txn.part if txn.part is not None else places[0]
        if set(places) != {p} and state.cfg.profile.partitioned and not _may_leave(state, txn, action):
            continue
        key = txn.key if txn.key is not None else key_of(state.cfg, action.messages[0])
        yield _pending(placed, txn._replace(part=p, key=key), action, places, hints)


@clause("TXN-1", "TXN-2")
def _may_leave(state: State, txn: Txn, action: Action) -> bool:
    """Whether a send may be stored in another partition than that of its transaction: where it is waived that
    it has the key of the others, or that this key says where it goes."""
    if not state.cfg.waived:
        return False
    keys = {key_of(state.cfg, m) for m in action.messages}
    return (
        (_is_second(txn, keys) and state.breaks("TXN-2"))
        or (len(keys) > 1 and state.breaks("KEY-7"))
        or (None in keys and may_be_keyless(state))
        or state.breaks("ROUTE-5")
        or state.breaks("ROUTE-1")
        or any(unpinned(state, action, m) for m in action.messages)
    )


@clause("SEQ-3")
def _pending(
    state: State, txn: Txn, action: Action, places: tuple[int, ...], hints: list[Delivery | None]
) -> State:
    """The state in which the messages wait for the commit, those of a batch in the order of their numbers."""
    shown = [(n, hint) for n, hint in enumerate(hints) if hint is not None and hint.seq is not None]
    known = in_order(state.cfg, shown)
    others = [(n, hint) for n, hint in enumerate(hints) if hint is None or hint.seq is None]
    since = state.now - action.early if state.cfg.timed else 0
    sends = tuple(
        Pending(action.messages[n].id, places[n], None, since, None if hint is None else hint.seq)
        for n, hint in (*known, *others)
    )
    return with_txn(state, txn.name, _used(state, txn)._replace(sends=txn.sends + sends))


def settle(state: State, action: Action, seen: Observed | None) -> Steps:
    """Settle in a transaction: refused at once, or enlisted, the locks being held until its end."""
    state = _idled(state, action)
    txn = transaction(state, action.txn)
    if txn is None:
        yield from _ended(state, action, seen)
        return
    if seen is not None and seen.status == Outcome.OK:
        state = _released(state, txn, action)
    places = [place for place in held(state, action) if place is not None]
    kinds = _settle_refusals(state, txn, action, places, action.slack if seen is not None else None)
    if kinds:
        yield failure(kinds), _tainted(state, txn)
    if len(places) == len(action.locks) and _may_enlist(state, txn, places):
        yield OK, _enlist_locks(state, txn, action, places)
        if not state.forbids("TXN-5"):
            yield OK, apply(state, action.op, places)
            yield OK, _let_go(_enlist_locks(state, txn, action, places), places)
    if seen is not None and state.cfg.waived:
        yield from _settled_anyhow(state, txn, action, places, seen)


def _let_go(state: State, places: list[Place]) -> State:
    """The state in which locks that a transaction settles do not wait for its end."""
    for p, index in places:
        entry = state.parts[p].log[index]
        state = put(state, p, index, returned(state, entry, entry.tries, state.now))
    return state


@clause("RCV-2", "RCV-6", "RCV-8", "TXN-7")
def _settled_anyhow(state: State, txn: Txn, action: Action, places: list[Place], seen: Observed) -> Steps:
    """Where a requirement is waived: a lock that holds is refused, having been lost with its message (RCV-2)
    or without (RCV-6); one that is lost settles, or is said to (RCV-8); one in a second partition is refused,
    and settles all the same (TXN-7)."""
    if seen.status == Outcome.ERROR:
        for place in places:
            for after in lost(state, place, state.now + action.slack):
                yield failure(LOST), _tainted(after, txn)
        if places and not state.forbids("RCV-6"):
            yield failure(LOST), _tainted(state, txn)
        if places and not _fits(txn, places) and not state.forbids("TXN-7"):
            yield failure(INVALID | LOST), _enlist_locks(state, txn, action, places)
            yield failure(INVALID | LOST), apply(state, action.op, places)
    elif len(places) == len(action.locks) and not _fits(txn, places) and not state.forbids("TXN-7"):
        yield OK, _doomed(state, txn)  # found out at the commit
        yield OK, state  # or never done
    elif len(places) < len(action.locks) and not state.forbids("RCV-8"):
        yield OK, _enlist_locks(state, txn, action, places) if places else state
        meant = {whose(state, token) for token in action.locks}
        yield OK, apply(state, "complete", sorted(place for place in meant if place is not None))


@clause("TXN-10")
def _released(state: State, txn: Txn, action: Action) -> State:
    """The state in which no other transaction, that the broker may have rolled back, holds these locks."""
    holders = [lock_at(state, place).txn for place in held(state, action) if place is not None]
    for name in dict.fromkeys(holders):  # a rollback may end locks that are named, too
        other = transaction(state, name) if name != txn.name else None
        if other is not None and other.tainted:
            state = rolled_back(state, other)
    return state


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


def _fits(txn: Txn, places: list[Place]) -> bool:
    """Whether these locks are all in one partition, that of those that the transaction settles already."""
    parts = {p for p, _ in places}
    return len(parts) == 1 and txn.locks_in in (None, *parts)


@clause("TXN-7", "RCV-14")
def _may_enlist(state: State, txn: Txn, places: list[Place]) -> bool:
    """Whether these settlements can be part of the transaction. That it also sends to another partition than
    the one it settles in, or settles by a lock once more, is not settled by any source: allowed."""
    parts = {p for p, _ in places}
    return (
        (_fits(txn, places) or not state.forbids("TXN-7") or (len(parts) > 1 and not state.forbids("RCV-14")))
        and (state.cfg.serving or all(is_up(state, p) for p in parts))
        and all(lock_at(state, place).txn in (None, txn.name) for place in places)
    )


@clause("TXN-5")
def _enlist_locks(state: State, txn: Txn, action: Action, places: list[Place]) -> State:
    settles = list(txn.settles)
    for p, index in places:
        entry = state.parts[p].log[index]
        lock = lock_at(state, (p, index))
        token = next(token for token in action.locks if token == lock.token or token in lock.rivals)
        settled = (action.op, p, entry.number, token)
        if settled not in settles:
            settles.append(settled)
        state = put(state, p, index, entry._replace(lock=lock._replace(txn=txn.name)))
    first = places[0][0] if txn.locks_in is None else txn.locks_in
    return with_txn(state, txn.name, _used(state, txn)._replace(locks_in=first, settles=tuple(settles)))


@clause("TXN-5", "ROUTE-5")
def commit(state: State, action: Action, seen: Observed | None) -> Steps:
    """Make all of it happen; or, where something came in between, none of it."""
    state = _idled(state, action)
    txn = transaction(state, action.txn)
    if txn is None:
        yield from _ended(state, action, seen)
        return
    out = any(not is_up(state, p) for p in parts_of(txn))
    if out or txn.tainted or txn.doomed or not _all_held(state, txn):
        yield failure(BROKEN_TXN), rolled_back(state, txn)
        if not txn.doomed:
            yield from _refused_in_passing(state, txn, out)
    elif seen is not None and seen.status == Outcome.ERROR:
        for after in _after_lost_lock(state, txn, state.now + action.slack):
            yield failure(BROKEN_TXN), after
    if not (out and _is_blocked(state, txn)) and not txn.doomed:
        for after in sent(state, txn, action.slack, seen is None):
            yield OK, with_txn(settled(after, txn), txn.name, None)
    if not state.forbids("TXN-5"):
        for after in in_part(state, txn, action.slack):
            yield OK, after
            yield failure(BROKEN_TXN), after


@clause("ROUTE-5")
def _is_blocked(state: State, txn: Txn) -> bool:
    """Whether a partition that is down prevents the commit: it stores nothing. Settling there is free."""
    stores = any(not is_up(state, send.part) for send in txn.sends)
    return not state.cfg.serving or (stores and state.forbids("ROUTE-5"))


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
        for after in lost(state, (p, index), reach):
            yield rolled_back(after, txn)


def rollback(state: State, action: Action, seen: Observed | None) -> Steps:
    """Make none of it happen."""
    state = _idled(state, action)
    txn = transaction(state, action.txn)
    if txn is None:
        yield from _ended(state, action, seen)
        return
    out = any(not is_up(state, p) for p in parts_of(txn))
    if txn.tainted or out:
        yield failure(BROKEN_TXN), rolled_back(state, txn)
        yield from _refused_in_passing(state, txn, out)
    yield OK, rolled_back(state, txn)
    if not state.forbids("TXN-5"):
        yield from ((OK, after) for after in in_part(state, txn, action.slack))


def _refused_in_passing(state: State, txn: Txn, out: bool) -> Steps:
    """The end of a transaction refused as busy, amid a fault or after one: it may be open still."""
    if out or txn.tainted:
        yield failure(UNAVAILABLE), _tainted(state, txn)


def _tainted(state: State, txn: Txn) -> State:
    """The state in which the broker may refuse to commit, for an operation in the transaction failed."""
    return with_txn(state, txn.name, txn._replace(tainted=True))


def moves(state: State) -> list[Action]:
    """The broker may number what waits for a commit, and roll back a transaction that a fault or a failed
    operation hit, or that was idle for too long."""
    state = _idled(state, Action("forget"))
    found = [Action("forget", txn.proc, txn=txn.name) for txn in state.txns if txn.tainted]
    if state.cfg.early:
        waiting = (txn for txn in state.txns if any(send.number is None for send in txn.sends))
        found += [Action("number", txn.proc, txn=txn.name) for txn in waiting]
    return found


def number(state: State, action: Action, seen: Observed | None) -> Steps:
    """The broker numbers the next message that waits for a commit."""
    txn = transaction(state, action.txn)
    waiting = [] if txn is None else [n for n, send in enumerate(txn.sends) if send.number is None]
    if txn is not None and waiting and state.cfg.early:
        for after in take(state, txn.name, waiting[0], True):
            yield OK, after


def forget(state: State, action: Action, seen: Observed | None) -> Steps:
    """The broker rolls back a transaction that a fault or a failed operation hit, or that was idle for too
    long."""
    state = _idled(state, action)
    txn = transaction(state, action.txn)
    if txn is not None and txn.tainted:
        yield OK, rolled_back(state, txn)


def parts_of(txn: Txn) -> set[int]:
    """The partitions that the transaction sends to, or settles in."""
    parts = {send.part for send in txn.sends}.union(p for _, p, _, _ in txn.settles)
    return parts.union(p for p in (txn.part, txn.locks_in) if p is not None)
