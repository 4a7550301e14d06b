"""Transitions that no history needs: small graphs by hand, and histories without them."""

from __future__ import annotations

import pytest

from partq.conformance.adapters.reference import CAMPAIGN, Reference
from partq.conformance.execution.runner import run
from partq.conformance.oracle.graph_coverage import Tally, follow
from partq.conformance.oracle.unneeded import unneeded
from partq.conformance.workload.tours import Survey, surveys
from partq.model.actions import INTERNAL
from partq.model.explore import Edge, Graph, label
from partq.model.scope import Scope

FLAT = Survey("flat", Scope("azure-flat", 1, ("-",), 1, operations=("receive", "complete")))
ONE_FLOW = Survey("one flow", Scope("solace", 2, ("a",), 1, operations=("receive", "complete")))
DELETES = Survey(
    "keys", Scope("azure-premium", 2, ("a", "b"), 1, operations=("delete", "transactions"), symmetric=True)
)


def every(survey: Survey) -> set[Edge]:
    return {edge for edges in survey.graph.edges for edge in edges}


def test_what_was_passed_is_not_among_them() -> None:
    assert unneeded(ONE_FLOW, every(ONE_FLOW)) == set()


def test_where_all_looks_different_all_is_needed() -> None:
    assert unneeded(FLAT, set()) == set()


def test_which_partition_has_a_message_that_shows_none_makes_no_difference() -> None:
    """The other one is needed, and what follows in it."""
    found = unneeded(ONE_FLOW, set())
    sends = [edge for edge in ONE_FLOW.graph.edges[0] if edge.action.op == "send"]
    assert [edge.action.only in (0, 1) and edge in found for edge in sends] in ([True, False], [False, True])
    assert 2 * len(found) < len(every(ONE_FLOW))


def test_it_stays_unneeded_when_all_else_was_passed() -> None:
    found = unneeded(ONE_FLOW, set())
    assert unneeded(ONE_FLOW, every(ONE_FLOW) - found) == found


def test_a_partition_that_was_never_shown_may_be_any() -> None:
    found = {(label(edge.action, edge.answer), edge.source) for edge in unneeded(DELETES, set())}
    assert any(name == "rollback t" for name, _ in found)
    shown = {edge for edge in every(DELETES) if edge.answer.messages}
    kept = shown - unneeded(DELETES, set())
    assert {(d.id, d.partition) for edge in kept for d in edge.answer.messages} >= {("m1", 0), ("m2", 1)}


def test_at_the_limit_nothing_is_said_to_be_unneeded() -> None:
    assert unneeded(ONE_FLOW, set(), limit=5) == set()


@pytest.mark.parametrize(("profile", "name"), [("azure-flat", "kills"), ("solace", "one flow")])
def test_histories_fit_the_graph_without_them_by_as_few_unseen_moves(profile: str, name: str) -> None:
    broker = Reference(profile, freedoms=CAMPAIGN)
    survey = next(survey for survey in surveys(profile, broker.lacks()) if survey.name == name)
    histories = [run(broker, program) for program in survey.programs(3).values()]
    tally = Tally(survey)
    for history in histories:
        tally.add(history)
    for passed in (set[Edge](), tally.passed):
        gone = unneeded(survey, passed)
        rest = Survey(survey.name, survey.scope, survey.lacks)
        edges = [[edge for edge in edges if edge not in gone] for edges in survey.graph.edges]
        rest.__dict__["graph"] = Graph(survey.graph.nodes, edges)
        assert gone or profile != "solace"
        for history in histories:
            with_all, without = follow(survey, history), follow(rest, history)
            assert without.left == with_all.left
            assert unseen(without.path) <= unseen(with_all.path)


def unseen(path: tuple[Edge, ...]) -> int:
    return sum(edge.action.op in INTERNAL for edge in path)
