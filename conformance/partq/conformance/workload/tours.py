"""Test programs out of the model: small scopes for each profile, their tours, and each tour as a `Program`.

Over a scope's graph the tours pass every state and every transition at least once (`explore.coverage` counts
it). Of a broker no such thing is promised. A program fixes what clients do and which faults strike; which
partition takes a key, what a receive answers and what the broker does unseen are the broker's own choices,
and where they differ from the tour's the run goes another, equally allowed way through the graph. What was
really visited is measured afterwards: `oracle.graph_coverage`.

What steps a transition becomes says `program_writer`. A few transitions no client of a program makes
(`Survey.unsaid`): it settles only with locks that it was given, leaves no flow before the first, and begins
one transaction at a time (`Known`).

Further tours (`Survey.further`) lead to what a broker did not visit so far, on ways that it likes to go, and
on to what shows that they got there; with seeds, too, that led to something rare before.
Nothing here knows what a broker should answer: verdicts come from the history, as for every program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from math import log
from random import Random
from types import MappingProxyType
from typing import Final, NamedTuple

from partq.conformance.workload.cases.steps import program
from partq.conformance.workload.generator import trace_seed
from partq.conformance.workload.program import Program
from partq.conformance.workload.program_writer import HASTE, MARGIN, Move, Writer
from partq.model.actions import INTERNAL, Action, Answer
from partq.model.explore import Edge, Graph, reach, tours
from partq.model.grouping import grouped
from partq.model.operations import ENV, Outcome
from partq.model.profiles import SECOND, profile
from partq.model.scope import PRODUCER, Scope
from partq.model.state import State, entries
from partq.model.statuses import LOCKED

LONGEST: Final = 20
"""Transitions of a tour at the most. A short one is over before a broker's choices lead far away from it."""

AFTER: Final = 4
"""Transitions that a tour goes on after the one that it leads to."""

SHORT_DELAY: Final = SECOND // 100_000
"""ns of a rebalance delay that may end while a handoff goes on that has nothing to wait for."""

AGAIN: Final = 1 / 3
"""How many further programs have a seed that led to something rare anywhere, and how many one that did so on
the way that they take. The others have new ones."""

RARE: Final = 1.5
"""The greater, the more often it is the rarest; with 1 all that was passed is taken alike."""

STEP: Final = 0.2
"""What a transition costs on a way besides what the broker's choice does: short ways are better."""


class Pace(NamedTuple):
    """How long a program waits. ``delay``: the rebalance delay in ns, None for the usual one. ``margin``: see
    `Writer`."""

    delay: int | None = None
    margin: int = MARGIN


USUAL: Final = Pace()
PACES: Final = (USUAL, Pace(margin=HASTE), Pace(delay=SHORT_DELAY))
"""Those of further programs with flows: what comes after a rebalance comes after the handoffs that it began
and that wait for nothing, or while they go on, or while even the next delay ends."""


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
        """The transitions of clients and faults that no program of the scope says."""
        every = {edge for edges in self.graph.edges for edge in edges}
        start = (0, Known())
        found, waiting = {start}, [start]
        while waiting:
            node, known = waiting.pop()
            for edge in self.graph.edges[node]:
                if known.says(edge) and edge.action.op not in self.lacks:
                    every.discard(edge)
                    there = edge.target, known.after(edge)
                    if there not in found:
                        found.add(there)
                        waiting.append(there)
        return every

    def programs(self, seed: int = 1) -> dict[str, Program]:
        """Every tour as a program, by name. The seed decides how a simulated broker makes its choices."""
        places = enumerate(self.tours)
        return {f"{self.name} {n + 1}": program_of(self, tour, trace_seed(seed, n)) for n, tour in places}

    def further(self, plan: Plan, seed: int, number: int) -> dict[str, Program]:
        """The programs of a further round, by name: towards what is wanted. The round's ``number`` decides
        with the seed which ways they take, and which seeds they have: new ones, or such as led to what is
        rare. A program's own seed decides its pace, and how a simulated broker makes its choices."""
        own = trace_seed(seed, -number)
        random, found = Random(own), {}
        proven = Proven(plan, random.random)
        for n, tour in enumerate(towards(self, plan, random)):
            seed_of_it = proven.seed(tour, trace_seed(own, n))
            pace = PACES[seed_of_it % len(PACES)] if self.scope.has_flows else USUAL
            found[f"{self.name} {number}.{n + 1}"] = program_of(self, tour, seed_of_it, pace)
        return found


def surveys(profile_name: str, lacks: frozenset[str] = frozenset()) -> tuple[Survey, ...]:
    """The surveys of a profile, without what the broker lacks; none where the profile is not modelled."""
    found = []
    for name, build in SCOPES.get(profile_name, {}).items():
        scope = build(profile_name)
        has = tuple(op for op in scope.operations if not NEEDS.get(op, frozenset({op})) & lacks)
        found.append(Survey(name, replace(scope, operations=has), lacks))
    return tuple(found)


class _Odds:
    """What a broker's choices cost on a way through the graph: the less often it chose a transition, of those
    that answer the same request of the same state, the more; and ``random`` makes some ways longer."""

    def __init__(self, survey: Survey, plan: Plan, random: Callable[[], float]) -> None:
        self.edges = [[e for e in edges if e not in plan.without] for edges in survey.graph.edges]
        self.costs: dict[Edge, float] = {}
        for edges in self.edges:
            for several in grouped((asked(edge), edge) for edge in edges).values():
                total = sum(plan.passed.get(edge, 0) for edge in several) + len(several)
                for edge in several:
                    share = (plan.passed.get(edge, 0) + 1) / total
                    self.costs[edge] = (STEP - log(share)) * (1 + random())

    def ways(self) -> dict[int, list[Edge]]:
        """The cheapest way to each state that can be reached."""
        found: dict[int, list[Edge]] = {}
        serials = count()
        waiting: list[tuple[float, int, int, list[Edge]]] = [(0.0, next(serials), 0, [])]
        while waiting:
            cost, _, node, way = heappop(waiting)
            if node not in found:
                found[node] = way
                for edge in self.edges[node]:
                    if edge.target not in found:
                        heappush(waiting, (cost + self.costs[edge], next(serials), edge.target, [*way, edge]))
        return found

    def telling(self, edge: Edge, known: Known) -> list[Edge]:
        """What to do after this transition so that the answers are impossible after another one that looks
        the same, or after none, for one of the broker's own; empty if nothing short tells."""
        rivals = {e.target for e in self.edges[edge.source] if looks(e) == looks(edge)} - {edge.target}
        if edge.action.op in INTERNAL:
            rivals.add(edge.source)
        waiting = deque([(edge.target, frozenset(rivals), known, list[Edge]())])
        tried = {waiting[0][:3]}
        while waiting:
            node, others, known, way = waiting.popleft()
            if not others:
                return way
            for onward in self.edges[node] if len(way) < AFTER else ():
                if onward.action.op in INTERNAL or not known.says(onward):
                    continue
                look = looks(onward)
                left = frozenset(e.target for other in others for e in self.edges[other] if looks(e) == look)
                place = onward.target, left, known.after(onward)
                if place not in tried:
                    tried.add(place)
                    waiting.append((*place, [*way, onward]))
        return []


class Known(NamedTuple):
    """What clients know to speak of. ``locks`` and ``flows``: those that they had. ``began``: they have begun
    a transaction; ``is_open``: and not ended it."""

    locks: frozenset[str] = frozenset()
    flows: frozenset[str] = frozenset()
    is_open: bool = False
    began: bool = False

    def says(self, edge: Edge) -> bool:
        """Whether a program may say that now."""
        action = edge.action
        if action.op == "begin":
            return not self.is_open
        if action.op == "unbind" and action.flow not in self.flows:
            return False
        return self.locks.issuperset(action.locks) and (action.txn is None or self.began)

    def after(self, edge: Edge) -> Known:
        """What they know after it was answered."""
        action, answer = edge.action, edge.answer
        given = {delivery.lock for delivery in answer.messages if delivery.lock is not None}
        known = self if given <= self.locks else self._replace(locks=self.locks | given)
        if action.op == "bind" and action.flow is not None and action.flow not in self.flows:
            known = known._replace(flows=known.flows | {action.flow})
        if action.op == "begin" and answer.status == Outcome.OK:
            known = known._replace(is_open=True, began=True)
        return known._replace(is_open=False) if action.op in ("commit", "rollback") else known


class Plan(NamedTuple):
    """What further tours lead to. ``passed``: how often each transition was passed so far. ``without``: those
    that they do not take. ``seeds``: of programs that passed each."""

    wanted: Collection[Edge]
    passed: Mapping[Edge, int]
    without: Collection[Edge] = frozenset()
    seeds: Mapping[Edge, Sequence[int]] = MappingProxyType({})


class Proven:
    """Seeds that led to what is rare. A simulated broker is likely to do so again, since the seed decides
    which of its freedoms it makes use of."""

    def __init__(self, plan: Plan, random: Callable[[], float]) -> None:
        self.plan = plan
        self.random = random
        self.rarest = sorted(plan.seeds, key=lambda edge: plan.passed.get(edge, 0))

    def seed(self, tour: Sequence[Edge], new: int) -> int:
        """One that led to something rare anywhere, or on this tour, or the new one."""
        draw = self.random()
        among = self.rarest if draw < AGAIN else [edge for edge in self.rarest if edge in tour][:1]
        if not among or draw >= 2 * AGAIN:
            return new
        seeds = self.plan.seeds[among[int(self.random() ** RARE * len(among))]]
        return seeds[int(self.random() * len(seeds))]


def asked(edge: Edge) -> Action:
    """What a program asks for: where the answer comes out of is the broker's choice."""
    return edge.action._replace(only=None)


def looks(edge: Edge) -> tuple[Action, Answer]:
    """What a history shows of a transition."""
    return asked(edge), edge.answer


def towards(survey: Survey, plan: Plan, random: Random) -> list[list[Edge]]:
    """Tours to what is wanted, on ways on which the broker's choices are likely: one for each request of a
    state that one of the wanted transitions answers, and on to what shows which answer it was."""
    odds = _Odds(survey, plan, random.random)
    ways = odds.ways()
    reached = (edge for edge in plan.wanted if edge.source in ways)
    found = []
    for several in grouped(((edge.source, asked(edge)), edge) for edge in reached).values():
        edge = several[int(random.random() * len(several))]
        tour, known = [*ways[edge.source], edge], Known()
        for one in tour:
            known = known.after(one)
        tour += odds.telling(edge, known)
        while len(tour) < len(ways[edge.source]) + AFTER and odds.edges[tour[-1].target]:
            onward = odds.edges[tour[-1].target]
            tour.append(onward[int(random.random() * len(onward))])
        found.append(tour)
    return found


def client_of(scope: Scope, proc: str) -> str:
    """The program's client that does what this one of the scope does: a transaction is one client's, so there
    the producer's part is played by the first consumer."""
    return scope.consumers[0] if proc == PRODUCER and scope.transacts else proc


def program_of(survey: Survey, tour: Sequence[Edge], seed: int, pace: Pace = USUAL) -> Program:
    """The tour as a program: equal arguments give equal programs."""
    scope = survey.scope
    writer = Writer(scope.profile, survey.lacks, *pace)
    steps = [step for edge in tour for step in writer.steps(_move(survey, edge))]
    return program(
        scope.profile,
        *steps,
        seed=seed,
        partitions=scope.partitions,
        rebalance_delay=writer.entity.rebalance_delay,
    )


def _move(survey: Survey, edge: Edge) -> Move:
    action = edge.action
    if action.proc != ENV:
        action = action._replace(proc=client_of(survey.scope, action.proc))
    return Move(action, edge.answer, tuple(_held(survey.graph.nodes[edge.target].state)))


def _held(state: State) -> Iterator[str]:
    """The locks that clients have in a state."""
    for _, entry in entries(state):
        if entry.status == LOCKED and entry.lock is not None and entry.lock.token is not None:
            yield entry.lock.token
