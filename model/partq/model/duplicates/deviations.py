"""How a broker breaks the rules on duplicates (DUP), does not take the message ID for a key (KEY-4), and
gives no ID where the application gave none (KEY-6)."""

from __future__ import annotations

from ..actions import Action
from ..departures import beyond
from ..messages import Message, effective_key, is_copy, message_id
from ..routing.norm import refusals
from ..routing.placing import key_of
from ..state import Sent, State, Txn
from ..transactions.norm import may_refuse_key
from .norm import Verdicts, copies, detects, is_dropped


@beyond(is_dropped, "DUP-1", broken=True)
def stored_or_lost(state: State, sent: Sent) -> Verdicts:
    """A duplicate is stored, or a message with an ID of before that is no duplicate is dropped."""
    return frozenset({True, False}) if is_copy(sent.id) else frozenset({False})


@beyond(is_dropped, "KEY-1", "KEY-2", "KEY-4", "ROUTE-1", "ROUTE-2", "TXN-8", broken=True)
def stored_elsewhere(state: State, sent: Sent) -> Verdicts:
    """A copy comes to another partition than the other one of its key, where nothing is known of that."""
    apart = any(other.part != sent.part for other in copies(state, sent))
    return frozenset({False}) if apart else frozenset()


@beyond(is_dropped, "KEY-6", broken=True)
def taken_for_another(state: State, sent: Sent) -> Verdicts:
    """A message that was sent without an ID has that of another one, and is dropped as its duplicate."""
    others = (other for other in state.sent if other.without_id and other.id != sent.id)
    known = sent.without_id and any(_given_key(other) == _given_key(sent) for other in others)
    return frozenset({True}) if known else frozenset()


def _given_key(sent: Sent) -> str | None:
    """Its key, where that is not its ID."""
    return None if sent.key == message_id(sent.id) else sent.key


@beyond(is_dropped, "DUP-2", broken=True)
def dropped_for_ever(state: State, sent: Sent) -> Verdicts:
    """A message is a duplicate however long ago the other one was sent."""
    known = any(other.txn is None for other in copies(state, sent))
    return frozenset({True}) if known else frozenset()


@beyond(refusals, "DUP-1", where=detects, broken=True)
def duplicate_refused(state: State, messages: tuple[Message, ...]) -> frozenset[bool]:
    """A duplicate is refused."""
    return frozenset({True}) if any(is_copy(message.id) for message in messages) else frozenset()


@beyond(may_refuse_key, "KEY-6", where=detects, broken=True)
def no_id_is_no_key(state: State, txn: Txn, action: Action) -> bool:
    """A message in a transaction is refused as it has neither a key nor an ID."""
    return any(m.without_id and key_of(state.cfg, m) == message_id(m.id) for m in action.messages)


@beyond(may_refuse_key, "KEY-4", where=detects, broken=True)
def id_is_no_key(state: State, txn: Txn, action: Action) -> bool:
    """A message in a transaction is refused as it has no other key than its ID."""
    rule = state.cfg.profile.key_rule
    return any(effective_key(m, rule) is None and key_of(state.cfg, m) for m in action.messages)
