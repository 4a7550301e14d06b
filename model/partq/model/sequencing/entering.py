"""How a message enters its partition: to be delivered, or, scheduled, to wait for its time.

A scheduled message has a number of its own, which it loses when it is activated: so it is two births of one
message, under two names (`messages.as_scheduled`). What happens to it meanwhile is `scheduling`'s business.
"""

from __future__ import annotations

from ..clauses import clause, guard
from ..messages import Message, is_scheduled
from ..state import FOREVER, SCHEDULED, Entry, State
from .norm import burn


@clause("SCH-1", "SCH-2")
def as_sent(entry: Entry, message: Message) -> Entry:
    """The message as it is stored: one that is scheduled waits for its time."""
    due = due_of(message)
    return entry._replace(status=SCHEDULED, since=FOREVER, at=None, due=due) if due else entry


def due_of(message: Message) -> int:
    """From when on it may be activated, ns; 0 where it is not scheduled, or no more."""
    return message.scheduled_at or 0 if is_scheduled(message.id) else 0


def at_once(state: State, p: int, message: Message) -> State:
    """The state after a message was stored whose time had come when it was sent: that it was scheduled first,
    and used up a number, no source rules out."""
    if message.scheduled_at is None or due_of(message):
        return state
    return burn(state, p, "", 1)


@clause("SCH-1")
def may_enter(state: State, message: Message, slack: int) -> bool:
    """Whether a message may be stored so now: to be delivered at once only if its time has come."""
    return message.scheduled_at is None or due_of(message) > 0 or is_due(state, message.scheduled_at, slack)


@guard("SCH-1")
def is_due(state: State, due: int, slack: int) -> bool:
    """Whether a scheduled message may be active."""
    return has_come(state, due, slack)


def has_come(state: State, due: int, slack: int) -> bool:
    """Whether its time has come within ``slack`` (ns)."""
    return state.cfg.untimed or due - state.cfg.skew <= state.now + slack
