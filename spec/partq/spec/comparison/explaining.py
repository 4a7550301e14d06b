"""Does the model explain the behaviour of the specification, and nothing else?

The half of the model that gives verdicts is `explain`: the states after what a history shows. Here every path
of the specification's graph of a scope is a history: `explain` has to accept each, and to reject each with a
step more that the graph has nowhere after the others. Steps are what a history shows of operations (`shown`).
Histories that lead to the same states on both sides are one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from partq.model.actions import Action
from partq.model.machine import due_moves, explain, initial, steps
from partq.model.operations import Outcome
from partq.model.profiles import Entity, admit, profile
from partq.model.state import State
from partq.spec import MODULES
from partq.spec.tools.values import Function

from .equivalence import after_of, settled
from .graphs import SILENT, Before, Edge, Graph, closed, way_to
from .model_side import entity_of
from .shown import Reading, Shown
from .spec_side import SpecScope, unlabelled, words_of

AGES: Final = 1_000
"""How many times as long as a lock every operation may take: longer than all that may happen unseen."""

MANY: Final = 1_000_000
"""More deliveries than a scope has, unseen ones included."""

ENFORCED: Final = ("RCV-6", "RCV-7", "RCV-8")
"""What the specification has of every broker's locks, also where the catalogue does not bind that broker."""


class Explained(NamedTuple):
    """What came of a scope. ``histories`` that were told apart; steps after them that were ``accepted``, and
    that were ``rejected``; where the two sides part, if they do: after the steps of ``path`` the last one is
    possible on the side ``only`` alone. ``actions``: what the specification did in it."""

    histories: int
    accepted: int
    rejected: int
    path: tuple[Shown, ...] = ()
    only: str = ""
    actions: frozenset[str] = frozenset()


class _Node(NamedTuple):
    """Where a history may have led to: states of the specification, by number, and of the model."""

    spec: frozenset[int]
    model: frozenset[State]


def explained(spec: SpecScope, family: str, modules: Path = MODULES) -> Explained:
    """Hold `explain` against every path of the specification's graph. ``family``: the profile of the model's
    broker. Where there are flows, an unbind of one that is gone may be answered ok: so `explain` has it.

    Raises `NotExplored`, `ToolMissing`.
    """
    if "flows" in spec.profile:
        spec = replace(spec, freedoms=(*spec.freedoms, "gone"))
    graph, every = unlabelled(spec, modules)
    reading = Reading(spec, family)

    def shown(state: Function, edge: Edge) -> Edge:
        return reading.shown(every[edge[0]], state, graph.states[edge[1]]), edge[1]

    read = [
        [edge for edge in out if _is_read(every[edge[0]].name, state)]
        for state, out in zip(graph.states, graph.edges, strict=True)
    ]
    edges = [
        frozenset([shown(state, edge) for edge in out]) for state, out in zip(graph.states, read, strict=True)
    ]
    found = _walked(Graph(graph.states, edges), _start(spec, family), "busy" in spec.freedoms)
    return found._replace(actions=frozenset([every[edge[0]].name for out in read for edge in out]))


def _is_read(action: str, state: Function) -> bool:
    """Whether the step is one that histories here have: nothing of the dead-letter queue, and no settlement
    in a transaction that is over. Scopes have these by locks that hold alone, so that the refusal would tell
    that the lock does."""
    late = action == "TxnCompleteFails" and bool(state["txn"]["state"] != "open")
    return not late and "dead letters" not in words_of(action)


def _start(spec: SpecScope, family: str) -> State:
    """The empty entity of a broker like the specification's, whose counters begin at 0. Where locks expire
    there is a clock, since front ends have hidden locks; it stands still, and every operation may take so
    long (`AGES`) that any lock has ended, where locks expire in the scope."""
    known = profile(family)
    rules = {**known.rules, **dict.fromkeys(ENFORCED)}
    like = admit(replace(known, rules=rules, caching_front_ends="caches" in spec.profile))
    lasting = 1 if "expiry" in spec.profile else 2 * AGES
    entity = entity_of(Entity(partitions=spec.partitions, lock_duration=lasting, seq_start=0), spec, MANY)
    options = {name: int(name in spec.freedoms) for name in ("gaps", "lag", "early", "owing", "serving")}
    options["fading"] = options["lag"]
    return initial(like, entity, None, 0, frozenset(), untimed=int(known.flows), **options)


def _walked(graph: Graph, start: State, busy: bool) -> Explained:
    every = sorted({step for out in graph.edges for step, _ in out if step != SILENT}, key=repr)
    first = _Node(settled(graph, {0}), _left_to_itself({start}))
    before: Before = {first: None}
    counts = {True: 0, False: 0}
    waiting = [first]
    for node in waiting:  # grows while it is walked
        after = after_of(graph, node.spec)
        for step in _tried(every, after, graph.states[min(node.spec)]):
            model = _after(node.model, step, busy)
            if bool(model) != (step in after):
                path = (*way_to(before, node), step)
                return Explained(len(before), counts[True], counts[False], path, "model" if model else "TLA+")
            counts[bool(model)] += 1
            then = _Node(settled(graph, after.get(step, set())), _left_to_itself(model))
            if model and then not in before:
                before[then] = (node, step)
                waiting.append(then)
    return Explained(len(before), counts[True], counts[False])


def _after(states: frozenset[State], step: Shown, busy: bool) -> set[State]:
    action = step.action._replace(slack=AGES, calm=busy)
    return {after for state in states for after in explain(state, action, step.observed)}


def _left_to_itself(states: set[State]) -> frozenset[State]:
    """These states, and all reached from them by the broker's timers."""
    return closed(states, lambda state: (to for move in due_moves(state) for _, to in steps(state, move)))


def _tried(every: list[Shown], after: Mapping[Shown, set[int]], state: Function) -> list[Shown]:
    """The steps that are possible, and those that one of them may be changed to: but for the name of a lock,
    which is the broker's choice."""
    known, questions = {_nameless(step) for step in after}, {step.action for step in after}
    return [
        step
        for step in every
        if step in after or (_nameless(step) not in known and _is_asked(step, questions, state))
    ]


def _nameless(step: Shown) -> Shown:
    messages = tuple([shown._replace(lock=None) for shown in step.observed.messages])
    return step._replace(observed=step.observed._replace(messages=messages))


def _is_asked(step: Shown, questions: set[Action], state: Function) -> bool:
    """Whether the scope has the step's question there: each message is sent once, in order, and there is one
    transaction. What is refused has to be asked there by the specification, too."""
    action, observed = step
    if observed.status != Outcome.OK or action.op in ("send", "begin", "receive_deferred"):
        return action in questions
    return action.txn is None or bool(state["txn"]["state"] != "none")
