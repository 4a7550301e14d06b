"""Exploration: the graph, its packed count, tours, drawing, and that nothing depends on hash order."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import networkx as nx
import pytest

from partq.model import packed
from partq.model.explore import Coverage, Graph, TooLarge, coverage, draw, main, reach, tours
from partq.model.machine import steps
from partq.model.operations import Outcome
from partq.model.packed import Count
from partq.model.scope import USUAL, Group, InvalidOperations, Scope

BASIC = ("receive", "complete")


def scope(messages: str = "ab", *operations: str, **more: object) -> Scope:
    return Scope(messages=tuple(messages), operations=operations or BASIC, **more)  # type: ignore[arg-type]


FLAT = {"profile": "azure-flat", "partitions": 1}
SOLACE = {"profile": "solace"}

# Pinned: a change of a number is a change of what the model allows (or of what a scope offers), to be
# explained in the commit that makes it. States, then transitions. The first two follow by hand: one client,
# one message. Flat: unsent (send; receive nothing), stored (receive it; nothing), locked (complete; nothing),
# done (nothing). With two partitions all but the first are there twice, and there are two sends.
SIZES = [
    (scope("a", clients=1, **FLAT), 4, 7),
    (scope("a", clients=1), 7, 13),
    (scope("ab"), 67, 268),
    (scope("ab", symmetric=True), 34, 135),
    (scope("a", *USUAL), 89, 518),
    (scope("a", *BASIC, "abandon", "delete", "stale"), 15, 130),
    (scope("a-", *BASIC, "partition faults"), 2081, 16239),
    (scope("ab", *BASIC, "transactions", clients=1), 454, 3217),
    (scope("a", *BASIC, "transactions", "partition faults", clients=1, freedoms=("early", "lag")), 898, 8771),
    (scope("a", *BASIC, "broker faults", "lost front ends", "peek", **FLAT), 1136, 14620),
    (scope("a", **SOLACE), 948, 8263),
]


@pytest.mark.parametrize(("bounds", "states", "transitions"), SIZES)
def test_the_graph_and_its_packed_count_are_of_the_pinned_size(
    bounds: Scope, states: int, transitions: int
) -> None:
    graph = reach(bounds)
    assert (len(graph.nodes), graph.transitions) == (states, transitions)
    counted = packed.count(bounds)
    assert (counted.states, counted.transitions) == (states, transitions)


def test_a_packed_count_is_of_the_same_depth_as_the_graph() -> None:
    for bounds, _, _ in SIZES[:5]:
        edges = [(edge.source, edge.target) for out in reach(bounds).edges for edge in out]
        distances = nx.single_source_shortest_path_length(nx.DiGraph(edges), 0)
        assert packed.count(bounds).depth == max(distances.values())


def test_an_action_that_looks_outside_of_its_footprint_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = scope("ab")
    for lost in ("keys", "sent", "part 0"):
        groups = tuple(Group(g.footprint - {lost}, g.actions) for g in bounds.groups)
        narrow = scope("ab")
        monkeypatch.setitem(narrow.__dict__, "groups", groups)
        with pytest.raises((AssertionError, TypeError)):
            packed.count(narrow)


def test_a_graph_that_is_too_large_is_refused() -> None:
    with pytest.raises(TooLarge):
        reach(scope("ab"), limit=10)
    with pytest.raises(packed.TooLarge):
        packed.count(scope("ab"), limit=10)


def test_operations_that_are_not_there_are_refused() -> None:
    with pytest.raises(InvalidOperations):
        scope("a", "teleport")
    with pytest.raises(InvalidOperations):
        scope("a", "peek", **SOLACE)


def edges(graph: Graph) -> Counter[object]:
    return Counter(edge for found in graph.edges for edge in found)


def test_tours_pass_every_transition_and_start_with_the_empty_entity() -> None:
    for bounds in (scope("ab"), scope("a", *USUAL), scope("a", *BASIC, **SOLACE)):
        graph = reach(bounds)
        walked = tours(graph, longest=50)
        assert {edge for tour in walked for edge in tour} == set(edges(graph))
        for tour in walked:
            assert tour[0].source == 0
            assert all(a.target == b.source for a, b in pairwise(tour))


def test_coverage_counts_against_the_graph_and_notices_what_is_left_out() -> None:
    graph = reach(scope("a", clients=1))
    passed = [edge for tour in tours(graph) for edge in tour]
    assert coverage(graph, passed) == Coverage(7, 7, 13, 13)
    assert coverage(graph, passed).whole
    for left_out in set(passed):
        rest = [edge for edge in passed if edge != left_out]
        assert coverage(graph, rest).transitions == 12
        assert not coverage(graph, rest).whole
    assert coverage(graph, []) == Coverage(1, 7, 0, 13)
    assert coverage(graph, graph.edges[0]).states == 3
    with pytest.raises(ValueError, match="not in the graph"):
        coverage(graph, [passed[0]._replace(target=6)])


def test_tours_can_be_walked_with_the_machine() -> None:
    bounds = scope("ab", *BASIC, "abandon")
    graph = reach(bounds)
    for tour in tours(graph)[:20]:
        state = bounds.start.state
        for edge in tour:
            after = graph.nodes[edge.target].state
            assert (edge.answer, after) in list(steps(state, edge.action))
            state = after


def test_tours_are_no_longer_than_they_need() -> None:
    graph = reach(scope("ab"))
    assert sum(map(len, tours(graph))) <= 3 * graph.transitions


def test_the_drawing_has_every_state_and_names_every_transition() -> None:
    graph = reach(scope("a", clients=1))
    lines = draw(graph).splitlines()
    assert sum("[label=" in line and "->" not in line for line in lines) == len(graph.nodes)
    arrows = {(e.source, e.target) for found in graph.edges for e in found}
    assert sum("->" in line for line in lines) == len(arrows)
    assert any("m1:locked(c1)" in line for line in lines)
    assert any('label="receive → m1"' in line for line in lines)


def test_errors_are_transitions_too() -> None:
    graph = reach(scope("a", *BASIC, "stale"))
    failed = [e for found in graph.edges for e in found if e.answer.status == Outcome.ERROR]
    assert failed
    assert all(e.source == e.target for e in failed)


def test_the_command_counts_walks_and_draws(
    tmp_path: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    small = ["--messages", "a", "--operations", "receive", "complete"]
    assert main(small) == 0
    assert "states/s" in capsys.readouterr().out
    assert main([*small, "--tours", "--dot", "graph.dot"]) == 0
    assert "tours of" in capsys.readouterr().out
    with open("graph.dot", encoding="utf-8") as file:
        assert file.read().startswith("digraph")
    assert main(["--profile", "azure-flat", "--partitions", "3"]) == 2
    assert main([*small, "--limit", "3"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


_DIGEST = """
import hashlib
from partq.model.explore import draw, reach, tours
from partq.model.scope import Scope
operations = ("receive", "complete", "transactions", "partition faults")
graph = reach(Scope(messages=("a",), operations=operations, clients=1))
text = draw(graph) + repr([[edge[:2] for edge in tour] for tour in tours(graph)])
print(hashlib.sha256(text.encode()).hexdigest())
"""


def test_nothing_depends_on_the_order_of_hashes() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", _DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(digests) == 1


@pytest.mark.slow
def test_the_usual_scope_is_of_the_pinned_size() -> None:
    assert packed.count(Scope()) == Count(305_247, 2_999_126, 18)
