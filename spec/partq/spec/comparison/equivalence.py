"""Whether two labelled graphs are the same: as graphs, up to bisimulation, or by their traces.

If they are not, the shortest path to a difference is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from itertools import product
from typing import Any, Final, NamedTuple

from .graphs import SILENT, Before, Edge, Graph, Key, closed, paths, way_to

Successors = tuple[tuple[str, ...], ...]
"""Of each of several states the labels of its edges."""


class Grade(StrEnum):
    """How strongly two graphs agree, the strongest first."""

    GRAPHS = "graphs"
    BISIMILAR = "bisimilar"
    TRACES = "traces"


class Difference(NamedTuple):
    """Where two graphs part: after the steps of ``path``, which both can take, ``label`` can be taken on the
    side ``only`` alone, or (no side) what comes after it differs. ``after``: for each side, what may follow
    in each of the states that it leads to."""

    path: tuple[str, ...]
    label: str = ""
    only: str = ""
    why: str = ""
    after: tuple[Successors, Successors] | None = None


_EARLIER: Final = "the traces are the same, but a choice is made at different moments"

Sides = tuple[str, str]
"""The names of the two graphs."""


def same_graphs(
    one: Graph, other: Graph, mappings: tuple[Callable[[Any], Key], Callable[[Any], Key]], sides: Sides
) -> Difference | None:
    """Whether the graphs are equal after these mappings to a common form, each of which merges only states
    that are bisimilar in its own graph."""
    quotients = []
    for graph, mapping, side in zip((one, other), mappings, sides, strict=True):
        if hidden := _hides_too_much(graph, mapping):
            return Difference(way_to(paths(graph), hidden[0]), only=side, why=hidden[1])
        quotients.append(graph.quotient(mapping))
    (keys, left), (other_keys, right) = quotients
    before = paths(left), paths(right)
    for mine, theirs, n in ((keys, other_keys, 0), (other_keys, keys, 1)):
        missing = [number for key, number in mine.items() if key not in theirs]
        if missing:
            ways = [way_to(before[n], number) for number in missing]
            shortest = min(ways, key=lambda way: (len(way), way))
            return Difference(shortest[:-1], shortest[-1], sides[n], "a state of one side")
    same = {number: other_keys[key] for key, number in keys.items()}
    for source in range(len(left.states)):
        here = {(label, same[target]) for label, target in left.edges[source]}
        if unequal := sorted(here ^ right.edges[same[source]]):
            way, edge = way_to(before[0], source), unequal[0]
            return Difference(way, edge[0], sides[edge not in here], "an edge of one side")
    return None


def _hides_too_much(graph: Graph, mapping: Callable[[Any], Key]) -> tuple[int, str] | None:
    """A state that a mapping merges with one that is not bisimilar to it, and why that is wrong."""
    blocks = bisimulation(graph.edges)
    first: dict[Key, int] = {}
    for number, state in enumerate(graph.states):
        other = first.setdefault(mapping(state), number)
        if blocks[other] != blocks[number]:
            return number, "the mapping merges this state with one that behaves otherwise"
    return None


def bisimulation(edges: list[frozenset[Edge]]) -> list[int]:
    """Of each state the number of its block in the coarsest partition in which states of one block have, by
    each label, edges to the same blocks."""
    blocks = [0] * len(edges)
    count = 1
    while True:
        numbers: dict[tuple[int, frozenset[Edge]], int] = {}
        blocks = [
            numbers.setdefault(
                (blocks[state], frozenset([(label, blocks[target]) for label, target in out])), len(numbers)
            )
            for state, out in enumerate(edges)
        ]
        if len(numbers) == count:
            return blocks
        count = len(numbers)


def minimal(graph: Graph) -> Graph:
    """The graph with bisimilar states merged."""
    blocks = bisimulation(graph.edges)
    merged = Graph([*range(len(graph.states))], graph.edges).quotient(blocks.__getitem__)
    return merged[1]


def bisimilar(one: Graph, other: Graph, sides: Sides) -> Difference | None:
    """Whether the initial states of two graphs are bisimilar."""
    shift = len(one.states)
    moved = [frozenset([(label, target + shift) for label, target in out]) for out in other.edges]
    blocks = bisimulation([*one.edges, *moved])
    if blocks[0] == blocks[shift]:
        return None
    return same_traces(one, other, sides) or _branching(one, other, blocks)


def _branching(one: Graph, other: Graph, blocks: list[int]) -> Difference:
    """Traces are equal, and yet a choice is made earlier on one side: the shortest way to where, and what
    may follow on each side."""
    shift, start = len(one.states), (0, 0)
    before: Before = {start: None}
    waiting = [start]
    for left, right in waiting:  # grows while it is walked
        for label in sorted({label for label, _ in one.edges[left] | other.edges[right]}):
            mine, theirs = _led_to(one, left, label), _led_to(other, right, label)
            after = _offers(one, mine), _offers(other, theirs)
            if after[0] != after[1]:
                return Difference(way_to(before, (left, right)), label, why=_EARLIER, after=after)
            for pair in product(mine, theirs):
                alike = _offers(one, pair[:1]) == _offers(other, pair[1:])
                if alike and pair not in before and blocks[pair[0]] != blocks[pair[1] + shift]:
                    before[pair] = (left, right), label
                    waiting.append(pair)
    raise AssertionError("these graphs are bisimilar")


def _led_to(graph: Graph, state: int, label: Any) -> list[int]:
    return sorted(target for by, target in graph.edges[state] if by == label)


def _offers(graph: Graph, states: Iterable[int]) -> Successors:
    """What may follow in these states, each once."""
    return tuple(sorted({tuple(sorted({label for label, _ in graph.edges[state]})) for state in states}))


def same_traces(one: Graph, other: Graph, sides: Sides) -> Difference | None:
    """Whether two graphs have the same traces, silent moves left out: both made deterministic, in step."""
    one, other = minimal(one), minimal(other)
    start = (settled(one, {0}), settled(other, {0}))
    before: Before = {start: None}
    waiting = [start]
    for pair in waiting:  # grows while it is walked
        left, right = after_of(one, pair[0]), after_of(other, pair[1])
        if unequal := sorted(left.keys() ^ right.keys()):
            return Difference(way_to(before, pair), unequal[0], sides[unequal[0] not in left])
        for label in sorted(left):
            after = (settled(one, left[label]), settled(other, right[label]))
            if after not in before:
                before[after] = (pair, label)
                waiting.append(after)
    return None


def after_of(graph: Graph, states: frozenset[int]) -> dict[Any, set[int]]:
    """Of each label that one of these states has where its edges lead."""
    found: dict[Any, set[int]] = {}
    for state in states:
        for label, target in graph.edges[state]:
            if label != SILENT:
                found.setdefault(label, set()).add(target)
    return found


def settled(graph: Graph, states: set[int]) -> frozenset[int]:
    """These states, and all that silent moves lead to."""
    return closed(states, lambda state: (to for label, to in graph.edges[state] if label == SILENT))
