"""Messages that wait for a commit, and when they get their numbers: any time from their send to the commit.

`take` numbers one of them, which is a move of the broker (`transactions`). Where an observed number is to be
explained nothing is decided early: `before` has those numbered whose numbers a later message leaves out. What
a transaction is, and what becomes visible at its end, is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..clauses import clause, guard
from ..configuration import FOREVER
from ..edits import with_part, with_txn
from ..state import State, Txn, transaction
from .norm import assign, counter_of, entered, stamp

Waiting = tuple[str, int, int | None]
"""A message without a number: its transaction, its place there, and the number that it is shown with."""


@clause("SEQ-3", "SEQ-4", "TXN-5")
def take(state: State, name: str, n: int, strict: bool) -> Iterator[State]:
    """The states after this message of an open transaction got a number; nobody sees it yet. Those of one
    transaction are numbered in the order of their sends."""
    txn = transaction(state, name)
    assert txn is not None
    send = txn.sends[n]
    if not is_next(state, txn, n):
        return
    for number, part, after in assign(state, send.part, send.seq, strict):
        at = None if send.born.due else stamp(state, part, FOREVER, send.since)
        entry = send.born._replace(number=number, at=at)
        sends = (*txn.sends[:n], send._replace(number=number, since=0), *txn.sends[n + 1 :])
        stored = with_part(after, send.part, entered(part, entry))
        yield with_txn(stored, name, txn._replace(sends=sends))


@guard("SEQ-3")
def is_next(state: State, txn: Txn, n: int) -> bool:
    """Whether of the messages that are shown with numbers none that was sent earlier waits for its own."""
    earlier = (send.number is None and send.seq is not None for send in txn.sends[:n])
    return txn.sends[n].seq is None or not any(earlier)


@clause("SEQ-3", "SEQ-4", "TXN-5")
def before(state: State, p: int, seq: int | None, least: str = "") -> Iterator[State]:
    """The states before a message gets its number, shown as ``seq``: as it is, and with messages of open
    transactions numbered before it. Those that are shown go by their numbers. How many of the others, out of
    transactions from the one called ``least`` on, is free as long as there is room."""
    waiting = _waiting(state, p)
    room, ahead = _ahead(state, p, seq, waiting) if waiting else (0, [])
    if not room:
        yield state
        return
    if not ahead or (seq is None and state.parts[p].base is None):
        yield state
    if ahead:
        _, name, n = max(ahead)
        for after in take(state, name, n, False):
            yield from before(after, p, seq, least)
    unseen = {name: n for name, n, shown in reversed(waiting) if shown is None and name >= least}
    for name in sorted(unseen) if seq is not None else ():
        for after in take(state, name, unseen[name], False):
            yield from before(after, p, seq, name)


def _waiting(state: State, p: int) -> list[Waiting]:
    if not state.cfg.early:
        return []
    return [
        (txn.name, n, send.seq)
        for txn in state.txns
        for n, send in enumerate(txn.sends)
        if send.number is None and send.part == p
    ]


def _ahead(
    state: State, p: int, seq: int | None, waiting: list[Waiting]
) -> tuple[int, list[tuple[int, str, int]]]:
    """How many numbers are left out before the message shown as ``seq``, at most; and of the waiting
    messages those that are shown with one of these: (how far before it, transaction, place there)."""
    part, size = state.parts[p], 1 << state.cfg.bits
    counters = [(counter_of(state.cfg, shown), name, n) for name, n, shown in waiting if shown is not None]
    if seq is not None:
        counter = counter_of(state.cfg, seq)
    elif part.base is not None:
        counter = part.base + part.next + 1  # what is never shown must not take a number that is
    else:
        counter = counters[0][0] + size // 4 if counters else 0
    room = size // 2 if part.base is None else (counter - part.base - part.next) % size
    if room > size // 2:
        return 0, []
    leads = (((counter - one) % size, name, n) for one, name, n in counters)
    return room, [lead for lead in leads if 0 < lead[0] <= room]
