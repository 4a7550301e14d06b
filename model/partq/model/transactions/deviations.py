"""How a broker breaks the rules on transactions (TXN)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ..actions import BROKEN_TXN, INVALID, LOST, OK, Action, Observed, failure
from ..configuration import NARROWLY
from ..departures import beyond
from ..edits import put, with_log, with_part, with_txn
from ..hooks import Hook
from ..locks import norm as locks
from ..locks.norm import returned
from ..messages import conflicting
from ..operations import Outcome
from ..routing.deviations import PINNING, keys_in, stored_by_refusals, unpinned, withheld
from ..scheduling import norm as scheduling
from ..settling.deviations import whose
from ..settling.norm import REMOVES, RETURNS, apply, held, held_of, lost, settled
from ..state import LATE, Entry, Pending, Place, State, Steps, Txn, find_number, transaction
from . import norm
from .commits import rolled_back, sent
from .ending import commit, ended, rollback, tainted
from .limits import idled, is_overdue, lasts

Breaches = Callable[[State, Txn, Action], bool]

breaches: Final = Hook[Breaches]()
"""Mark what says that a send breaks a waived rule of another mechanism on what a transaction sends."""


def _is_breach(state: State, txn: Txn, action: Action) -> bool:
    return any(breaks(state, txn, action) for breaks in breaches)


def _shown(action: Action, seen: Observed | None) -> set[str]:
    """The messages sent that the history shows."""
    return set() if seen is None else {d.id for d in seen.messages if action.messages}


@beyond(ended, "TXN-10", "RCV-1", "KEY-7", broken=True)
def refused_and_stored(state: State, action: Action, seen: Observed | None) -> Steps:
    """In a transaction that is over a send is refused, and stored all the same."""
    shown = _shown(action, seen)
    if shown and seen is not None and seen.status == Outcome.ERROR:
        if state.breaks("TXN-10") or stored_by_refusals(state, action, seen):
            yield failure(BROKEN_TXN), withheld(state, shown)


@beyond(ended, "TXN-10")
def done_outside(state: State, action: Action, seen: Observed | None) -> Steps:
    """In a transaction that is over what is asked is done outside of it, or not at all. (Where its time ended
    it is TXN-9 that is broken.)"""
    if lasts(state, action):
        yield from _outside(state, action, seen)


@beyond(commit, "TXN-9", broken=True)
@beyond(rollback, "TXN-9", broken=True)
@beyond(norm.settle, "TXN-9", broken=True)
@beyond(norm.send, "TXN-9", broken=True)
def done_outside_in_the_end(state: State, action: Action, seen: Observed | None) -> Steps:
    """The same after a transaction was rolled back, as it was idle for too long."""
    txn = transaction(state, action.txn)
    if txn is not None and is_overdue(state, action):
        yield from _outside(rolled_back(state, txn), action, seen)


def _outside(state: State, action: Action, seen: Observed | None) -> Steps:
    yield OK, withheld(state, _shown(action, seen))
    places = held_of(held(state, action))
    if action.locks and len(places) == len(action.locks):
        yield OK, apply(state, action.op, places)


@beyond(norm.cancel, "TXN-5", broken=True)
def cancelled_before_the_commit(state: State, action: Action, seen: Observed | None) -> Steps:
    """What a transaction cancels is gone at once, whatever becomes of the transaction."""
    place = scheduling.waiting(state, action)
    if transaction(state, action.txn) is not None and place is not None:
        yield from ((OK, after) for after in scheduling.withdrawn(state, place, action.slack))


# Sending


@beyond(norm.takes_keyless, "TXN-1", "KEY-5")
def keyless_taken(state: State) -> bool:
    """A keyless message is part of a transaction (TXN-1), or its ID is taken for a key (KEY-5)."""
    return True


@beyond(norm.send, "TXN-1", "TXN-2", "TXN-3", "TXN-4", "KEY-3", "KEY-7", "RCV-1", broken=True)
def refused_and_done(state: State, action: Action, seen: Observed | None) -> Steps:
    """A send that has to be refused is, and what the history shows of it is stored at once or at any later
    time."""
    state, txn = _open(state, action)
    if txn is None or seen is None or seen.status != Outcome.ERROR or not seen.messages:
        return
    keys, kinds = keys_in(state, action), stored_by_refusals(state, action, seen)
    if (
        (None in keys and state.breaks("TXN-1"))
        or (norm.is_second(txn, keys) and state.breaks("TXN-2"))
        or (any(map(conflicting, action.messages)) and state.breaks("KEY-3"))
        or (len(keys) > 1 and state.breaks("KEY-7"))
        or _is_breach(state, txn, action)
    ):
        kinds |= INVALID
    if kinds:
        yield failure(kinds), withheld(tainted(state, txn), _shown(action, seen))


def _open(state: State, action: Action) -> tuple[State, Txn | None]:
    state = idled(state, action)
    return state, transaction(state, action.txn)


def _accepting(state: State, action: Action, seen: Observed | None) -> tuple[State, Txn | None]:
    """The state and the transaction if it may take the send, as an answer that is ok."""
    state, txn = _open(state, action)
    if seen is not None and seen.status != Outcome.OK:
        return state, None
    fits = not norm.is_unfit(state, action) or norm.may_be_enlisted(state, action)
    return state, txn if fits else None


@beyond(norm.send, "TXN-1", "TXN-2", "TXN-3", "TXN-4", "TXN-5", broken=True)
def done_apart(state: State, action: Action, seen: Observed | None) -> Steps:
    """A send takes effect outside its transaction."""
    state, txn = _accepting(state, action, seen)
    if txn is None or seen is None or not seen.messages:
        return
    keys = keys_in(state, action)
    if (
        state.breaks("TXN-5")
        or (norm.is_second(txn, keys) and state.breaks("TXN-2"))
        or (None in keys and state.breaks("TXN-1"))
        or _is_breach(state, txn, action)
    ):
        yield OK, withheld(state, _shown(action, seen))


@beyond(norm.send, "TXN-2", "TXN-4", broken=True)
def second_key_found_out(state: State, action: Action, seen: Observed | None) -> Steps:
    """A second key is found out at the commit."""
    state, txn = _accepting(state, action, seen)
    if txn is None:
        return
    second = norm.is_second(txn, keys_in(state, action)) and state.breaks("TXN-2")
    if second or _is_breach(state, txn, action):
        yield OK, norm.doomed(state, txn)


@beyond(norm.send, "TXN-1", "TXN-2", "TXN-3", "TXN-4", "KEY-5", broken=True)
def never_done(state: State, action: Action, seen: Observed | None) -> Steps:
    """A send that has to be refused is answered ok and never done."""
    state, txn = _accepting(state, action, seen)
    if txn is None or seen is None or seen.messages or not state.cfg.profile.partitioned:
        return
    keys = keys_in(state, action)
    second = norm.is_second(txn, keys) and not state.forbids("TXN-2")
    if second or (None in keys and norm.takes_keyless(state)) or _is_breach(state, txn, action):
        yield OK, state


@beyond(norm.may_refuse_key, *PINNING, where=lambda cfg: not cfg.pinned)
def unpinned_refused(state: State, txn: Txn, action: Action) -> bool:
    """A key that does not say where it lives may live elsewhere than what the transaction settles."""
    apart = state.cfg.profile.partitioned and txn.key is None and txn.locks_in is not None
    return apart and any(unpinned(state, action, m) for m in action.messages)


@beyond(norm.may_refuse_key, "TXN-1", broken=True)
def first_key_refused(state: State, txn: Txn, action: Action) -> bool:
    """The first key after a message without one is refused as a second one is."""
    return bool(txn.sends) and txn.key is None


@beyond(
    norm.may_leave, "TXN-1", "TXN-2", "TXN-3", "TXN-4", "KEY-5", "KEY-7", "ROUTE-5", *PINNING, broken=True
)
def leaves(state: State, txn: Txn, action: Action) -> bool:
    """A send does not go where its transaction is: it has another key, or none, or keys say nothing."""
    keys = keys_in(state, action)
    return (
        (norm.is_second(txn, keys) and state.breaks("TXN-2"))
        or (len(keys) > 1 and state.breaks("KEY-7"))
        or (None in keys and norm.takes_keyless(state))
        or _is_breach(state, txn, action)
        or state.breaks("ROUTE-5")
        or state.breaks("ROUTE-1")
        or any(unpinned(state, action, m) for m in action.messages)
    )


# Settling


@beyond(norm.takes_locks, "TXN-7")
def any_taken(state: State, txn: Txn, places: list[Place]) -> bool:
    """A transaction settles locks of any partition."""
    return True


@beyond(norm.takes_locks, "RCV-14")
def several_taken(state: State, txn: Txn, places: list[Place]) -> bool:
    """Locks of several partitions are settled in one request."""
    return len({p for p, _ in places}) > 1


@beyond(norm.settle, "TXN-5")
def settled_at_once(state: State, action: Action, seen: Observed | None) -> Steps:
    """Locks do not wait for the end of their transaction: they settle, or end, at once."""
    state, txn = _open(state, action)
    if txn is None:
        return
    state, places = norm.settling(state, txn, action, seen)
    if len(places) == len(action.locks) and norm.may_enlist(state, txn, places):
        yield OK, apply(state, action.op, places)
        if _may_end_otherwise(state, action.op):
            yield OK, _let_go(norm.enlisted_locks(state, txn, action, places), places)


def _may_end_otherwise(state: State, op: str) -> bool:
    """Whether the lock may end without being settled so: narrowly not where that sets the message aside, as
    it is no matter of transactions what becomes of it."""
    return op in (REMOVES, RETURNS) or NARROWLY not in state.cfg.waived


def _let_go(state: State, places: list[Place]) -> State:
    """The state in which locks that a transaction settles do not wait for its end."""
    for p, index in places:
        entry = state.parts[p].log[index]
        state = put(state, p, index, returned(state, entry, entry.tries, state.now))
    return state


@beyond(norm.settle, "RCV-2", "RCV-6", "RCV-9", "PEEK-6", "TXN-7", broken=True)
def refused_though_held(state: State, action: Action, seen: Observed | None) -> Steps:
    """A lock that holds is refused, having been lost with its message (RCV-2) or without (RCV-6); one in a
    second partition is refused, and settles all the same (TXN-7)."""
    state, txn = _open(state, action)
    if txn is None or seen is None or seen.status != Outcome.ERROR:
        return
    state, places = norm.settling(state, txn, action, seen)
    for place in places:
        for after in lost(state, place, state.now + action.slack):
            yield failure(LOST), tainted(after, txn)
    if places and not state.forbids("RCV-6"):
        yield failure(LOST), tainted(state, txn)
    if places and not norm.fits(txn, places) and not state.forbids("TXN-7"):
        yield failure(INVALID | LOST), norm.enlisted_locks(state, txn, action, places)
        yield failure(INVALID | LOST), apply(state, action.op, places)


@beyond(norm.settle, "TXN-7", "RCV-8", broken=True)
def accepted_though_lost(state: State, action: Action, seen: Observed | None) -> Steps:
    """A lock that is lost settles, or is said to (RCV-8); one in a second partition is found out at the
    commit, or its settlement is never done (TXN-7)."""
    state, txn = _open(state, action)
    if txn is None or seen is None or seen.status == Outcome.ERROR:
        return
    state, places = norm.settling(state, txn, action, seen)
    if len(places) == len(action.locks):
        if not norm.fits(txn, places) and not state.forbids("TXN-7"):
            yield OK, norm.doomed(state, txn)
            yield OK, state
    elif not state.forbids("RCV-8"):
        yield OK, norm.enlisted_locks(state, txn, action, places) if places else state
        meant = {whose(state, token) for token in action.locks}
        yield OK, apply(state, "complete", sorted(place for place in meant if place is not None))


# The end


@beyond(commit, "TXN-5")
def committed_in_part(state: State, action: Action, seen: Observed | None) -> Steps:
    """A commit does any part of it, whatever is answered."""
    state, txn = _open(state, action)
    for after in in_part(state, txn, action.slack, True) if txn is not None else ():
        yield OK, after
        yield failure(BROKEN_TXN), after


@beyond(rollback, "TXN-5")
def rolled_back_in_part(state: State, action: Action, seen: Observed | None) -> Steps:
    """A rollback does any part of it all the same."""
    state, txn = _open(state, action)
    if txn is not None:
        yield from ((OK, after) for after in in_part(state, txn, action.slack))


def in_part(state: State, txn: Txn, slack: int, commit: bool = False) -> Iterator[State]:
    """The states after any part of a transaction happened, at its ``commit`` or otherwise: what it sent is
    stored, or just what the history shows of it, or nothing, each message visible by itself; and any of its
    settlements is done, at once or later, not done, or has ended its lock."""
    shown = tuple(send for send in txn.sends if send.seq is not None or send.number is not None)
    for sends in dict.fromkeys((txn.sends, shown, ())):
        kept = txn._replace(sends=sends)
        base = rolled_back(
            state, txn._replace(sends=tuple(s for s in txn.sends if s not in sends), settles=())
        )
        stored = sent(with_txn(base, txn.name, kept), kept, slack, False) if sends else (base,)
        for after in stored:
            yield from _settled_in_part(_apart(with_txn(after, txn.name, None), sends), txn.settles, commit)


def _apart(state: State, sends: tuple[Pending, ...]) -> State:
    """The state in which these messages become visible each by itself."""
    ids = {send.id for send in sends}
    for p, part in enumerate(state.parts):
        if any(entry.id in ids and entry.group is not None for entry in part.log):
            log = (e._replace(group=f"{e.group}/{e.id}") if e.group and e.id in ids else e for e in part.log)
            state = with_part(state, p, with_log(part, tuple(log)))
    return state


@beyond(locks.ended, "TXN-5", broken=True)
def settled_late(state: State, entry: Entry, reach: int) -> list[Entry | None]:
    """A transaction that is committed settles by the lock at any time while that holds."""
    lock = entry.lock
    if lock is None or lock.txn is None or not lock.txn.startswith(LATE):
        return []
    return [settled(state, lock.txn.removeprefix(LATE), entry)]


def _settled_in_part(
    state: State, settles: tuple[tuple[str, int, int, str], ...], commit: bool
) -> Iterator[State]:
    if not settles:
        yield state
        return
    (op, p, number, token), rest = settles[0], settles[1:]
    index = find_number(state.parts[p], number)
    lock = None if index is None else state.parts[p].log[index].lock
    ways = [state]
    if index is not None and lock is not None and lock.token == token:
        entry = state.parts[p].log[index]
        ways = [
            apply(state, op, [(p, index)]),
            put(state, p, index, entry._replace(lock=lock._replace(txn=None))),
            put(state, p, index, entry._replace(lock=lock._replace(txn=LATE + op))),
        ]
        if not commit or _may_end_otherwise(state, op):
            ways.append(put(state, p, index, returned(state, entry, entry.tries, state.now)))
            if op != RETURNS:
                ways.append(apply(state, RETURNS, [(p, index)]))
    elif index is not None and op != RETURNS:
        ways.append(apply(state, op, [(p, index)]))
    for way in ways:
        yield from _settled_in_part(way, rest, commit)
