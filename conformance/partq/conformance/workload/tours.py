"""Test programs out of the model: small scopes for each profile, their tours, and each tour as a `Program`.

Over a scope's graph the tours pass every state and every transition at least once (`explore.coverage` counts
it). Of a broker no such thing is promised. A program fixes what clients do and which faults strike; which
partition takes a key, what a receive answers and what the broker does unseen are the broker's own choices,
and where they differ from the tour's the run goes another, equally allowed way through the graph. What was
really visited is measured afterwards: `oracle.graph_coverage`.

From a transition to steps: an operation or fault is one step; the end of a lock, a rebalance or a handoff is
an ``advance`` that is long enough for it, with the other locks renewed half-way; what else a broker does by
itself is left to it. A few transitions no client of a program makes (`Survey.unsaid`): it settles only with
locks that it was given, leaves no flow before the first, and rolls back no second time.
Nothing here knows what a broker should answer: verdicts come from the history, as for every program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from partq.conformance.workload.cases.steps import (
    EXPIRY,
    LOCK,
    down,
    lose_front_end,
    pass_time,
    peek,
    program,
    renew,
    up,
)
from partq.conformance.workload.generator import trace_seed
from partq.conformance.workload.program import Program, Step
from partq.conformance.workload.script import Args, Script
from partq.model.actions import INTERNAL
from partq.model.explore import Edge, Graph, reach, tours
from partq.model.operations import ENV
from partq.model.profiles import SECOND, profile
from partq.model.scope import PRODUCER, Scope
from partq.model.state import LOCKED

LONGEST: Final = 20
"""Transitions of a tour at the most. A short one is over before a broker's choices lead far away from it."""

WAIT: Final = SECOND // 10
"""ns that a receive waits: all of a tour's together take less time than a lock lasts."""


def _scope(*messages: str, clients: int = 1, **more: object) -> Callable[[str], Scope]:
    """A scope for any of the profiles: of the fewest partitions, two where that is possible."""

    def build(name: str) -> Scope:
        counts = profile(name).partitions
        count = 2 if not counts or 2 in counts else counts[0]
        options = {"partitions": count, "symmetric": not profile(name).flows, **more}
        return Scope(name, messages=messages, clients=clients, **options)  # type: ignore[arg-type]

    return build


_HOLD: Final = ("receive", "complete", "abandon", "expire")
_TAKE: Final = ("receive", "complete")

AZURE: Final[Mapping[str, Callable[[str], Scope]]] = {
    "locks": _scope("a", "b", clients=2, operations=_HOLD),
    "order": _scope("a", "a", clients=2, operations=_HOLD),
    "stale": _scope("a", "a", operations=(*_HOLD, "delete", "stale")),
    "peeking": _scope("a", "b", clients=2, operations=("delete", "peek")),
    "two at once": _scope("a", "a", "a", max=2, operations=("receive", "peek")),
    "transactions": _scope("a", "b", operations=(*_TAKE, "transactions")),
    "kills": _scope("a", operations=(*_TAKE, "stale", "broker faults", "lost front ends")),
}

SCOPES: Final[Mapping[str, Mapping[str, Callable[[str], Scope]]]] = {
    "azure-standard": AZURE,
    "azure-premium": {**AZURE, "outages": _scope("a", "-", operations=("delete", "partition faults"))},
    "azure-flat": {name: scope for name, scope in AZURE.items() if name != "order"},
    "solace": {
        "one flow": _scope("a", operations=_TAKE),
        "order": _scope("a", "a", operations=_TAKE, partitions=1),
        "two flows": _scope(clients=2, operations=_TAKE),
        "standby": _scope("a", clients=2, operations=_TAKE, partitions=1),
    },
}
"""The scopes of each profile that is modelled, by name. Without partitions ``order`` is ``locks``. Sixteen
partitions that fail one by one have too many states for outages in azure-standard."""

NEEDS: Final[Mapping[str, frozenset[str]]] = {
    "transactions": frozenset({"begin"}),
    "partition faults": frozenset({"partition_down", "partition_up"}),
    "broker faults": frozenset({"broker_kill", "broker_start"}),
    "lost front ends": frozenset({"frontend_lost"}),
}
"""What a broker must not lack for an operation of a scope, unless it is the operation of that name."""


@dataclass(frozen=True)
class Survey:
    """The tours of one scope. ``name``: the scope's. ``lacks``: steps that no program of it has."""

    name: str
    scope: Scope
    lacks: frozenset[str] = frozenset()

    @cached_property
    def graph(self) -> Graph:
        """All that the scope reaches."""
        return reach(self.scope)

    @cached_property
    def tours(self) -> list[list[Edge]]:
        """Paths that together pass all of it."""
        return tours(self.graph, LONGEST)

    @cached_property
    def unsaid(self) -> set[Edge]:
        """The transitions of clients and faults that are in no program."""
        said = {edge for tour in self.tours for edge in _said(self, tour)}
        return {edge for found in self.graph.edges for edge in found} - said

    def programs(self, seed: int = 1) -> dict[str, Program]:
        """Every tour as a program, by name. The seed decides how a simulated broker makes its choices."""
        places = enumerate(self.tours)
        return {f"{self.name} {n + 1}": program_of(self, tour, trace_seed(seed, n)) for n, tour in places}


def surveys(profile_name: str, lacks: frozenset[str] = frozenset()) -> tuple[Survey, ...]:
    """The surveys of a profile, without what the broker lacks; none where the profile is not modelled."""
    found = []
    for name, build in SCOPES.get(profile_name, {}).items():
        scope = build(profile_name)
        has = tuple(op for op in scope.operations if not NEEDS.get(op, frozenset({op})) & lacks)
        found.append(Survey(name, replace(scope, operations=has), lacks))
    return tuple(found)


def client_of(scope: Scope, proc: str) -> str:
    """The program's client that does what this one of the scope does: a transaction is one client's, so there
    the producer's part is played by the first consumer."""
    return scope.consumers[0] if proc == PRODUCER and scope.transacts else proc


def program_of(survey: Survey, tour: Sequence[Edge], seed: int) -> Program:
    """The tour as a program: equal arguments give equal programs."""
    writer = _Writer(survey)
    steps = [step for edge in tour for step in writer.steps(edge)]
    scope = survey.scope
    return program(scope.profile, *steps, seed=seed, partitions=scope.partitions)


def _said(survey: Survey, tour: Sequence[Edge]) -> Iterator[Edge]:
    """Those transitions of a tour that its program has steps for, or that are the broker's own."""
    writer = _Writer(survey)
    for edge in tour:
        if writer.steps(edge) or edge.action.op in INTERNAL:
            yield edge


class _Writer:
    """Writes one tour. It follows, with the `Script` that will resolve the steps, what each client would hold
    if the broker went the tour's way; each lock has a name of its own there, ``locks`` says which.
    ``attempts``: how often each message was sent so far, for every attempt needs an ID of its own."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.scope = survey.scope
        self.scripts: dict[str, Script] = {}
        self.locks: dict[str, str] = {}
        self.attempts: Counter[str] = Counter()
        self.named = 0

    def steps(self, edge: Edge) -> list[Step]:
        """The steps of one transition."""
        return [step for step in self._steps(edge) if step.op not in self.survey.lacks]

    def _steps(self, edge: Edge) -> Iterator[Step]:
        op = edge.action.op
        if op in INTERNAL:
            yield from self._passing(edge)
        elif edge.action.proc == ENV:
            yield _FAULTS[op](edge)
        else:
            proc = client_of(self.scope, edge.action.proc)
            script = self.scripts.setdefault(proc, Script(proc))
            step = _STEPS[op](self, script, edge)
            args = None if step is None else script.resolve(step)
            if step is not None and args is not None:
                self._absorb(script, edge, args)
                yield step

    def _absorb(self, script: Script, edge: Edge, args: Args) -> None:
        answer = edge.answer
        error = "lock_lost" if "lock_lost" in answer.errors else min(answer.errors, default=None)
        shown = tuple(d if d.lock is None else d._replace(lock=self._fresh(d.lock)) for d in answer.messages)
        script.absorb(edge.action.op, args, answer.status, error, shown)

    def _fresh(self, token: str) -> str:
        self.named += 1
        self.locks[token] = f"{token}/{self.named}"
        return self.locks[token]

    def _passing(self, edge: Edge) -> Iterator[Step]:
        """Time for a move of the broker that time drives."""
        takes = _TIMES.get(edge.action.op)
        if takes is None:
            return
        others = list(self._held(edge.target)) if edge.action.op == "expire" else []
        if not others:
            yield pass_time(takes(self.scope))
            return
        yield pass_time(LOCK * 3 // 5)
        for proc, place in others:
            yield renew(proc, place)
        yield pass_time(LOCK * 3 // 5)

    def _held(self, node: int) -> Iterator[tuple[str, int]]:
        """Of each lock that is held in the state: its client, and its place among what that client holds."""
        for part in self.survey.graph.nodes[node].state.parts:
            for entry in part.log:
                if entry.status == LOCKED and entry.lock is not None and entry.lock.token is not None:
                    name = self.locks[entry.lock.token]
                    yield from (
                        (proc, s.held.index(name)) for proc, s in self.scripts.items() if name in s.held
                    )

    def _send(self, script: Script, edge: Edge) -> Step:
        message = edge.action.messages[0]
        self.attempts[message.id] += 1
        tried = self.attempts[message.id]
        named = replace(message, id=message.id if tried == 1 else f"{message.id}-{tried}")
        return Step(script.proc, "send", {"messages": (named,)} | _in_txn(edge))

    def _receive(self, script: Script, edge: Edge) -> Step:
        action = edge.action
        return Step(script.proc, "receive", {"max": action.max, "mode": action.mode, "timeout": WAIT})

    def _settle(self, script: Script, edge: Edge) -> Step | None:
        name = self.locks.get(edge.action.locks[0])
        pools: tuple[tuple[list[str], dict[str, bool]], ...] = (
            (script.held, {}),
            (script.enlisted, {"again": True}),
            (script.ended, {"stale": True}),
        )
        for pool, about in pools:
            if name in pool:
                args = {"pick": [pool.index(name)], **about, **_in_txn(edge)}
                return Step(script.proc, edge.action.op, args)
        return None

    def _peek(self, script: Script, edge: Edge) -> Step:
        return peek(script.proc, edge.action.max)

    def _plain(self, script: Script, edge: Edge) -> Step:
        return Step(script.proc, edge.action.op)

    def _flow(self, script: Script, edge: Edge) -> Step:
        again = (edge.action.op == "bind") == (script.flow is not None)
        return Step(script.proc, edge.action.op, {"again": True} if again else {})


def _in_txn(edge: Edge) -> dict[str, bool]:
    return {} if edge.action.txn is None else {"txn": True}


_STEPS: Final[Mapping[str, Callable[[_Writer, Script, Edge], Step | None]]] = {
    "send": _Writer._send,
    "receive": _Writer._receive,
    "complete": _Writer._settle,
    "abandon": _Writer._settle,
    "peek": _Writer._peek,
    **dict.fromkeys(("begin", "commit", "rollback"), _Writer._plain),
    **dict.fromkeys(("bind", "unbind"), _Writer._flow),
}

_FAULTS: Final[Mapping[str, Callable[[Edge], Step]]] = {
    "partition_down": lambda edge: down(edge.action.partition or 0),
    "partition_up": lambda edge: up(edge.action.partition or 0),
    "frontend_lost": lambda edge: lose_front_end(edge.action.victim or ""),
    "broker_kill": lambda edge: Step(ENV, "broker_kill", {}),
    "broker_start": lambda edge: Step(ENV, "broker_start", {}),
}

_TIMES: Final[Mapping[str, Callable[[Scope], int]]] = {
    "expire": lambda scope: EXPIRY,
    "rebalance": lambda scope: profile(scope.profile).default_entity.rebalance_delay + WAIT,
    "handoff": lambda scope: profile(scope.profile).default_entity.max_handoff + WAIT,
}
"""The moves of a broker that time drives, and how many ns they take."""
