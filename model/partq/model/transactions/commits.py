"""The end of a transaction: all of it takes effect, or nothing. `norm` decides who may end it, and what is
refused before.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ..clauses import clause, guard
from ..configuration import FOREVER
from ..edits import log_of, put, with_entry, with_log, with_part, with_txn
from ..sequencing.entering import ended
from ..sequencing.norm import burn
from ..sequencing.pending import before, take
from ..settling.norm import RETURNS, apply
from ..state import Entry, Pending, State, Txn, find_number, once_visible, transaction
from ..statuses import DEFERRED, FADING, LAGGING


@clause("TXN-5", "SEQ-3")
def sent(state: State, txn: Txn, slack: int, strict: bool) -> Iterator[State]:
    """The messages visible, or about to be, all at once: visibility may lag behind the commit."""
    for begun in ended(state, txn, slack):
        left = transaction(begun, txn.name)
        assert left is not None
        yield from _sent(begun, left, slack, strict)


def _sent(state: State, txn: Txn, slack: int, strict: bool) -> Iterator[State]:
    states = [state]
    for n, send in enumerate(txn.sends):
        if send.number is None:
            ways = (s for way in states for s in (before(way, send.part, send.seq) if not strict else (way,)))
            states = [s for way in ways for s in _numbered(way, txn.name, n, strict)]
    for numbered in states:
        done = transaction(numbered, txn.name)
        assert done is not None
        if not is_in_turn(numbered, done):
            continue
        after = numbered
        for send in done.sends:
            after = _revealed(after, send, txn.name, slack)
        yield after


def _numbered(state: State, name: str, n: int, strict: bool) -> Iterator[State]:
    txn = transaction(state, name)
    assert txn is not None
    return take(state, name, n, strict) if txn.sends[n].number is None else iter((state,))


@guard("SEQ-3")
def is_in_turn(state: State, txn: Txn) -> bool:
    """Whether what is shown with a number got it after what was sent before it."""
    pairs = combinations(txn.sends, 2)
    shown = (pair for pair in pairs if pair[1].seq is not None and pair[0].part == pair[1].part)
    return all((one.number or 0) < (other.number or 0) for one, other in shown)


def _revealed(state: State, send: Pending, name: str, slack: int) -> State:
    assert send.number is not None
    p, index = send.part, find_number(state.parts[send.part], send.number)
    assert index is not None
    entry = state.parts[p].log[index]
    at = entry.at and (entry.at[0], max(entry.at[0], min(entry.at[1], state.now + slack)))
    since = FOREVER if entry.due or entry.session else state.now if state.cfg.hindsight else 0
    if not state.cfg.lag:
        return put(state, p, index, entry._replace(status=once_visible(entry), at=at, since=since))
    return put(state, p, index, entry._replace(status=LAGGING, at=at, since=since, group=name))


def settled(state: State, txn: Txn) -> State:
    for op, p, number, token in txn.settles:
        index = find_number(state.parts[p], number)
        if index is not None:
            entry = state.parts[p].log[index]
            if op != RETURNS or (entry.lock is not None and entry.lock.token == token):
                state = apply(state, op, [(p, index)])
                if state.cfg.fading and op != RETURNS:
                    state = _shown_still(state, p, number, entry._replace(group=txn.name))
    return state


@clause("TXN-5")
def _shown_still(state: State, p: int, number: int, before: Entry) -> State:
    """The state in which peeks may show a message as it was before the commit."""
    part, index = state.parts[p], find_number(state.parts[p], number)
    if index is not None and part.log[index].status == DEFERRED:
        return put(state, p, index, part.log[index]._replace(group=before.group))
    faded = before._replace(status=FADING, lock=None)
    return with_part(state, p, with_log(part, log_of((*part.log, faded))))


@clause("TXN-5", "SEQ-4")
def rolled_back(state: State, txn: Txn) -> State:
    """The state without the transaction: nothing of it is stored, its locks are free to be used again."""
    state = next(ended(state, txn, None))
    for send in txn.sends:
        p, number = send.part, send.number
        index = None if number is None else find_number(state.parts[p], number)
        if index is None:
            state = burn(state, p, "", 1)
        else:
            state = with_part(state, p, with_entry(state.parts[p], index, None))
    for _, p, number, token in txn.settles:
        index = find_number(state.parts[p], number)
        entry = None if index is None else state.parts[p].log[index]
        if index is not None and entry is not None and entry.lock and entry.lock.token == token:
            state = put(state, p, index, entry._replace(lock=entry.lock._replace(txn=None)))
    return with_txn(state, txn.name, None)
