"""The broker's own moves can wait until an answer shows them, but for the last chances that
`exploration.module` lists.

Put to the specification's own graphs, as TLC explores them: whatever is explained by own moves at any time is
explained as an exploration makes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

import pytest

from partq.spec.comparison.graphs import Graph
from partq.spec.comparison.spec_side import LABELS, SpecScope, graph_of
from partq.spec.exploration.module import LAST_CHANCE, OWN
from partq.spec.tools.toolbox import ToolMissing, java, tlc_jar

States = frozenset[int]
Chances = Mapping[str, tuple[str, ...]]

CACHES = ("partitioned", "numbers", "expiry", "caches")
OUTAGE = SpecScope(CACHES, ("a", "a"), ("outage",), clients=1)
NUMBERS = SpecScope(
    ("partitioned", "numbers", "expiry"),
    ("a", "a"),
    ("transaction",),
    ("early", "lag"),
    partitions=1,
    clients=1,
    max_tries=1,
)
LOCKS = SpecScope(CACHES, ("a", "a"), ("abandon", "stale", "delete"), clients=1)


PLACES = {
    "{c}": r"c\d",
    "{m}": r"m\d",
    "{ms}": r"m\d( m\d)*",
    "{named}": r"m\d( m\d)*",
    "{both}": r"m\d m\d",
    "{lock}": r"m\d/\d",
    "{p}": r"partition \d",
}
"""What stands in the places of `LABELS`."""


def actions_of(label: str) -> list[str]:
    """The actions that a label may be of."""
    return [
        name
        for name, form in LABELS.items()
        if re.fullmatch(re.sub(r"\{\w+\}", lambda place: PLACES[place[0]], form), label)
    ]


class Watched:
    """A graph in which own moves are not seen, and of a delivery also its place and count are."""

    def __init__(self, graph: Graph) -> None:
        self.own: list[list[tuple[str, int]]] = [[] for _ in graph.states]
        self.seen: list[dict[str, set[int]]] = [{} for _ in graph.states]
        for source, out in enumerate(graph.edges):
            for label, target in out:
                name, *_ = actions_of(label)
                if name in OWN:
                    self.own[source].append((name, target))
                else:
                    shown = label + self._shown(name, label, graph.states[source], graph.states[target])
                    self.seen[source].setdefault(shown, set()).add(target)

    @staticmethod
    def _shown(name: str, label: str, before: Mapping[str, object], after: Mapping[str, object]) -> str:
        if name != "Receive":
            return ""
        m = int(label.rsplit("m", 1)[1]) - 1
        message = after["msg"][m]  # type: ignore[index]
        return f" {message['part']} {message['num']} {message['count']}"

    def after(self, states: Iterable[int], label: str) -> States:
        return frozenset().union(*(self.seen[state].get(label, ()) for state in states))

    def moved(self, states: Iterable[int], names: Iterable[str]) -> States:
        """Where one own move of these leads."""
        return frozenset(target for state in states for name, target in self.own[state] if name in names)


def reached(states: States, step: Callable[[States], States]) -> States:
    """Where any number of steps leads."""
    found = new = states
    while new:
        new = step(new) - found
        found |= new
    return found


def missed(graph: Watched, chances: Chances) -> str:
    """A label that own moves at any time explain, and an exploration does not; empty if there is none."""

    @cache
    def explored(state: int, label: str) -> States:
        names: Iterable[str] = OWN
        found: States = frozenset()
        here = passed = frozenset({state})
        while here:
            if then := graph.after(here, label):
                found |= then
                names = {name for action in actions_of(plain(label)) for name in chances.get(action, ())}
            here = graph.moved(here, names) - passed
            passed |= here
        return found

    any_time = reached(frozenset({0}), lambda states: graph.moved(states, OWN))
    waiting = [(any_time, frozenset({0}))]
    known = {*waiting}
    while waiting:
        every, some = waiting.pop()
        for label in {label for state in every for label in graph.seen[state]}:
            now = reached(graph.after(every, label), lambda states: graph.moved(states, OWN))
            then = frozenset().union(*(explored(state, label) for state in some))
            if not then:
                return label
            if (now, then) not in known:
                known.add((now, then))
                waiting.append((now, then))
    return ""


def plain(label: str) -> str:
    """The label without what is shown besides."""
    return re.sub(r"(-> m\d+) .*", r"\1", label)


def watched(scope: SpecScope) -> Watched:
    """The scope's graph; skips where there is no TLC."""
    try:
        java(), tlc_jar()
    except ToolMissing as error:
        pytest.skip(str(error))
    return Watched(graph_of(scope))


@pytest.mark.slow
@pytest.mark.parametrize("scope", [OUTAGE, NUMBERS, LOCKS])
def test_own_moves_can_wait(scope: SpecScope) -> None:
    assert missed(watched(scope), LAST_CHANCE) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scope", "action", "label"), [(OUTAGE, "PartitionDown", "receive"), (NUMBERS, "Send", "receive")]
)
def test_a_last_chance_that_is_forgotten_is_missed(scope: SpecScope, action: str, label: str) -> None:
    fewer = {name: moves for name, moves in LAST_CHANCE.items() if name != action}
    assert missed(watched(scope), fewer).startswith(label)
