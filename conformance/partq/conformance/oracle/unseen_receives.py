"""Receives of unknown outcome, and the messages that they may have taken without any client seeing them.

A front end asks each partition separately, and hands a flow one message after the other. So such a receive is
a series of moves, each at an instant of its own, and none of them has to happen. Searches make them last,
where an observation needs them, and visit a node for each, and for each answer of several messages that
cannot be; only their own budget bounds how many are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from partq.conformance.oracle.effects import MAYBE, Effect
from partq.conformance.oracle.explanations import at, showing
from partq.conformance.oracle.roles import DELIVERS
from partq.model.actions import Action
from partq.model.delivery.norm import DELETE
from partq.model.locks.norm import ended, takings
from partq.model.machine import explain, sources
from partq.model.messages import Delivery
from partq.model.state import Entry, State, range_of
from partq.model.statuses import FRESH, LAGGING, LOCKED, STATUSES


class Receiving(NamedTuple):
    """The progress of an unseen receive. ``effect``: its number. ``room``: how many more messages it may
    take. ``asked``: the partitions that have answered, as bits; always none with flows."""

    effect: int
    room: int
    asked: int = 0


Receivings = tuple[Receiving, ...]
"""Those that have taken something and may take more, sorted."""


class Moved(NamedTuple):
    """The result of one move of an unseen receive: the progress of all unseen receives, whether this one has
    ended, and the state."""

    receivings: Receivings
    ended: bool
    state: State


def is_unseen(effect: Effect) -> bool:
    """Whether the effect is a receive whose answer no client saw."""
    return bool(effect.doubt & MAYBE) and effect.action.op in DELIVERS


def moves(
    state: State,
    n: int,
    effect: Effect,
    receivings: Receivings,
    horizon: int,
    goes_on: Callable[[], bool] = lambda: True,
) -> Iterator[Moved]:
    """Each next move of the receive, which is the effect with number ``n``, by ``horizon`` (ns). ``goes_on``:
    whether to try a further answer after one that cannot be; of these there are very many."""
    known = next((one for one in receivings if one.effect == n), Receiving(n, effect.action.max))
    others = tuple(one for one in receivings if one.effect != n)
    every = sum(1 << p for p in range_of(state, effect.action.entity))
    instant = max(state.now, effect.call)
    for moved in at(state, instant):
        action = effect.action._replace(slack=horizon - instant)
        for now, after in _moves(moved, action, known, goes_on):
            done = not now.room or now.asked == every
            yield Moved(others if done else tuple(sorted((*others, now))), done, after)


def _moves(
    state: State, action: Action, known: Receiving, goes_on: Callable[[], bool]
) -> Iterator[tuple[Receiving, State]]:
    """The moves of one more partition or, with flows, of one more message."""
    at_once = known.room if state.flows is None else 1
    for p in sources(state, action):
        if known.asked >> p & 1:
            continue
        asked = known.asked | (1 << p if state.flows is None else 0)
        for answer, after in _answers(state, p, action._replace(only=p), at_once, goes_on):
            yield Receiving(known.effect, known.room - len(answer), asked), after


Messages = tuple[Delivery, ...]


def _answers(
    state: State, p: int, action: Action, room: int, goes_on: Callable[[], bool]
) -> Iterator[tuple[Messages, State]]:
    """Every answer of one partition, of up to ``room`` messages, the likely ones first."""
    new, any_status = frozenset({FRESH}), frozenset(range(len(STATUSES)))
    oldest = (_oldest(state, p, action, room, statuses) for statuses in (new, any_status))
    likely = dict.fromkeys(chain.from_iterable(oldest))
    for answer in likely:
        yield from ((answer, after) for after in explain(state, action, showing(answer)))
    every = _every(state, p, action, room, goes_on)
    yield from ((answer, after) for answer, after in every if answer not in likely)


def _oldest(state: State, p: int, action: Action, room: int, statuses: frozenset[int]) -> list[Messages]:
    """The oldest messages with these statuses, in delivery order: as many as there is room for, then
    fewer."""
    answer: Messages = ()
    for entry in state.parts[p].log:
        if len(answer) == room:
            break
        if entry.status in statuses:
            for delivery in _deliveries(state, entry, action)[:1]:
                if next(explain(state, action, showing((*answer, delivery))), None) is not None:
                    answer = (*answer, delivery)
    return [answer[:count] for count in range(len(answer), 0, -1)]


def _every(
    state: State,
    p: int,
    action: Action,
    room: int,
    goes_on: Callable[[], bool],
    sofar: Messages = (),
    first: int = 0,
) -> Iterator[tuple[Messages, State]]:
    """Every answer that extends those ``sofar`` by up to ``room`` messages, from place ``first`` in the log
    on. Where the model does not explain an answer, it does not explain a longer one either."""
    log = state.parts[p].log
    for index in range(first, len(log)):
        for delivery in _deliveries(state, log[index], action):
            answer = (*sofar, delivery)
            afters = list(explain(state, action, showing(answer)))
            yield from ((answer, after) for after in afters)
            if sofar and not (afters or goes_on()):
                return
            if afters and room > 1:
                yield from _every(state, p, action, room - 1, goes_on, answer, index + 1)


def _deliveries(state: State, entry: Entry, action: Action) -> list[Delivery]:
    """The ways in which the message may have been taken: none while it is locked, otherwise one for each
    delivery count that faults may have left. Ways that take time need not be told apart: the new lock may
    have begun as early as the last unseen one."""
    reach = state.now + action.slack
    if entry.status != LAGGING and not takings(state, entry, reach):
        return []
    forms = ended(state, entry, reach) if entry.status == LOCKED else [entry]
    counts = sorted({count for form in forms if form is not None for count in _counts(state, form)})
    matters = state.flows is None and action.mode != DELETE
    return [Delivery(entry.id, delivery_count=count) for count in (counts if matters else counts[:1])]


def _counts(state: State, entry: Entry) -> range:
    """The delivery counts that a message without a lock may have through faults alone."""
    return range(entry.tries, min(entry.tries + entry.upsets, state.cfg.limit) + 1)
