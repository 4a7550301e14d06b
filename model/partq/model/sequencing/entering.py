"""How a message enters its partition: to be delivered, or, scheduled, to wait for its time.

A scheduled message has a number of its own, which it loses when it is activated: so it is two births of one
message, under two names (`messages.as_scheduled`). What happens to it meanwhile is `scheduling`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from ..actions import Action
from ..clauses import clause, guard
from ..configuration import FOREVER, Config
from ..edits import with_log
from ..hooks import Hook
from ..messages import Delivery, Message, is_scheduled
from ..state import Entry, State, Txn
from ..statuses import OVERDUE, RESERVED, SCHEDULED
from .norm import burn

T = TypeVar("T")

Brings = Callable[[Config, Entry, Message], Entry]
Kept = tuple[State, tuple[int, ...]]
"""Which messages of a send are stored, by their place in it, and the state that knows it."""
Screens = Callable[[State, Action, Sequence[int], Sequence[Delivery | None]], Iterator[Kept]]
Ends = Callable[[State, Txn, int | None], Iterator[State]]

brings: Final = Hook[Brings]()
"""Mark what a mechanism makes of a message that is stored, if its sender asked for it."""

_screens: Final[list[tuple[Callable[[Config], bool], Screens]]] = []
_ends: Final[list[tuple[Callable[[Config], bool], Ends]]] = []


def screens(where: Callable[[Config], bool]) -> Callable[[Screens], Screens]:
    """Mark what decides, with such settings, whether a message that is accepted is stored. It is given the
    send, the partition of each message, and where the history shows each, if it does."""

    def mark(function: Screens) -> Screens:
        _screens.append((where, function))
        return function

    return mark


def ends_sending(where: Callable[[Config], bool]) -> Callable[[Ends], Ends]:
    """Mark what becomes, with such settings, of the sends of a transaction that ends now: by a commit, which
    may take effect within so much time, ns, or by a rollback (None)."""

    def mark(function: Ends) -> Ends:
        _ends.append((where, function))
        return function

    return mark


def kept(
    state: State, action: Action, places: Sequence[int], hints: Sequence[Delivery | None]
) -> Iterator[Kept]:
    """The messages of an accepted send that are stored: all except those that a mechanism drops. A later one
    sees what an earlier one lets through."""
    ways: Iterator[Kept] = iter(((state, tuple(range(len(places)))),))
    for where, screen in _screens:
        if where(state.cfg):
            ways = _narrowed(ways, screen, action, places, hints)
    return ways


def _narrowed(
    ways: Iterator[Kept],
    screen: Screens,
    action: Action,
    places: Sequence[int],
    hints: Sequence[Delivery | None],
) -> Iterator[Kept]:
    for state, left in ways:
        those = action._replace(messages=tuple(action.messages[n] for n in left))
        for after, stored in screen(state, those, [places[n] for n in left], [hints[n] for n in left]):
            yield after, tuple(left[n] for n in stored)


def ended(state: State, txn: Txn, slack: int | None) -> Iterator[State]:
    """The states in which the sends of the transaction that ends now are known to be over."""
    end = _in_force(_ends, state.cfg)
    return iter((state,)) if end is None else end(state, txn, slack)


def _in_force(marked: Sequence[tuple[Callable[[Config], bool], T]], cfg: Config) -> T | None:
    return next((function for where, function in marked if where(cfg)), None)


@clause("SCH-1", "SCH-2")
def as_sent(cfg: Config, entry: Entry, message: Message) -> Entry:
    """The message as it is stored; a scheduled one waits for its time."""
    born = _with_what_it_brings(cfg, entry, message)
    due = due_of(message)
    if not due:
        return born
    return born._replace(status=SCHEDULED, since=FOREVER, due=due, at=None if born.life is None else born.at)


def reserved(cfg: Config, message: Message) -> Entry:
    """What is stored of a message that waits for a commit, but for its number and time."""
    return _with_what_it_brings(cfg, Entry(-1, message.id, RESERVED, due=due_of(message)), message)


def _with_what_it_brings(cfg: Config, entry: Entry, message: Message) -> Entry:
    for bring in brings:
        entry = bring(cfg, entry, message)
    return entry


def due_of(message: Message) -> int:
    """From when on it may be activated, ns; 0 where it is not scheduled, or no more."""
    return 0 if message.scheduled_at is None or not is_scheduled(message.id) else max(1, message.scheduled_at)


def may_be_overdue(state: State, message: Message, slack: int) -> bool:
    """Whether its time may have come when it is sent. Without a clock every time is yet to come."""
    due = due_of(message)
    return due > 0 and not state.cfg.untimed and has_come(state, due, slack)


def overdue(state: State, p: int, message: Message) -> State:
    """The state with a message whose time has come when it is sent: it need not be scheduled first. That it
    was, and used up a number, no source rules out."""
    part = state.parts[p]
    waits = Entry(-1, message.id, OVERDUE, since=FOREVER, due=due_of(message))
    parts = (*state.parts[:p], with_log(part, (waits, *part.log)), *state.parts[p + 1 :])
    return burn(state._replace(parts=parts), p, "", 1)


@guard("SCH-1")
def is_due(state: State, due: int, slack: int) -> bool:
    """Whether a scheduled message may be active."""
    return has_come(state, due, slack)


def has_come(state: State, due: int, slack: int) -> bool:
    """Whether its time has come within ``slack`` (ns)."""
    return state.cfg.untimed or due - state.cfg.skew <= state.now + slack
