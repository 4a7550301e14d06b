"""Peek: looking at messages without touching them, from a number on or from the client's own cursor.

An answer shows of each partition in it the oldest messages from the starting point on, none left out; which
partitions are in it, and in what mix, is free. What an observed answer reveals of the broker's own moves is
`observed`'s business.
"""

from __future__ import annotations

from itertools import product
from typing import Final

from ..actions import NOWHERE, OK, REFUSED, Action, Answer, Observed, failure
from ..clauses import clause, point
from ..configuration import position
from ..edits import with_client, with_part
from ..messages import Delivery
from ..operations import UNAVAILABLE, Outcome
from ..sequencing.norm import shown_seq
from ..state import Entry, Part, State, Steps, client, is_up, range_of
from ..statuses import CERTAIN, COUNTED, STATUSES
from .cursors import certain, eligible, most, moved, restarted, start_of
from .observed import explained


def peek(state: State, action: Action, seen: Observed | None) -> Steps:
    """Look at up to ``max`` messages."""
    if not state.cfg.profile.peek:
        yield from browsed(state, seen)
        return
    if (state.down or state.dead) and action.only in (None, NOWHERE):
        yield failure(UNAVAILABLE), state
    if seen is not None:
        if seen.status == Outcome.OK:
            for after in explained(state, action, seen.messages):
                yield Answer(Outcome.OK, messages=seen.messages), after
        return
    for begun in _begun(state, action):
        every = range_of(state, action.entity)
        yield from _answers(begun, action, [p for p in every if action.only in (None, p)], ())
        if action.only in (None, NOWHERE) and all(_certainly_empty(begun, p, action) for p in every):
            yield OK, begun


@point("REB-16")
def browsed(state: State, seen: Observed | None) -> Steps:
    """Browsing is refused where it is not offered."""
    yield failure(REFUSED), state


def _begun(state: State, action: Action) -> list[State]:
    """The state with the client's cursors settled: a fault may have set each back to the start."""
    who = client(state, action.proc)
    if action.from_seq is not None or not who.loose:
        return [state]
    states = [with_client(state, who._replace(loose=0))]
    for p in range(len(who.cursor)):
        if who.loose >> p & 1 and action.only in (None, NOWHERE, p):
            states += [restarted(begun, action.proc, p) for begun in states]
    return states


@clause("PEEK-4", "PEEK-5")
def _certainly_empty(state: State, p: int, action: Action) -> bool:
    """Whether a peek may show nothing of a partition as it is."""
    if not is_up(state, p):
        return True
    log = state.parts[p].log
    indexes = eligible(state, p, action, start_of(state, p, action))
    return not any(certain(state, p, log[index], action) for index in indexes)


@clause("PEEK-2", "PEEK-3", "PEEK-4", "PEEK-7")
def _answers(state: State, action: Action, parts: list[int], shown: tuple[Delivery, ...]) -> Steps:
    """Every answer that is not empty, partition by partition; any mix of those is the same answer."""
    if not parts:
        if shown:
            yield Answer(Outcome.OK, messages=shown), state
        return
    p, rest = parts[0], parts[1:]
    yield from _answers(state, action, rest, shown)
    if not (is_up(state, p) or state.cfg.serving):
        return
    part = state.parts[p]
    indexes = eligible(state, p, action, start_of(state, p, action))
    visible = [i for i in indexes if CERTAIN[part.log[i].status]]
    for size in range(1, min(len(visible), most(state, action) - len(shown)) + 1):
        for looks in product(*(_faces(part.log[i]) for i in visible[:size])):
            log = list(part.log)
            for index, (entry, _) in zip(visible, looks, strict=False):
                log[index] = entry
            after = moved(state, action, p, looks[-1][0].number)
            if tuple(log) != part.log:
                after = with_part(after, p, part._replace(log=tuple(log)))
            deliveries = tuple(_shown(state, p, part, *look) for look in looks)
            yield from _answers(after, action, rest, shown + deliveries)


@clause("PEEK-6")
def _faces(entry: Entry) -> tuple[tuple[Entry, int], ...]:
    """The message as a peek may leave it, and the count it then shows: whether its last lock's end is counted
    yet stays open until it is."""
    if entry.owed == COUNTED:
        return ((entry, entry.tries),)
    return (entry._replace(owed=COUNTED), entry.tries), (entry, entry.tries - 1)


def _shown(state: State, p: int, part: Part, entry: Entry, count: int) -> Delivery:
    seq = shown_seq(state.cfg, p, part, entry.number)
    shown = STATUSES[entry.status].label or None
    return Delivery(entry.id, seq=seq, partition=state.cfg.names[p], delivery_count=count, state=shown)


def _reset(state: State, action: Action, seen: Observed | None) -> Steps:
    known, p = client(state, action.proc), position(state.cfg, action.partition)
    if p is not None and known.loose >> p & 1:
        yield OK, restarted(state, action.proc, p)


def moves(state: State) -> list[Action]:
    """Every cursor that a fault may have set back to the start may be found there now."""
    names = state.cfg.names
    loose = ((known, p) for known in state.clients for p in range(len(known.cursor)) if known.loose >> p & 1)
    return [Action("reset", known.proc, partition=names[p]) for known, p in loose]


CLIENT_OPS: Final = {"peek": peek}
"""The operations of clients."""

BROKER_OPS: Final = {"reset": _reset}
"""The broker's own move."""
