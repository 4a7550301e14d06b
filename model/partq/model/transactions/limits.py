"""How long a transaction may be idle, and how many messages it may have (TXN-9)."""

from __future__ import annotations

from ..actions import FULL, INVALID, Action
from ..clauses import clause, guard
from ..messages import is_made, sent_of
from ..state import State, Txn, transaction
from .commits import rolled_back


def idled(state: State, action: Action) -> State:
    """The state in which every transaction that has lasted for its time limit may be rolled back (by the
    sources that limits idleness, or runs from the beginning); and the operation's own is, if that certainly
    was idle for longer."""
    txn = transaction(state, action.txn)
    if txn is not None and not lasts(state, action):
        state = rolled_back(state, txn)
    oldest = state.now + action.slack - state.cfg.entity.transaction_timeout
    if state.cfg.untimed or all(txn.tainted or txn.begun > oldest for txn in state.txns):
        return state
    return state._replace(txns=tuple(t._replace(tainted=t.tainted or t.begun <= oldest) for t in state.txns))


@guard("TXN-9")
def lasts(state: State, action: Action) -> bool:
    """Whether the operation's transaction may not have been idle for too long."""
    return not is_overdue(state, action)


def is_overdue(state: State, action: Action) -> bool:
    """Whether it certainly was."""
    return action.idle > state.cfg.entity.transaction_timeout + state.cfg.late


@guard("TXN-9")
def has_room(state: State, txn: Txn, action: Action) -> bool:
    """Whether the transaction may send these messages, too."""
    before = sum(not is_made(send.id) for send in txn.sends)
    return before + len(sent_of(action.messages)) <= state.cfg.entity.max_transaction_messages


@clause("TXN-9")
def fullness(state: State, txn: Txn, action: Action) -> frozenset[str]:
    """The kinds of error of an operation in a transaction that may be full. No source says whether what it
    settles and cancels counts, too."""
    full = action.taken > state.cfg.entity.max_transaction_messages or not has_room(state, txn, action)
    return INVALID | FULL if full else frozenset()
