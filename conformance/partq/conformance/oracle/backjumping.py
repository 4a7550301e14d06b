"""Backjumping: the choice to which a search that is stuck returns.

A search notices a wrong choice late, at the effect that contradicts it, and would try everything in between
first. The effect shows with which part of the state it conflicts; only a choice that changes this part is
worth another try. The choices in between stay untried: a search that jumped back may accept, but not reject.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from functools import partial
from itertools import chain, islice, repeat
from typing import Final, Generic, Protocol, TypeVar

from msgspec import Struct

from partq.conformance.oracle.effects import Effect, name_of, named_by
from partq.conformance.oracle.explanations import at, explanations
from partq.conformance.oracle.roles import CUTS, SHOWS, TELLS, Role, by_role
from partq.model.configuration import position
from partq.model.operations import DRAINED
from partq.model.state import State, transaction

TRIED: Final = 32
"""The limit of choices tried at one level; an unknown receive may have millions."""

WINDOW: Final = 300
"""The limit of levels of one jump: earlier mistakes are seldom noticed so late."""

Conflict = Callable[[State], Hashable]
"""The part of a state on which an unexplained effect depends."""


class Node(Protocol):
    """A node of a search."""

    @property
    def state(self) -> State:
        """The broker's state at this node."""


N = TypeVar("N", bound=Node)


class Level(Struct, Generic[N], frozen=True, eq=False, gc=False):
    """A node on the way, and the choices there that are still to be tried: each an effect's number, or None
    for a move of the broker, and the node that it leads to."""

    node: N
    choices: Iterator[tuple[int | None, N]]


def jump_back(
    levels: list[Level[N]],
    placed: list[int | None],
    conflict: Conflict,
    is_exhausted: Callable[[N], bool],
    tried: set[tuple[int, Hashable]],
    is_over: Callable[[], bool],
) -> tuple[int | None, N] | None:
    """Give the way up as far as to the last choice after which the part in conflict may be another, and
    return that choice; None, and nothing is given up, if there is no such choice among the last `WINDOW`.
    ``placed``: by which effect each level but the first was reached. First tried is what changes that part
    otherwise; then what leaves it for later. ``tried``: at which depth that part was made what before, in
    vain. ``is_over``: whether the budget is spent."""
    nearest = max(0, len(levels) - WINDOW)
    seen = {depth: conflict(levels[depth].node.state) for depth in range(nearest, len(levels))}
    for leaves_it in (False, True):
        for depth in range(len(levels) - 2, nearest - 1, -1):
            if is_over():
                return None
            here, choices = levels[depth].node, levels[depth].choices
            left = list(islice(choices, TRIED))
            for index, choice in enumerate(left):
                effect, node = choice
                now = conflict(node.state)
                otherwise = now != seen[depth] or effect == placed[depth]
                if now == seen[depth + 1] or not (otherwise or leaves_it) or (depth, now) in tried:
                    continue
                if not is_exhausted(node):
                    tried.add((depth, now))
                    del left[index], levels[depth + 1 :], placed[depth:]
                    levels[depth] = Level(here, chain(left, choices))
                    return choice
            levels[depth] = Level(here, chain(left, choices))
    return None


def conflict_of(state: State, effect: Effect, horizon: int, held: Mapping[str, str]) -> Conflict:
    """What the effect, which that state does not explain by ``horizon`` (ns), depends on. ``held``: of each
    lock token the message."""
    if state.flows is not None and not [*at(state, max(state.now, effect.call))]:
        return lambda state: state.flows  # one of their timers is due before
    return _CONFLICTS.get(effect.action.op, _of_settlement)(state, effect, horizon, held)


def concerned(state: State, effect: Effect, horizon: int, held: Mapping[str, str]) -> frozenset[str]:
    """The messages that an effect is about which that state does not explain by ``horizon`` (ns). What was
    refused is about the messages of its locks alone, and an event about those for which a handoff waits."""
    if effect.action.op in SHOWS and effect.ok:
        return frozenset(_unexplained(state, effect, horizon))
    if effect.action.op == DRAINED:
        return frozenset(_stored(state))
    if effect.action.messages and effect.ok:
        return frozenset(message.id for message in effect.action.messages)
    if effect.action.op == TELLS and (p := position(state.cfg, effect.action.partition)) is not None:
        parts = state.parts[p : p + 1]
        return frozenset(entry.id for part in parts for entry in part.log if entry.lock is not None)
    return frozenset(named_by(effect.action, held))


def _of_answer(state: State, effect: Effect, horizon: int, held: Mapping[str, str]) -> Conflict:
    messages = _entries(_unexplained(state, effect, horizon))
    if effect.action.session_id is None:
        return messages
    return lambda state: (messages(state), state.sessions)


def _unexplained(state: State, effect: Effect, horizon: int) -> set[str]:
    """The first unexplained message, and the messages before it in its partition."""
    shown = effect.observed.messages
    count = _explained(state, effect, horizon)
    if count == len(shown):  # there is something more to be shown
        parts = state.parts if effect.action.only is None else state.parts[effect.action.only :][:1]
        stored = {entry.id for part in parts for entry in part.log}
        return stored - {delivery.id for delivery in shown}
    ids = {shown[count].id}
    for part in state.parts:
        numbers = {entry.id: entry.number for entry in part.log}
        if shown[count].id in numbers:
            last = numbers.get(shown[count - 1].id, -1) if count else -1
            ids |= {id for id, number in numbers.items() if last < number < numbers[shown[count].id]}
    return ids


def _explained(state: State, effect: Effect, horizon: int) -> int:
    """How many of the messages shown, from the first on, the state explains."""
    low, high = 0, len(effect.observed.messages)
    while low < high:
        count = (low + high + 1) // 2
        shown = effect.observed._replace(messages=effect.observed.messages[:count])
        part = effect._replace(action=effect.action._replace(max=count), observed=shown)
        goes_on = partial(next, repeat(True, TRIED), False)
        if next(explanations(state, part, horizon, goes_on=goes_on), None) is not None:
            low = count
        else:
            high = count - 1
    return low


def _of_send(state: State, effect: Effect, horizon: int, held: Mapping[str, str]) -> Conflict:
    """The numbers of its partitions, and where keys are; of a transaction that ended too soon that alone."""
    txn = effect.action.txn
    if txn is not None and transaction(state, txn) is None:
        return lambda state: transaction(state, txn)
    shown = {position(state.cfg, name_of(hint)) for hint in effect.observed.messages}
    places = sorted(p for p in shown if p is not None)
    return lambda state: (
        tuple(part[:3] for p, part in enumerate(state.parts) if not places or p in places),
        state.burnt,
        state.keys,
        state.down,
    )


def _of_settlement(state: State, effect: Effect, horizon: int, held: Mapping[str, str]) -> Conflict:
    messages = _entries(named_by(effect.action, held))
    txn = effect.action.txn
    return lambda state: (messages(state), transaction(state, txn), state.sessions, state.session_states)


def _of_end(state: State, effect: Effect, horizon: int, held: Mapping[str, str]) -> Conflict:
    txn = effect.action.txn
    return lambda state: (state.parts, transaction(state, txn))


def _of_drained(state: State, effect: Effect, horizon: int, held: Mapping[str, str]) -> Conflict:
    return _entries(_stored(state))


def _of_flows(state: State, effect: Effect, horizon: int, held: Mapping[str, str]) -> Conflict:
    p = position(state.cfg, effect.action.partition)
    if p is None:
        return lambda state: state.flows
    here = slice(p, p + 1)
    return lambda state: (
        state.flows,
        tuple((entry.id, entry.status) for part in state.parts[here] for entry in part.log),
    )


def _stored(state: State) -> set[str]:
    return {entry.id for part in state.parts for entry in part.log}


def _entries(ids: Collection[str]) -> Conflict:
    """How these messages are stored, and where."""
    return lambda state: tuple(
        (p, entry.status, entry.tries, entry.since, entry.lock)
        for p, part in enumerate(state.parts)
        for entry in part.log
        if entry.id in ids
    )


_CONFLICTS: Final = by_role(
    {
        **dict.fromkeys((Role.DELIVERY, Role.LOOK), _of_answer),
        **dict.fromkeys((Role.SEND, Role.ACTIVATION), _of_send),
        Role.END: _of_end,
        Role.DRAINED: _of_drained,
        Role.FLOW: _of_flows,
    }
) | dict.fromkeys(CUTS, _of_flows)
"""The parts of the state on which an operation depends; settlements name locks."""
