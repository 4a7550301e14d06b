"""Scheduling, cancelling, and the broker's own move by which a scheduled message is activated.

A message that is cancelled while it is due may still be activated (SCH-5): it is `WITHDRAWN`, until what is
shown decides. Which birth an argument names (`Action.about`) is for the reader of a history to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ..actions import ACTIVATE, NOWHERE, OK, Action, Observed, failure
from ..clauses import clause, point
from ..configuration import FOREVER
from ..edits import appeared, put
from ..messages import Delivery, Message, as_active
from ..operations import UNAVAILABLE, Outcome
from ..routing.norm import hints_of, send, store
from ..sequencing.entering import has_come, is_due
from ..sequencing.norm import shown_seq
from ..state import Entry, Place, State, Steps, entries, is_up
from ..statuses import FADING, LAGGING, OVERDUE, SCHEDULED, WITHDRAWN

Mechanism = Callable[[State, Action, Observed | None], Steps]

UNKNOWN_NUMBER: Final = frozenset({"not_found", "invalid_operation"})
"""The errors for a number that is no scheduled message's. No source specifies the kind."""

_CANCELLED: Final = frozenset({SCHEDULED, LAGGING})
_GONE: Final = frozenset({WITHDRAWN, FADING})
_WAITING: Final = frozenset({SCHEDULED, OVERDUE}) | _GONE


@clause("SCH-2")
def shown(state: State, messages: tuple[Message, ...]) -> tuple[Delivery, ...]:
    """The messages that were scheduled, with the numbers that the operation returns."""
    stored = {entry.id: (p, entry.number) for p, entry in entries(state)}
    places = ((message.id, stored[message.id]) for message in messages if message.id in stored)
    return tuple(Delivery(id, seq=shown_seq(state.cfg, p, state.parts[p], n)) for id, (p, n) in places)


def numbered(send: Mechanism) -> Mechanism:
    """Scheduling as that way of sending does it: it answers with the messages' numbers."""

    def schedule(state: State, action: Action, seen: Observed | None) -> Steps:
        for answer, after in send(state, action, seen):
            shows = answer.status == Outcome.OK and seen is None
            yield answer._replace(messages=shown(after, action.messages)) if shows else answer, after

    return schedule


@point("SCH-4")
def cancel(state: State, action: Action, seen: Observed | None) -> Steps:
    """Cancel a scheduled message: it is deleted for good, unless it was due; once activated it stays."""
    place = waiting(state, action)
    if kinds := refusals(state, place, action):
        yield failure(kinds), state
    if place is not None and (state.cfg.serving or is_up(state, place[0])):
        yield from ((OK, after) for after in withdrawn(state, place, action.slack))
    if was_cancelled(state, action):
        yield OK, state


@point("SCH-3", "SCH-4", "SCH-5")
def refusals(state: State, place: Place | None, action: Action) -> frozenset[str]:
    """The errors that cancelling the message may end in; none if it has to succeed. Whether it has to where
    an open transaction cancels it already no source says."""
    kinds: frozenset[str] = frozenset()
    if place is None or is_disputed(state, place, action.slack):
        kinds |= UNKNOWN_NUMBER
    if state.down and action.only in (None, NOWHERE) and (place is None or not is_up(state, place[0])):
        kinds |= UNAVAILABLE
    return kinds


def is_disputed(state: State, place: Place, slack: int) -> bool:
    """Whether the message there may be due, or cancelled by an open transaction."""
    entry = state.parts[place[0]].log[place[1]]
    enlisted = any((place[0], entry.id) in txn.cancels for txn in state.txns)
    return enlisted or has_come(state, entry.due, slack)


@point("SCH-3", "SCH-5")
def withdrawn(state: State, place: Place, slack: int) -> Iterator[State]:
    """The states after the message was cancelled: it never comes or, if it was due, may all the same."""
    entry = state.parts[place[0]].log[place[1]]
    due = has_come(state, entry.due, slack)
    if due:
        yield put(state, *place, entry._replace(status=WITHDRAWN))
    if state.cfg.untimed:
        yield put(state, *place, None)
    elif not due:
        yield put(state, *place, entry._replace(status=WITHDRAWN, due=FOREVER, group=None))


def waiting(state: State, action: Action) -> Place | None:
    """The place of the scheduled message that an argument names, if it can be cancelled."""
    return _place_of(state, action, _CANCELLED)


def was_cancelled(state: State, action: Action) -> bool:
    """Whether the number is one that was cancelled, and not activated: no source says that to cancel it again
    is refused, nor that it is not. (Without a clock that is not remembered.)"""
    place = None if state.cfg.untimed else _place_of(state, action, _GONE)
    return place is not None and (state.cfg.serving or is_up(state, place[0]))


def _place_of(state: State, action: Action, statuses: frozenset[int]) -> Place | None:
    """The place of the action's scheduled message, if it has one of these statuses."""
    for p in range(len(state.parts)) if action.only is None else (action.only,):
        for index, entry in enumerate(state.parts[p].log if p != NOWHERE else ()):
            if entry.status in statuses and entry.due and entry.id in action.about:
                return p, index
    return None


@point("SCH-1", "SCH-4", "SCH-6")
def activate(state: State, action: Action, seen: Observed | None) -> Steps:
    """A scheduled message is appended as if it were enqueued now, with a new number. Its old one is gone."""
    for visible, place, entry in ripe(state, action):
        yield from appended(put(visible, *place, None), place[0], entry, action, seen)


def ripe(state: State, action: Action) -> Iterator[tuple[State, Place, Entry]]:
    """The message that the move is about, if its time has come and it was not cancelled before that; where it
    is, and the state that shows it."""
    place = _place_of(state, action, _CANCELLED | _WAITING)
    if place is None:
        return
    entry = state.parts[place[0]].log[place[1]]
    if entry.due == FOREVER or not is_due(state, entry.due, action.slack):
        return
    if entry.group is not None:
        state = appeared(state, {entry.group}, action.slack, parts=(place[0],))
    yield state, place, state.parts[place[0]].log[place[1]]


def appended(state: State, p: int, entry: Entry, action: Action, seen: Observed | None) -> Steps:
    """The message stored anew at the end of its partition."""
    send = action if action.messages else action._replace(messages=(Message(as_active(entry.id)),))
    message = send.messages[0]
    hint = hints_of(state, send, seen)[0]
    for after in store(state, p, message.id, hint, seen is None, send):
        yield OK, after


def moves(state: State) -> Iterator[Action]:
    """Every scheduled message that may be activated now."""
    for p in range(len(state.parts)):
        yield from moves_in(state, p)


def moves_in(state: State, p: int) -> Iterator[Action]:
    """Every scheduled message of one partition that may be activated now."""
    for entry in state.parts[p].log:
        if entry.status in _WAITING and is_due(state, entry.due, 0):
            yield Action(ACTIVATE, about=(entry.id,), only=p)


CLIENT_OPS: Final = {"schedule": numbered(send), "cancel_scheduled": cancel}
"""The operations of clients."""

BROKER_OPS: Final = {ACTIVATE: activate}
"""The broker's own move."""
