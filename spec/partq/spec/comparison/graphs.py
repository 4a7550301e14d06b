"""Labelled state graphs: what a graph is here, and TLC's dumps read as one.

Labels are words of the notation of histories (`receive c1 -> m1`); `SILENT` labels a move that no client
sees. `equivalence` compares graphs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from partq.spec.tools.values import Function, read_state

S = TypeVar("S")

Key = Any
"""What a state is after a mapping: anything that can be hashed."""

Edge = tuple[Any, int]
"""A label (text, but where `explaining` has what a history shows) and the number of the target."""


SILENT: Final = ""
"""The label of a move that is compared by its consequences only."""


class Graph(NamedTuple):
    """States by number, 0 the initial one, and of each its outgoing edges. Every state is reachable."""

    states: list[Any]
    edges: list[frozenset[Edge]]

    @property
    def size(self) -> tuple[int, int]:
        """How many states and how many edges there are."""
        return len(self.states), sum(map(len, self.edges))

    def quotient(self, mapping: Callable[[Any], Key]) -> tuple[dict[Key, int], Graph]:
        """The graph after a mapping of its states, and the number of each of its classes."""
        numbers: dict[Key, int] = {}
        classes = [numbers.setdefault(mapping(state), len(numbers)) for state in self.states]
        edges: list[set[Edge]] = [set() for _ in numbers]
        for source, out in enumerate(self.edges):
            edges[classes[source]].update((label, classes[target]) for label, target in out)
        return numbers, Graph(list(numbers), [frozenset(out) for out in edges])


class InvalidDump(ValueError):
    """The text is no state graph that TLC dumped with ``-dump dot,actionlabels``."""


_NODE: Final = re.compile(
    r'(-?\d+) \[label="((?:[^"\\]|\\.)*)"(?:,tooltip="(?:[^"\\]|\\.)*")?(,style = filled)?'
)
_EDGE: Final = re.compile(r'(-?\d+) -> (-?\d+) \[label="(\w+)')


def read_dump(lines: Iterable[str], operators: Container[str]) -> Graph:
    """The graph that TLC dumped, its labels the operators' names.

    Raises `InvalidDump` where it is no such dump, has not just one initial state, or an operator that is none
    of these: TLC has lost its label.
    """
    states: dict[str, Function] = {}
    edges: dict[str, set[tuple[str, str]]] = {}
    initial = []
    for line in lines:
        if found := _EDGE.match(line):
            source, target, operator = found.groups()
            if operator not in operators:
                raise InvalidDump(f"an edge {operator!r}, which is no instance of an action")
            edges.setdefault(source, set()).add((operator, target))
        elif found := _NODE.match(line):
            name, text, filled = found.groups()
            if name not in states:
                states[name] = read_state(_unescaped(text))
            if filled:
                initial.append(name)
    if len(set(initial)) != 1:
        raise InvalidDump(f"{len(set(initial))} initial states, not one")
    return _numbered(initial[0], states, edges)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)


def _numbered(
    initial: str, states: Mapping[str, Function], edges: Mapping[str, set[tuple[str, str]]]
) -> Graph:
    order = {initial: 0}
    for name in states:
        order.setdefault(name, len(order))
    return Graph(
        [states[name] for name in order],
        [frozenset((label, order[target]) for label, target in edges.get(name, ())) for name in order],
    )


def relabelled(graph: Graph, label: Callable[[str, Any], str | None]) -> Graph:
    """What is reached by the edges that have a label: ``label(operator, state before it)``; None drops it."""
    out = [
        [(new, target) for operator, target in edges if (new := label(operator, state)) is not None]
        for state, edges in zip(graph.states, graph.edges, strict=True)
    ]
    reached = explored(0, out.__getitem__, len(out))
    return Graph([graph.states[number] for number in reached.states], reached.edges)


def explored(
    initial: Any, successors: Callable[[Any], Iterable[tuple[str, Any]]], limit: int = 200_000
) -> Graph:
    """The graph that is reached from a state by a function. Raises `OverflowError` beyond the limit."""
    numbers, states = {initial: 0}, [initial]
    edges: list[frozenset[Edge]] = []
    for state in states:  # grows while it is walked
        out = set()
        for label, after in successors(state):
            number = numbers.setdefault(after, len(states))
            if number == len(states):
                states.append(after)
            out.add((label, number))
        edges.append(frozenset(out))
        if len(states) > limit:
            raise OverflowError(f"more than {limit:,} states")
    return Graph(states, edges)


def closed(states: Iterable[S], onward: Callable[[S], Iterable[S]]) -> frozenset[S]:
    """These states, and all that is reached from them."""
    waiting = [*states]
    found = set(waiting)
    for state in waiting:  # grows while it is walked
        for after in onward(state):
            if after not in found:
                found.add(after)
                waiting.append(after)
    return frozenset(found)


Before = dict[Any, tuple[Any, Any] | None]
"""Of each state the one before it, and the label, on a shortest path; None: it is the initial one."""


def paths(graph: Graph) -> Before:
    """The way to every state."""
    before: Before = {0: None}
    waiting = [0]
    for state in waiting:  # grows while it is walked
        for label, target in sorted(graph.edges[state]):
            if target not in before:
                before[target] = (state, label)
                waiting.append(target)
    return before


def way_to(before: Before, state: Any) -> tuple[Any, ...]:
    """The labels on the way to a state."""
    labels = []
    while (step := before[state]) is not None:
        state, label = step
        labels.append(label)
    return tuple(labels[::-1])
