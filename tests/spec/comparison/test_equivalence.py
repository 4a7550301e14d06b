"""Whether two graphs are the same, and where they part."""

from partq.spec.comparison.equivalence import Difference, bisimilar, same_graphs, same_traces
from partq.spec.comparison.graphs import Graph

SIDES = ("TLA+", "model")


def graph(*edges: str) -> Graph:
    """A graph from edges such as ``0 a 1``; a state's value is its number."""
    out: list[set[tuple[str, int]]] = []
    for edge in edges:
        source, label, target = edge.split()
        while len(out) <= max(int(source), int(target)):
            out.append(set())
        out[int(source)].add((label, int(target)))
    return Graph([*range(len(out))], [frozenset(one) for one in out])


EARLY = graph("0 a 1", "0 a 2", "1 b 3", "2 c 3")
"""The choice between b and c is made with a."""

LATE = graph("0 a 1", "1 b 2", "1 c 2")
"""It is made after a."""


def same(state: int) -> int:
    return state


def test_equal_graphs_are_equal_whatever_their_order() -> None:
    one = graph("0 a 1", "0 b 2", "1 c 0")
    other = Graph(
        ["zero", "two", "one"], [frozenset({("a", 2), ("b", 1)}), frozenset(), frozenset({("c", 0)})]
    )
    names = {"zero": 0, "one": 1, "two": 2}

    assert same_graphs(one, other, (same, names.__getitem__), SIDES) is None


def test_an_edge_of_one_side_is_found_with_the_way_to_it() -> None:
    one, other = graph("0 a 1", "1 b 2", "2 c 0"), graph("0 a 1", "1 b 2")

    found = same_graphs(one, other, (same, same), SIDES)

    assert found == Difference(("a", "b"), "c", "TLA+", "an edge of one side")
    assert same_graphs(other, one, (same, same), SIDES) == found._replace(only="model")


def test_a_state_of_one_side_is_found_with_the_way_to_it() -> None:
    found = same_graphs(graph("0 a 1"), graph("0 a 1", "1 b 2"), (same, same), SIDES)

    assert found == Difference(("a",), "b", "model", "a state of one side")


def test_a_mapping_that_merges_states_which_behave_otherwise_hides_too_much() -> None:
    found = same_graphs(LATE, LATE, (lambda state: 0, same), SIDES)

    assert found is not None and found.only == "TLA+" and "merges" in found.why


def test_a_mapping_may_merge_what_behaves_alike() -> None:
    twice = graph("0 a 1", "0 b 2", "1 c 0", "2 c 0")
    once = graph("0 a 1", "0 b 1", "1 c 0")

    assert same_graphs(twice, once, (lambda state: min(state, 1), same), SIDES) is None
    assert bisimilar(twice, once, SIDES) is None


def test_a_choice_made_earlier_is_the_same_by_traces_and_not_bisimilar() -> None:
    assert same_traces(EARLY, LATE, SIDES) is None
    found = bisimilar(EARLY, LATE, SIDES)

    assert found is not None and "different moments" in found.why
    assert (found.path, found.label) == ((), "a")
    assert found.after == ((("b",), ("c",)), (("b", "c"),)), "what each side may do then"


def test_a_choice_is_told_where_it_is_made_however_late_it_shows() -> None:
    early = graph("0 x 1", "1 a 2", "1 a 3", "2 b 1", "3 c 1")
    late = graph("0 x 1", "1 a 2", "2 b 1", "2 c 1")
    found = bisimilar(early, late, SIDES)

    assert found is not None and (found.path, found.label) == (("x",), "a")


def test_traces_that_differ_are_told_by_the_shortest() -> None:
    longer = graph("0 a 1", "1 b 2", "1 c 2", "2 d 0")

    assert same_traces(LATE, longer, SIDES) == Difference(("a", "b"), "d", "model")
    assert bisimilar(LATE, longer, SIDES) == Difference(("a", "b"), "d", "model")
