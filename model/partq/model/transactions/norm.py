"""Transactions: sends and settlements that happen together at the commit, or not at all.

A transaction is coordinated by one partition, which its key names. Until its end nothing of it is visible;
when its messages get their numbers, at the send or at the commit, is the broker's choice. What a single send
may be refused for is `routing`'s business; commit and rollback are in `ending`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..actions import BROKEN_TXN, BURY, INVALID, LOST, NOWHERE, OK, REFUSED, Action, Answer, Observed, failure
from ..clauses import clause, point
from ..edits import put, with_txn
from ..messages import Delivery
from ..operations import DELIVERIES, SETTLEMENTS, UNAVAILABLE, Outcome
from ..routing.norm import failed, hints_of, in_order, of_send, refusals, rejected
from ..routing.placing import key_of, placements
from ..scheduling import norm as scheduling
from ..sequencing.entering import kept, reserved
from ..sequencing.pending import take
from ..settling.norm import held, held_of, lock_at, lost
from ..state import Pending, Place, State, Steps, Txn, find_number, is_up, key_partition, transaction
from .commits import rolled_back
from .ending import commit, ended, of_open, rollback, tainted
from .limits import fullness, has_room, idled
from .membership import may_bar, may_take


def begin(state: State, action: Action, seen: Observed | None) -> Steps:
    """Open a transaction under a new name, or under that of one that the broker may have rolled back."""
    state = idled(state, action)
    known = transaction(state, action.txn)
    if seen is not None and known is not None and known.tainted:
        state = rolled_back(state, known)
    if not state.cfg.profile.transactions:
        yield failure(REFUSED), state
    elif action.txn is None or transaction(state, action.txn) is not None:
        yield failure(INVALID), state
    else:
        begun = 0 if state.cfg.untimed else state.now - action.early
        yield OK, with_txn(state, action.txn, Txn(action.txn, action.proc, begun=begun))


@point("TXN-1", "TXN-2", "TXN-5", "TXN-10")
def send(state: State, action: Action, seen: Observed | None) -> Steps:
    """Send in a transaction: refused at once, or enlisted."""
    state = idled(state, action)
    txn = transaction(state, action.txn)
    anywhere = action.only in (None, NOWHERE)
    if txn is None:
        succeeded = seen is not None and seen.status == Outcome.OK  # wherever it would have been stored
        yield from ended(state, action, seen) if anywhere or succeeded else ()
        return
    refused = failed(tainted(state, txn), action.messages)
    if txn.tainted and anywhere:
        yield failure(BROKEN_TXN), refused
    if is_unfit(state, action):
        yield from ((failure(INVALID), refused),) if anywhere else ()
        if anywhere if seen is None else seen.status == Outcome.OK:  # found out at the commit
            yield OK, doomed(state, txn)
        if not may_be_enlisted(state, action):
            return
    if anywhere and (
        True in refusals(state, action.messages)
        or may_refuse_key(state, txn, action)
        or may_bar(state, txn, action.messages)
    ):
        yield failure(INVALID), refused
    if anywhere and (full := fullness(state, txn, action)):
        yield failure(full), refused
    yield from _answered(state, txn, action, seen)


def _answered(state: State, txn: Txn, action: Action, seen: Observed | None) -> Steps:
    """A send that fits is refused as things are, or enlisted."""
    if seen is None or seen.status == Outcome.ERROR:
        for answer, after in rejected(state, action):
            yield answer, tainted(after, txn)
    ok = seen is None or seen.status == Outcome.OK
    if ok and has_room(state, txn, action) and may_take(state, txn, action):
        for after in _enlisted(state, txn, action, seen):
            yield OK, after


@clause("TXN-1", "KEY-3", "KEY-7")
def is_unfit(state: State, action: Action) -> bool:
    """Whether a send may be refused as no part of any transaction: for its keys, or as it has none."""
    verdicts = refusals(state, action.messages)
    if not state.cfg.profile.partitioned:
        return False not in verdicts
    return True in verdicts or any(key_of(state.cfg, m) is None for m in action.messages)


@point("TXN-1", "KEY-3", "KEY-7")
def may_be_enlisted(state: State, action: Action) -> bool:
    """Whether a send may be part of a transaction."""
    keyless = any(key_of(state.cfg, m) is None for m in action.messages)
    fits = not (keyless and state.cfg.profile.partitioned) or takes_keyless(state)
    return fits and False in refusals(state, action.messages)


@point("TXN-1", "KEY-5")
def takes_keyless(state: State) -> bool:
    """Whether a message without a key may be part of a transaction."""
    return False


def is_second(txn: Txn, keys: set[str | None]) -> bool:
    """Whether these keys are others than the one of the transaction, or more than one."""
    return keys != {txn.key} if txn.key is not None else len(keys) > 1


def doomed(state: State, txn: Txn) -> State:
    """The state in which the transaction will not be committed."""
    return with_txn(state, txn.name, txn._replace(tainted=True, doomed=True))


@point("TXN-2", "TXN-8")
def may_refuse_key(state: State, txn: Txn, action: Action) -> bool:
    """Whether a key may be refused: it is a second one (even if both live in one partition), or it lives in
    another partition than the messages that the transaction settles, or cancels (no source settles that)."""
    if not state.cfg.profile.partitioned:
        return False
    keys = {key_of(state.cfg, m) for m in action.messages}
    if txn.key is not None:
        return keys != {txn.key}
    tied = {p for p, _ in txn.cancels}.union(() if txn.locks_in is None else (txn.locks_in,))
    return bool(tied) and any(key and {key_partition(state, key)} != tied for key in keys)


@clause("TXN-2", "TXN-8", "ROUTE-1")
def _enlisted(state: State, txn: Txn, action: Action, seen: Observed | None) -> Iterator[State]:
    """The states after these sends were enlisted. A second key must live in the partition of the first."""
    hints = hints_of(state, action, seen)
    for placed, places in placements(state, action, hints, seen is None):
        p = txn.part if txn.part is not None else places[0]
        if set(places) != {p} and state.cfg.profile.partitioned and not may_leave(state, txn, action):
            continue
        key = txn.key if txn.key is not None else key_of(state.cfg, action.messages[0])
        for after, stored in kept(placed, action, places, hints):
            one = of_send(stored, action, places, hints)
            yield _pending(after, txn._replace(part=p, key=key), *one)


@point("TXN-1", "TXN-2")
def may_leave(state: State, txn: Txn, action: Action) -> bool:
    """Whether a send may be stored in another partition than that of its transaction."""
    return False


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
        Pending(message.id, places[n], None, since, hint and hint.seq, reserved(state.cfg, message))
        for n, hint in (*known, *others)
        for message in (action.messages[n],)
    )
    return with_txn(state, txn.name, txn._replace(sends=txn.sends + sends))


@point("TXN-5", "TXN-7", "RCV-2", "RCV-6", "RCV-8")
@of_open
def settle(state: State, txn: Txn, action: Action, seen: Observed | None) -> Steps:
    """Settle in a transaction: refused at once, or enlisted, the locks being held until its end."""
    state, places = settling(state, txn, action, seen)
    kinds = _settle_refusals(state, txn, action, places) | fullness(state, txn, action)
    if kinds:
        yield failure(kinds), tainted(state, txn)
    for place in places if seen is not None and seen.status == Outcome.ERROR else ():
        for after in lost(state, place, state.now + action.slack):
            yield failure(LOST), tainted(after, txn)
    if len(places) == len(action.locks) and may_enlist(state, txn, places):
        yield OK, enlisted_locks(state, txn, action, places)


def settling(state: State, txn: Txn, action: Action, seen: Observed | None) -> tuple[State, list[Place]]:
    """The state before a settlement that was accepted, if it was, and the places of the locks that hold."""
    if seen is not None and seen.status == Outcome.OK:
        state = _released(state, txn, action)
    return state, held_of(held(state, action))


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
def _settle_refusals(state: State, txn: Txn, action: Action, places: list[Place]) -> frozenset[str]:
    """The kinds of error that a settlement in a transaction may have, as things are."""
    kinds: frozenset[str] = frozenset()
    parts = {p for p, _ in places}
    if len(places) < len(action.locks) or any(lock_at(state, place).txn for place in places):
        kinds |= LOST
    cancelled = {p for p, _ in txn.cancels}
    if state.cfg.profile.partitioned and len(parts | cancelled | {txn.locks_in, txn.part} - {None}) > 1:
        kinds |= INVALID
    if may_bar(state, txn, (), places):
        kinds |= INVALID
    if any(not is_up(state, p) for p in parts) or (state.down and len(places) < len(action.locks)):
        kinds |= UNAVAILABLE
    return kinds | BROKEN_TXN if txn.tainted else kinds


@point("TXN-7", "RCV-14")
def takes_locks(state: State, txn: Txn, places: list[Place]) -> bool:
    """Whether these locks are all in one partition, that of those that the transaction settles already."""
    return fits(txn, places)


def fits(txn: Txn, places: list[Place]) -> bool:
    """The same by where they are."""
    parts = {p for p, _ in places}
    return len(parts) == 1 and txn.locks_in in (None, *parts)


@clause("TXN-7", "RCV-14")
def may_enlist(state: State, txn: Txn, places: list[Place]) -> bool:
    """Whether these settlements can be part of the transaction. That it also sends to another partition than
    the one it settles in, or settles by a lock once more, is not settled by any source: allowed."""
    return (
        takes_locks(state, txn, places)
        and (state.cfg.serving or all(is_up(state, p) for p, _ in places))
        and all(lock_at(state, place).txn in (None, txn.name) for place in places)
    )


@clause("TXN-5")
def enlisted_locks(state: State, txn: Txn, action: Action, places: list[Place]) -> State:
    """The state in which these messages are settled at the end of the transaction: so no fault before has
    ended their locks."""
    settles = list(txn.settles)
    for p, index in places:
        entry = state.parts[p].log[index]
        lock = lock_at(state, (p, index))
        token = next(token for token in action.locks if token == lock.token or token in lock.rivals)
        settled = (action.op, p, entry.number, token)
        if settled not in settles:
            settles.append(settled)
        held = entry._replace(lock=lock._replace(txn=txn.name, shaken=False), upsets=0)
        state = put(state, p, index, held)
    first = places[0][0] if txn.locks_in is None else txn.locks_in
    return with_txn(state, txn.name, txn._replace(locks_in=first, settles=tuple(settles)))


@point("TXN-5", "TXN-10")
@of_open
def cancel(state: State, txn: Txn, action: Action, seen: Observed | None) -> Steps:
    """Cancel a scheduled message in a transaction: refused at once, or enlisted. Whether it may be in another
    partition than the rest is not settled by any source."""
    place = scheduling.waiting(state, action)
    kinds = scheduling.refusals(state, place, action) | (BROKEN_TXN if txn.tainted else frozenset())
    kinds |= fullness(state, txn, action)
    elsewhere = {txn.part, txn.locks_in, *(p for p, _ in txn.cancels)} - {None}
    if place is not None and (elsewhere - {place[0]} or may_bar(state, txn, (), (place,))):
        kinds |= INVALID
    if kinds:
        yield failure(kinds), tainted(state, txn)
    if place is not None:
        cancels = (*txn.cancels, *((place[0], id) for id in action.about))
        yield OK, with_txn(state, txn.name, txn._replace(cancels=cancels))
    elif scheduling.was_cancelled(state, action):
        yield OK, state


def received(before: State, action: Action, answer: Answer, after: State) -> State:
    """The state after a delivery, or a move to the dead-letter queue: what was delivered again, or moved, no
    open transaction settles."""
    for txn in after.txns if answer.messages or action.op == BURY else ():
        if not txn.outlived and _is_outlived(before, after, txn):
            after = with_txn(after, txn.name, txn._replace(outlived=True))
    return after


def _is_outlived(before: State, after: State, txn: Txn) -> bool:
    """Whether a message that the transaction settles has another lock now, or has left the queue."""
    for _, p, number, token in txn.settles:
        was, now = before.parts[p], after.parts[p]
        if now is not was and find_number(was, number) is not None:
            index = find_number(now, number)
            lock = None if index is None else now.log[index].lock
            if index is None or (lock is not None and lock.token not in (None, token)):
                return True
    return False


def moves(state: State) -> list[Action]:
    """The broker may number what waits for a commit, and roll back a transaction that a fault or a failed
    operation hit, or that was idle for too long."""
    state = idled(state, Action("forget"))
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
    state = idled(state, action)
    txn = transaction(state, action.txn)
    if txn is not None and txn.tainted:
        yield OK, rolled_back(state, txn)


CLIENT_OPS: Final = {"begin": begin, "commit": commit, "rollback": rollback}
"""What clients ask for."""

IN_TRANSACTION: Final = {
    **dict.fromkeys(("send", "send_batch"), send),
    "schedule": scheduling.numbered(send),
    "cancel_scheduled": cancel,
    **dict.fromkeys(SETTLEMENTS, settle),
}
"""What joins a transaction."""

AFTERWARDS: Final = dict.fromkeys((*DELIVERIES, BURY), received)
"""What deliveries, and moves to the dead-letter queue, mean to open transactions."""

BROKER_OPS: Final = {"forget": forget, "number": number}
"""The broker's own moves on transactions."""
