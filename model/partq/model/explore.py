"""The reachable state graph of a scope: counted, drawn, and walked through by tours.

`Graph` is the whole graph in memory, found breadth first with the machine's own `steps`; `packed.count`
counts the same one quickly. A *tour* is a path from the empty entity; all tours together pass every
transition, and `coverage` counts what any paths pass. Who can run programs makes programs of them.
Run it: ``python -m partq.model.explore --profile azure-premium --messages a b a``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from . import packed
from .actions import Action, Answer
from .machine import steps
from .profiles import PROFILES, profile
from .scope import OPERATIONS, USUAL, Node, Scope
from .state import Entry
from .statuses import STATUSES


class TooLarge(RuntimeError):
    """The graph has more states than were allowed."""


class Edge(NamedTuple):
    """One transition. Nodes are numbers, 0 the empty entity."""

    source: int
    action: Action
    answer: Answer
    target: int


class Graph(NamedTuple):
    """All states that a scope reaches, in the order found, and all transitions, by their source."""

    nodes: list[Node]
    edges: list[list[Edge]]

    @property
    def transitions(self) -> int:
        """The number of transitions."""
        return sum(map(len, self.edges))


def reach(scope: Scope, limit: int = 200_000) -> Graph:
    """The graph of a scope. Raises `TooLarge` for more than ``limit`` states."""
    numbers, nodes, edges = {scope.start: 0}, [scope.start], []
    for source, node in enumerate(nodes):
        found: dict[tuple[Action, Answer, int], None] = {}
        for action, answer, after in successors(scope, node):
            target = numbers.setdefault(after, len(nodes))
            if target == len(nodes):
                nodes.append(after)
            found[action, answer, target] = None
        edges.append([Edge(source, *rest) for rest in found])
        if len(nodes) > limit:
            raise TooLarge(f"more than {limit:,} states")
    return Graph(nodes, edges)


def successors(scope: Scope, node: Node) -> Iterator[tuple[Action, Answer, Node]]:
    """Every transition out of a node that stays in the scope."""
    every = range(scope.partitions)
    for action in scope.actions(node):
        for answer, after in steps(node.state, action):
            if scope.within(after, every):
                yield action, answer, Node(after, scope.sent_after(action, answer, node.sent))


# Test programs


def tours(graph: Graph, longest: int = 200) -> list[list[Edge]]:
    """Paths from the empty entity that together pass every transition, so also every state, at least once.

    Greedy: go on with a transition not yet passed, else go the shortest way to the nearest one; start anew
    where there is none, or after ``longest`` transitions. Deterministic.
    """
    left = [deque(edges) for edges in graph.edges]
    found = []
    while any(left):
        tour: list[Edge] = []
        way = _nearest(graph, left, 0)
        while way and len(tour) < longest:
            left[way[-1].source].popleft()
            tour += way
            way = _nearest(graph, left, way[-1].target)
        found.append(tour)
    return found


class Coverage(NamedTuple):
    """How many of a graph's states and transitions were passed, and how many there are."""

    states: int
    of_states: int
    transitions: int
    of_transitions: int

    @property
    def whole(self) -> bool:
        """Whether all of the graph was passed."""
        return (self.states, self.transitions) == (self.of_states, self.of_transitions)


def coverage(graph: Graph, passed: Iterable[Edge]) -> Coverage:
    """How much of the graph these transitions pass; the empty entity counts as a state that was visited.
    Raises `ValueError` for a transition that is not the graph's."""
    edges = set(passed)
    known = {edge for found in graph.edges for edge in found}
    if not edges <= known:
        raise ValueError("a transition that is not in the graph")
    states = {0, *(n for edge in edges for n in (edge.source, edge.target))}
    return Coverage(len(states), len(graph.nodes), len(edges), len(known))


def _nearest(graph: Graph, left: list[deque[Edge]], here: int) -> list[Edge]:
    """The shortest way on that ends with a transition not yet passed, the next one of its source; empty where
    none can be reached."""
    came: dict[int, Edge | None] = {here: None}
    waiting = deque([here])
    while waiting:
        node = waiting.popleft()
        if left[node]:
            return [*_way(came, node), left[node][0]]
        for edge in graph.edges[node]:
            if edge.target not in came:
                came[edge.target] = edge
                waiting.append(edge.target)
    return []


def _way(came: dict[int, Edge | None], node: int) -> list[Edge]:
    way = []
    step = came[node]
    while step is not None:
        way.append(step)
        step = came[step.source]
    return way[::-1]


# Drawing


def draw(graph: Graph) -> str:
    """The graph in Graphviz' DOT language; transitions between the same two states share an arrow."""
    arrows: dict[tuple[int, int], dict[str, None]] = {}
    for edge in chain.from_iterable(graph.edges):
        arrows.setdefault((edge.source, edge.target), {})[label(edge.action, edge.answer)] = None
    labelled = ((*ends, "\n".join(labels)) for ends, labels in arrows.items())
    return dot("states", "shape=box, fontname=monospace", map(describe, graph.nodes), labelled)


def dot(name: str, style: str, nodes: Iterable[str], arrows: Iterable[tuple[int, int, str]]) -> str:
    """A graph in DOT. ``nodes``: what each is called, by its number; ``arrows``: from, to, and what they are
    called."""
    lines = [f"digraph {name} {{", "  rankdir=LR;", f"  node [{style}];"]
    lines += [f"  n{number} [label={_quoted(text)}];" for number, text in enumerate(nodes)]
    lines += [f"  n{one} -> n{other} [label={_quoted(text)}];" for one, other, text in arrows]
    return "\n".join([*lines, "}", ""])


def describe(node: Node) -> str:
    """A state in a few short lines: of each partition what is stored, and what else is special."""
    state = node.state
    lines = []
    for p, part in enumerate(state.parts):
        down = " down" if state.down >> p & 1 else ""
        lines.append(f"{p}{down}: {' '.join(map(_stored, part.log))}")
    lines += [f"{key}@{p}" for key, p in state.keys]
    lines += [f"{txn.name}: {len(txn.sends)} sent, {len(txn.settles)} settled" for txn in state.txns]
    if state.flows is not None:
        pairs = (pair and " ".join(pair) for pair in state.flows.owner)
        lines.append("; ".join(pair or "-" for pair in pairs))
    return "\n".join([*(["dead"] if state.dead else []), *lines])


def _stored(entry: Entry) -> str:
    holder = entry.lock and entry.lock.holder
    return f"{entry.id}:{STATUSES[entry.status].name}{f'({holder})' if holder else ''}{'+' * entry.tries}"


def label(action: Action, answer: Answer) -> str:
    """A transition in a few words."""
    words = [action.op, action.flow or "", *(m.id for m in action.messages), *action.locks, action.txn or ""]
    if action.partition is not None:
        words.append(str(action.partition))
    shown = [d.id for d in answer.messages]
    ended = "error" if answer.errors else " ".join(shown)
    return " ".join(word for word in words if word) + (f" → {ended}" if ended else "")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


# The command


def main(arguments: list[str] | None = None) -> int:
    """Explore a scope and print states, transitions and the rate; 0, or 2 for bad usage."""
    given = _parser().parse_args(arguments)
    family = profile(given.profile)
    count = next((n for n in (2, *family.partitions) if n in family.partitions), 2)
    usual = [name for name in USUAL if name != "peek" or family.peek]
    try:
        scope = Scope(
            profile=given.profile,
            partitions=given.partitions or count,
            messages=tuple(given.messages),
            clients=given.clients,
            max=given.max,
            max_tries=given.max_tries,
            operations=tuple(usual if given.operations is None else given.operations),
            symmetric=given.symmetric,
            freedoms=tuple(given.freedoms),
        )
        return _count(scope, given) if given.dot is None and not given.tours else _walk(scope, given)
    except (ValueError, TooLarge, packed.TooLarge) as error:
        print(f"explore: {error}", file=sys.stderr)
        return 2


def _count(scope: Scope, given: argparse.Namespace) -> int:
    begun, worked = time.perf_counter(), time.process_time()
    found = packed.count(scope, limit=given.limit)
    took, cpu = time.perf_counter() - begun, time.process_time() - worked
    print(f"{found.states:,} states, {found.transitions:,} transitions, depth {found.depth}", end="")
    print(f"; {took:.1f} s ({cpu:.1f} s of it CPU), {found.states / took:,.0f} states/s")
    return 0


def _walk(scope: Scope, given: argparse.Namespace) -> int:
    graph = reach(scope, given.limit)
    print(f"{len(graph.nodes):,} states, {graph.transitions:,} transitions")
    if given.tours:
        walked = tours(graph)
        print(f"{len(walked):,} tours of {sum(map(len, walked)):,} transitions pass all of them")
    if given.dot is not None:
        with open(given.dot, "w", encoding="utf-8") as file:
            file.write(draw(graph))
    return 0


def _parser() -> argparse.ArgumentParser:
    default: Any = Scope()
    parser = argparse.ArgumentParser("python -m partq.model.explore", description=main.__doc__)
    modelled = [name for name, family in PROFILES.items() if family.modelled]
    parser.add_argument("--profile", choices=modelled, default=default.profile)
    parser.add_argument("--partitions", type=int, help="2 where the profile allows it")
    parser.add_argument("--messages", nargs="*", default=default.messages, help="the key of each; - for none")
    parser.add_argument("--clients", type=int, default=default.clients)
    parser.add_argument("--max", type=int, default=default.max, help="of one receive or peek")
    parser.add_argument("--max-tries", type=int, default=default.max_tries, help="bound of delivery counts")
    parser.add_argument(
        "--operations", nargs="*", choices=OPERATIONS, metavar="OPERATION", help=", ".join(OPERATIONS)
    )
    parser.add_argument("--freedoms", nargs="*", choices=("lag", "early", "owing"), default=())
    parser.add_argument("--symmetric", action="store_true", help="partitions are interchangeable")
    parser.add_argument("--limit", type=int, default=5_000_000, help="states at most")
    parser.add_argument("--dot", metavar="FILE", help="draw the graph, for Graphviz")
    parser.add_argument("--tours", action="store_true", help="count the tours that pass it all")
    return parser


if __name__ == "__main__":
    sys.exit(main())
