"""State graphs, read from TLC's dumps or explored."""

import pytest

from partq.spec.comparison.graphs import Graph, InvalidDump, explored, paths, read_dump, relabelled, way_to

DUMP = r"""
strict digraph DiskGraph {
-18 [label="/\\ x = 0\n/\\ f = \"a\"",style = filled]
-18 -> 53 [label="inc_1",color="black",fontcolor="black"];
53 [label="/\\ x = 1\n/\\ f = \"a\""];
-18 -> 48 [label="inc_2",color="black",fontcolor="black"];
48 [label="/\\ x = 2\n/\\ f = \"a\""];
53 -> 48 [label="inc_1",color="black",fontcolor="black"];
53 -> 48 [label="inc_1",color="black",fontcolor="black"];
48 -> 48 [label="stay",color="black",fontcolor="black"];
{rank = same; -18;}
}
""".splitlines()

OPERATORS = {"inc_1", "inc_2", "stay"}


def test_a_dump_is_a_graph_that_begins_with_the_initial_state() -> None:
    graph = read_dump(DUMP, OPERATORS)

    assert graph.states == [{"x": 0, "f": "a"}, {"x": 1, "f": "a"}, {"x": 2, "f": "a"}]
    assert graph.edges == [
        frozenset({("inc_1", 1), ("inc_2", 2)}),
        frozenset({("inc_1", 2)}),
        frozenset({("stay", 2)}),
    ]
    assert graph.size == (3, 4)


def test_a_label_that_tlc_lost_is_refused() -> None:
    with pytest.raises(InvalidDump, match="'stay', which is no instance"):
        read_dump(DUMP, {"inc_1", "inc_2"})


def test_a_dump_without_an_initial_state_is_refused() -> None:
    with pytest.raises(InvalidDump, match="0 initial states"):
        read_dump([], {})


def test_a_graph_is_explored_up_to_a_limit() -> None:
    count = lambda n: [("more", n + 1)] if n < 3 else []  # noqa: E731

    assert explored(0, count) == Graph(
        [0, 1, 2, 3], [*(frozenset({("more", n)}) for n in (1, 2, 3)), frozenset()]
    )
    with pytest.raises(OverflowError):
        explored(0, lambda n: [("more", n + 1)], limit=10)


def test_the_way_to_a_state_is_a_shortest_one() -> None:
    graph = read_dump(DUMP, OPERATORS)

    assert [way_to(paths(graph), n) for n in range(3)] == [(), ("inc_1",), ("inc_2",)]


def test_edges_are_called_as_the_state_before_them_says_and_may_be_left_out() -> None:
    def label(operator: str, state: object) -> str | None:
        return None if operator == "inc_2" else f"{operator} from {state['x']}"  # type: ignore[index]

    graph = relabelled(read_dump(DUMP, OPERATORS), label)

    assert graph.edges == [
        frozenset({("inc_1 from 0", 1)}),
        frozenset({("inc_1 from 1", 2)}),
        frozenset({("stay from 2", 2)}),
    ]
