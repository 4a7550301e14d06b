"""Sessions in transactions: what a transaction sends to an entity with sessions is of one of them.

That a message there has a session, and no other partition key, holds outside of transactions, too (TXN-3).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..actions import Action
from ..clauses import clause, guard
from ..messages import Message
from ..state import Place, State, Txn, entries, find_number
from ..transactions.membership import bars, belongs
from .norm import has_sessions


@belongs
@guard("TXN-4")
def is_of_its_session(state: State, txn: Txn, action: Action) -> bool:
    """Whether a send brings in no second session. (Two in one request: KEY-7.)"""
    sessions = {message.session_id for message in action.messages} - {None}
    return not has_sessions(state.cfg) or txn.key is None or len(sessions) > 1 or sessions <= {txn.key}


@bars
@clause("TXN-4")
def may_be_of_another(state: State, txn: Txn, messages: Sequence[Message], places: Sequence[Place]) -> bool:
    """Whether these are of another session than what else the transaction sends, settles or cancels. No
    source says that a transaction settles and cancels in one session only, or in the one that it sends to."""
    if not (has_sessions(state.cfg) and state.cfg.profile.partitioned):
        return False
    sessions = {txn.key, *(message.session_id for message in messages)}
    sessions.update(state.parts[p].log[index].session for p, index in places)
    sessions.update(_touched(state, txn))
    return len(sessions - {None, ""}) > 1


def _touched(state: State, txn: Txn) -> set[str]:
    """The sessions of what the transaction settles and cancels."""
    indexes = ((p, find_number(state.parts[p], number)) for _, p, number, _ in txn.settles)
    found = {state.parts[p].log[index].session for p, index in indexes if index is not None}
    return found | {entry.session for p, entry in entries(state) if (p, entry.id) in txn.cancels}
