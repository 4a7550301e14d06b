"""Duplicate detection: which of the messages that are accepted are stored, and which are dropped.

Each message that was stored is remembered by ID and key, whatever became of it (`State.sent`). Where another
one comes near the end of its window, or meets one that a transaction may still send, both are allowed. Which
copy was kept the history shows: a copy that is shown was stored, one that nothing shows was dropped, or
stored unseen. That the message ID is a key is `routing`'s business. A message that was sent without an ID is
assigned one of its own, for which its name stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..actions import Action
from ..clauses import clause, guard, point
from ..configuration import FOREVER, Config
from ..edits import with_entry, with_part, with_txn
from ..messages import Delivery, message_id, original
from ..routing.placing import key_of
from ..sequencing.entering import Kept, due_of, ends_sending, screens
from ..sequencing.norm import burn
from ..state import Pending, Sent, State, Txn, find_number, transaction

Verdicts = frozenset[bool]
"""Whether a message has to be dropped (true), has to be stored (false), or either."""

_DROPPED: Verdicts = frozenset({True})
_STORED: Verdicts = frozenset({False})
_EITHER: Verdicts = frozenset({True, False})


@clause("KEY-4")
def detects(cfg: Config) -> bool:
    """Whether the entity detects duplicates, and so takes message IDs for keys where there is no other."""
    return cfg.entity.duplicate_detection


@guard("KEY-6")
def is_own_id(cfg: Config, shown: str, before: str, taken: bool) -> bool:
    """Whether a message that was sent without an ID may be shown with this one. ``before``: the one that it
    was shown with first; ``taken``: another one of its key, sent without an ID, is shown with this one."""
    return shown != "" and shown == before and not (taken and cfg.entity.duplicate_detection)


@screens(detects)
def told_from_copies(
    state: State, action: Action, places: Sequence[int], hints: Sequence[Delivery | None]
) -> Iterator[Kept]:
    """Each way to store the messages of a send that is accepted, or to drop them as duplicates."""
    sent = [n for n, message in enumerate(action.messages) if original(message) is message]
    order = sorted(sent, key=lambda n: hints[n] is None)
    for after, stored in _told(state, action, places, hints, order):
        dropped = {action.messages[n].id for n in sent if n not in stored}
        made = (n for n, one in enumerate(action.messages) if original(one) is not one)
        kept = (n for n in made if original(action.messages[n]).id not in dropped)
        yield after, tuple(sorted((*stored, *kept)))


@clause("SEQ-4")
def _told(
    state: State,
    action: Action,
    places: Sequence[int],
    hints: Sequence[Delivery | None],
    left: Sequence[int],
    kept: tuple[int, ...] = (),
) -> Iterator[Kept]:
    """Those that are ``left``, in this order: of two in one batch either may be the duplicate. One that is
    dropped may use up a number: no source settles it."""
    if not left:
        yield state, kept
        return
    n, left = left[0], left[1:]
    message = action.messages[n]
    span = state.now - action.early, state.now + action.slack
    sent = Sent(message.id, key_of(state.cfg, message), places[n], span, action.txn, message.without_id)
    verdicts = is_dropped(state, sent)
    if True in verdicts and hints[n] is None:
        yield from _told(burn(state, places[n], "", 1), action, places, hints, left, kept)
    if False in verdicts:
        known = _known(state, sent, bool(due_of(message)))
        yield from _told(known, action, places, hints, left, (*kept, n))


def _known(state: State, sent: Sent, waits: bool) -> State:
    """The state that remembers a message which is stored now. Whether the window of a scheduled one begins
    when it is sent or when it is activated no source settles."""
    if waits:
        sent = sent._replace(at=(sent.at[0], FOREVER))
    return state._replace(sent=tuple(sorted((*state.sent, sent))))


@point("DUP-1", "DUP-2")
def is_dropped(state: State, sent: Sent) -> Verdicts:
    """Whether a message is a duplicate of one that is remembered."""
    found = {_counts(state, other, sent) for other in copies(state, sent)}
    return next((verdicts for verdicts in (_DROPPED, _EITHER) if verdicts in found), _STORED)


def copies(state: State, sent: Sent) -> Iterator[Sent]:
    """The other messages remembered under its ID and key."""
    id = message_id(sent.id)
    same = (other for other in state.sent if other.key == sent.key and other.id != sent.id)
    return (other for other in same if message_id(other.id) == id)


def _counts(state: State, other: Sent, sent: Sent) -> Verdicts:
    """What the other one means to this one, for itself. One that waits for its commit may never be stored, or
    be the second one then: whether it is a duplicate may be found out when it is sent, or at the commit."""
    cfg, window = state.cfg, state.cfg.entity.duplicate_window
    if other.txn is not None:
        return _DROPPED if other.txn == sent.txn else _EITHER
    if cfg.untimed:
        return _EITHER
    if sent.at[1] - other.at[0] < window - cfg.skew:
        return _DROPPED if sent.txn is None else _EITHER
    return _STORED if sent.at[0] - other.at[1] > window + cfg.skew + cfg.late else _EITHER


@ends_sending(detects)
def settled(state: State, txn: Txn, slack: int | None) -> Iterator[State]:
    """What a transaction sent counts from its commit on, or is a duplicate by then. After a rollback nothing
    is remembered of it."""
    if slack is None:
        yield state._replace(sent=tuple(sent for sent in state.sent if sent.txn != txn.name))
    else:
        yield from _committed(state, txn, slack, txn.sends)


def _committed(state: State, txn: Txn, slack: int, left: tuple[Pending, ...]) -> Iterator[State]:
    if not left:
        yield state
        return
    send = left[0]
    sent = next((one for one in state.sent if one.id == send.id), None)
    if sent is None:  # its ID is not remembered
        yield from _committed(state, txn, slack, left[1:])
        return
    stored = sent._replace(txn=None, at=(sent.at[0], state.now + slack))
    others = state._replace(sent=tuple(one for one in state.sent if one != sent))
    verdicts = is_dropped(others, stored)
    if False in verdicts:
        yield from _committed(_known(others, stored, bool(send.born.due)), txn, slack, left[1:])
    if True in verdicts and send.seq is None:
        yield from _committed(_without(others, txn, send.id), txn, slack, left[1:])


def _without(state: State, txn: Txn, id: str) -> State:
    """The state in which the transaction does not send that message."""
    now = transaction(state, txn.name)
    assert now is not None
    send = next(send for send in now.sends if send.id == id)
    sends = tuple(other for other in now.sends if other.id != id)
    state = with_txn(state, txn.name, now._replace(sends=sends))
    index = None if send.number is None else find_number(state.parts[send.part], send.number)
    if index is None:
        return burn(state, send.part, "", 1)
    return with_part(state, send.part, with_entry(state.parts[send.part], index, None))
