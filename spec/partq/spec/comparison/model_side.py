"""The model's graph of a scope, with the labels by which it is compared with the specification's.

A label is what a history shows: operation, client, what was asked and the whole answer; of the broker's
own moves their name and what they are about. Errors are one label, whatever their kinds: which kinds a
refusal may have is `Answer.errors`, and compared nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Final, NamedTuple

from partq.model.actions import INTERNAL, NOWHERE, Action, Answer
from partq.model.machine import steps
from partq.model.messages import Message, as_copy
from partq.model.operations import DEAD_LETTER, Outcome
from partq.model.profiles import Entity
from partq.model.scope import PRODUCER, TXN, Node, Scope
from partq.model.state import State, entries
from partq.model.statuses import CACHED, LOCKED

from .graphs import SILENT, Graph, explored
from .spec_side import SpecScope

FOUND_OUT: Final = ("release", "reset", "forget", "lapse")
"""Moves by which the model decides what a fault did. The specification has no such moves: there it is decided
by the operation that finds it out."""


def graph_of(scope: Scope, spec: SpecScope, limit: int = 50_000) -> Graph:
    """The graph of a scope, in which a message is sent once, whatever the answer. ``spec``: the other side's,
    which says how high delivery counts may be (a lock begins only below), whether any request may be refused
    in passing, and what messages bear.

    Raises `OverflowError` for more than ``limit`` states.
    """

    turns, busy = "stale" in scope.operations, "busy" in spec.freedoms
    sent_as = outbox(scope.outbox, spec)
    names = {one.id: f"m{n}" for n, one in enumerate(sent_as, 1)}

    def successors(place: Place) -> Iterator[tuple[str, Place]]:
        state = place.state
        for action in _asked(scope, place, "dead letter" in spec.alphabet):
            if action.messages:
                action = action._replace(messages=(sent_as[place.sent],))
            for answer, after in steps(state, action._replace(calm=busy)):
                if _is_within(action, answer, after, spec.max_tries):
                    label = SILENT if action.op in FOUND_OUT else label_of(action, answer, state, turns)
                    label = " ".join(names.get(word, word) for word in label.split(" "))
                    ended = place.ended or (bool(state.txns) and not after.txns)
                    yield label, Place(after, place.sent + (action.op == "send"), ended)
        for label, after in _times_over(state):
            yield label, place._replace(state=after)

    start = _with_handoff_times(scope.start.state)
    entity = entity_of(start.cfg.entity, spec, ENDLESS)
    untimed = start.cfg.untimed and not entity.duplicate_detection  # its window has begun, and is not over
    start = start._replace(cfg=replace(start.cfg, entity=entity, untimed=untimed))
    return explored(Place(start, 0, False), successors, limit)


ENDLESS: Final = 9
"""More than any delivery count: what bounds it is `SpecScope.max_tries`, on both sides."""


def entity_of(entity: Entity, spec: SpecScope, many: int) -> Entity:
    """The entity with what the other side's scope says of it. ``many``: the maximum delivery count where that
    is out of reach."""
    most = spec.max_delivery_count if spec.max_delivery_count < ENDLESS else many
    return replace(entity, max_delivery_count=most, duplicate_detection="Ids" in spec.sets)


def outbox(messages: Sequence[Message], spec: SpecScope) -> tuple[Message, ...]:
    """The messages, with the IDs and times to live that the other side's scope gives them."""
    found: list[Message] = []
    ids = spec.sets.get("Ids", {})
    for n, message in enumerate(messages, 1):
        nth = sum(ids.get(other, other) == ids.get(n, n) for other in range(1, n + 1))
        mortal = n in spec.sets.get("Mortal", ())
        id = as_copy(f"m{ids.get(n, n)}", nth)
        found.append(replace(message, id=id, ttl=1 if mortal else None))
    return tuple(found)


def _with_handoff_times(state: State) -> State:
    """The state of a broker whose handoffs wait. The delay is over at once, for it ends at any moment."""
    if state.flows is None:
        return state
    entity = replace(state.cfg.entity, rebalance_delay=0, max_handoff=1)
    return state._replace(cfg=replace(state.cfg, untimed=False, entity=entity))


def _times_over(state: State) -> Iterator[tuple[str, State]]:
    """Handoffs that are not due end with their time. The clock stands still: each has a time of its own."""
    flows = state.flows
    for p, waiting in enumerate(flows.handoff if flows is not None else ()):
        if flows is not None and waiting is not None and waiting[1] > state.now:
            due = (*flows.handoff[:p], (waiting[0], state.now, waiting[2]), *flows.handoff[p + 1 :])
            over = state._replace(flows=flows._replace(handoff=due))
            for _, after in steps(over, Action("handoff", partition=p)):
                yield f"handoff partition {p + 1} -> time over", after


class Place(NamedTuple):
    """A state of the broker, how many messages were sent to it, and whether the one transaction that a scope
    has is over."""

    state: State
    sent: int
    ended: bool


def _asked(scope: Scope, place: Place, dismissed: bool) -> Iterator[Action]:
    """What is asked for: what the scope has (settlements wherever the lock is: a dead broker refuses them),
    one transaction, in an ended one what it had open, and, where there are settlements with former locks, of
    each message that is stored. ``dismissed``: what may be completed may be dead-lettered, too."""
    for action in scope.actions(Node(place.state, place.sent)):
        if action.op != "begin" or not place.ended:
            yield action._replace(only=None) if action.locks or action.about else action
            if dismissed and action.op == "complete":
                yield action._replace(op=DEAD_LETTER, only=None)
    if place.ended and not place.state.txns:
        for op in ("commit", "rollback"):
            yield Action(op, PRODUCER, txn=TXN)
        if place.sent < len(scope.outbox):
            yield Action("send", PRODUCER, messages=(scope.outbox[place.sent],), txn=TXN, only=NOWHERE)
        yield from _settled_late(scope, place.state)
    if "stale" in scope.operations:
        yield from _never_given(scope, place.state)


def _settled_late(scope: Scope, state: State) -> Iterator[Action]:
    """Settlements in the transaction that is over, by locks that hold."""
    for _, entry in entries(state):
        if entry.status == LOCKED and entry.lock is not None and entry.lock.token is not None:
            yield Action("complete", str(entry.lock.holder), locks=(entry.lock.token,), txn=TXN)


_SETTLING: Final = {"complete": "complete", "abandon": "abandon", "defer": "deferral"}
"""Settlements, and what of a scope's operations has each."""


def _never_given(scope: Scope, state: State) -> Iterator[Action]:
    """Settlements with locks that nobody was given, and that the scope leaves out: of a message that no
    client ever had a lock of, and of one that is free the other than the last."""
    for p, entry in entries(state):
        never = (3 - entry.turn,) if entry.turn and entry.status != LOCKED else ()
        for turn in never if entry.turn else (1, 2):
            for client, op, txn in product(
                scope.consumers, _SETTLING, (None, *(one.name for one in state.txns))
            ):
                if _SETTLING[op] in scope.operations:
                    yield Action(op, client, locks=(f"{p}.{entry.number}.{turn}",), txn=txn)


def _is_within(action: Action, answer: Answer, after: State, max_tries: int) -> bool:
    """Whether no lock began, nor was a message deleted, whose delivery count is at the bound."""
    if action.op == "receive" and any((d.delivery_count or 0) >= max_tries for d in answer.messages):
        return False
    return all(entry.tries < max_tries for _, entry in entries(after) if entry.status in (CACHED, LOCKED))


def label_of(action: Action, answer: Answer, state: State, turns: bool = True) -> str:
    """The label of a transition. ``turns``: whether locks of one message are told apart."""
    if action.op in INTERNAL:
        return " ".join([action.op, *_about(action, state)])
    words = [action.op, *_who(action), *_what(action, state, turns)]
    if action.mode == "receive_and_delete" and answer.messages:
        words.append("and delete")
    if action.txn is not None and action.op not in ("begin", "commit", "rollback"):
        words.append("in the transaction")
    return f"{' '.join(words)} -> {_answered(action, answer)}" if action.proc != "env" else " ".join(words)


def _who(action: Action) -> list[str]:
    """The client, where more than one may do it."""
    if action.op in ("send", "begin", "commit", "rollback"):
        return []
    return [action.victim] if action.victim is not None else [action.proc] * (action.proc != "env")


def _what(action: Action, state: State, turns: bool) -> list[str]:
    words = [*(message.id for message in action.messages), *action.about]
    for token in action.locks:
        p, number, turn = map(int, token.split("."))
        message = next(entry.id for entry in state.parts[p].log if entry.number == number)
        words.append(f"{message}/{turn if turns else 1}")
    if action.partition is not None:
        words.append(f"partition {action.partition + 1}")
    return words


def _answered(action: Action, answer: Answer) -> str:
    if answer.status != Outcome.OK:
        return "error"
    if action.op in ("receive", "receive_deferred", "peek"):
        return " ".join(sorted(shown.id for shown in answer.messages)) or "nothing"
    return "ok"


def _about(action: Action, state: State) -> list[str]:
    """The objects of a move of the broker."""
    if action.number is not None and action.partition is not None:
        log = state.parts[action.partition].log
        return [next(entry.id for entry in log if entry.number == action.number)]
    return [] if action.partition is None else [f"partition {action.partition + 1}"]
