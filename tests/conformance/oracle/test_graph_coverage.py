"""Following histories through a scope's graph, by hand."""

from __future__ import annotations

from collections import Counter

import pytest

from partq.conformance.history.notation import history
from partq.conformance.oracle.graph_coverage import NO_HISTORY, NO_PROGRAM, NO_RUN, SEEDS, Tally, follow, kind
from partq.conformance.workload.tours import Survey
from partq.model.explore import label
from partq.model.profiles import SECOND
from partq.model.scope import Scope

HOLD = ("receive", "complete", "abandon", "expire")
FLAT = Survey("flat", Scope("azure-flat", 1, ("-", "-"), 2, operations=HOLD))
PREMIUM = Survey(
    "keys", Scope("azure-premium", 2, ("a", "b"), 1, operations=("delete", "peek"), symmetric=True)
)
OUTAGES = Survey("outages", Scope("azure-premium", 2, ("a",), 1, operations=("delete", "partition faults")))
STANDBY = Survey("standby", Scope("solace", 1, ("a",), 2, operations=("receive", "complete")))

FOLLOWED = {
    "whatever things are called": (
        FLAT,
        "p send x\nc1 receive 1 -> x#77 lock=l\nc1 abandon l\n"
        "c2 receive 1 -> x#77 lock=k count=1\nc2 complete k",
        ["send m1", "receive → m1", "abandon 0.0.1", "receive → m1", "complete 0.0.2"],
    ),
    "a lock has ended unseen": (
        FLAT,
        "p send x\nc1 receive 1 -> x#1 lock=l count=0\nenv advance 31s\nc1 receive 1 -> x#1 lock=k count=1",
        ["send m1", "receive → m1", "expire 0", "receive → m1"],
    ),
    "operations that overlap": (
        FLAT,
        "p send x ...\nc1 receive 1 -> x#1 lock=l\np -> ok",
        ["send m1", "receive → m1"],
    ),
    "an outcome that is unknown need not have happened": (
        FLAT,
        "p send x\nc1 receive 1 -> x#1 lock=l\nc1 complete l -> unknown timeout\nc1 receive 1 -> nothing",
        ["send m1", "receive → m1", "receive"],
    ),
    "an outcome that is unknown, and happened": (
        FLAT,
        "p send x -> unknown timeout\nc1 receive 1 -> x#1 lock=l",
        ["send m1", "receive → m1"],
    ),
    "partitions by their order": (
        PREMIUM,
        "p send x key=a\np send y key=b\nc1 receive 1 delete -> x#9.1\n"
        "c1 peek 1 -> y#4.1\nc1 peek 1 -> nothing",
        ["send m1", "send m2", "receive → m1", "peek → m2", "peek"],
    ),
    "a key's partition shows when it is down": (
        OUTAGES,
        "env partition_down 8\np send x key=a -> error unavailable\nenv partition_up 8\np send z key=a",
        ["partition_down 0", "send m1 → error", "partition_up 0", "send m1"],
    ),
    "an assignment tells of a rebalance": (
        STANDBY,
        "c1 bind g @1-2\nenv assignment 7 g ready @5000000002",
        ["bind f-c1", "rebalance"],
    ),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_history_is_followed(name: str) -> None:
    survey, text, path = FOLLOWED[name]
    found = follow(survey, history(text, survey.scope.profile, partitions=survey.scope.partitions))
    assert ([label(edge.action, edge.answer) for edge in found.path], found.left) == (path, None)


TWO_FLOWS = Survey("two flows", Scope("solace", 2, (), 2, operations=("receive",)))
HANDING_OFF = (
    "c1 bind f @1-2\nenv assignment 7 f ready @5.1s\nenv assignment 8 f ready @5.1s\nc2 bind g @6s-6.1s\n"
    "env assignment 8 f paused @11.2s\n"
)
BEFORE = ["bind f-c1", "rebalance", "bind f-c2", "rebalance"]

WITH_FLOWS = {
    "what is told while it is done is done by it": (
        "c2 unbind g @12s-12.2s\nenv assignment 8 f ready @12.1s\nc2 receive 1 -> error not_found @13s-13.1s",
        ["unbind f-c2", "receive f-c2 → error"],
    ),
    "what is told long after it is not": (
        "c2 unbind g @12s-12.2s\nc2 receive 1 -> error not_found @13s-13.1s\nenv assignment 8 f ready @17.2s",
        ["unbind f-c2", "receive f-c2 → error", "rebalance"],
    ),
    "one change, told in two words": (
        "env assignment 8 f unassigned @12s\nenv assignment 8 g ready @12s\nc2 receive 1 -> nothing @13s-13s",
        ["handoff 1", "receive f-c2"],
    ),
    "a flow that is gone is unbound once more": (
        "c2 unbind g @12s-12.2s\nenv assignment 8 f ready @12.1s\nc2 unbind g @13s-13.1s",
        ["unbind f-c2"],
    ),
    "a broker is busy": (
        "c2 unbind g -> error unavailable @12s-12.1s\nc1 bind f -> error timeout @13s-13.1s",
        [],
    ),
}


@pytest.mark.parametrize("name", WITH_FLOWS)
def test_flows_are_followed(name: str) -> None:
    text, path = WITH_FLOWS[name]
    found = follow(TWO_FLOWS, history(HANDING_OFF + text, "solace", partitions=2))
    assert ([label(edge.action, edge.answer) for edge in found.path], found.left) == (BEFORE + path, None)


@pytest.mark.parametrize(("skew", "at"), [(0, 6), (SECOND, None)])
def test_news_may_be_late_by_the_skew(skew: int, at: int | None) -> None:
    text = HANDING_OFF + "c1 unbind f @12s-12.2s\nenv assignment 7 f unbound @12.5s"
    found = follow(TWO_FLOWS, history(text, "solace", skew=skew, partitions=2))
    assert (found.left and found.left.i) == at


@pytest.mark.parametrize(("first", "then", "at"), [("f paused", "g ready", None), ("g ready", "f paused", 5)])
def test_late_news_of_a_partition_stays_in_its_order(first: str, then: str, at: int | None) -> None:
    *bound, _, _ = HANDING_OFF.split("\n")
    text = [*bound, f"env assignment 8 {first} @11.2s", f"env assignment 8 {then} @11.3s"]
    found = follow(TWO_FLOWS, history("\n".join(text), "solace", skew=SECOND, partitions=2))
    assert (found.left and found.left.i) == at


LEFT = {
    "a message that nobody sent": (FLAT, "p send x\nc1 receive 1 -> y#1 lock=l", 1),
    "a count beyond the bound": (FLAT, "p send x\nc1 receive 1 -> x#1 lock=l count=2", 1),
    "a lock that was never given": (FLAT, "p send x\nc1 complete l", 1),
    "a later message first": (FLAT, "p send x\np send y\nc1 receive 1 -> y#2 lock=l", 2),
    "a third message": (FLAT, "p send x\np send y\np send z", 2),
    "a key in two partitions": (
        PREMIUM,
        "p send x key=a\nc1 peek 1 -> x#9.1\nc1 receive 1 delete -> x#8.1",
        2,
    ),
    "another key than it is the turn of": (PREMIUM, "p send x key=b", 0),
    "a fault twice": (OUTAGES, "env partition_down 8\nenv partition_down 8", 1),
    "a refusal that is not allowed": (
        STANDBY,
        "c1 bind g @1-2\nc1 receive 1 -> error not_found",
        1,
    ),
    "no flow has it": (STANDBY, "c1 bind g @1-2\nenv assignment 7 h ready @5000000002", 1),
}


@pytest.mark.parametrize("name", LEFT)
def test_where_a_history_leaves_the_scope(name: str) -> None:
    survey, text, at = LEFT[name]
    found = follow(survey, history(text, survey.scope.profile, partitions=survey.scope.partitions))
    assert found.left is not None and found.left.i == at
    assert len(found.path) >= at


def test_who_is_not_of_the_scope_ends_it() -> None:
    text = "p send x\nc1 receive 1 -> x#1 lock=l\ndrain receive 1 -> y#2 lock=k\np send y"
    found = follow(FLAT, history(text, "azure-flat"))
    assert len(found.path) == 2 and found.left is None


def test_a_budget_leaves_the_rest() -> None:
    text = "p send x\np send y\nc1 receive 1 -> x#1 lock=l"
    found = follow(FLAT, history(text, "azure-flat"), budget=2)
    assert found.left is not None and len(found.path) < 3


def test_what_was_not_passed_is_told_by_reason_and_kind() -> None:
    tally = Tally(FLAT)
    tally.add(history("p send x\nc1 receive 1 -> x#1 lock=l", "azure-flat"))
    left = tally.left_out()
    assert list(left) == [NO_PROGRAM, NO_HISTORY, NO_RUN]
    kinds = Counter(kind(edge) for edge in tally.every) - Counter(kind(edge) for edge in tally.passed)
    assert sum(left.values(), Counter()) == kinds
    assert {"expire", "receive → ok", "receive → 1 shown", "abandon → ok", "complete → ok"} <= left[
        NO_RUN
    ].keys()


def test_a_tally_keeps_the_last_seeds_that_passed_a_transition() -> None:
    tally = Tally(FLAT)
    for seed in range(SEEDS + 2):
        tally.add(history("p send x\nc1 receive 1 -> x#1 lock=l", "azure-flat"), seed)
    tally.add(history("p send x", "azure-flat"), 100)
    tally.add(history("p send x", "azure-flat"))
    found = {label(edge.action, edge.answer): list(seeds) for edge, seeds in tally.plan({}).seeds.items()}
    assert found == {"send m1": [*range(3, SEEDS + 2), 100], "receive → m1": [*range(2, SEEDS + 2)]}


def test_a_tally_counts_each_transition_once() -> None:
    tally = Tally(FLAT)
    given = history("p send x\nc1 receive 1 -> x#1 lock=l", "azure-flat")
    tally.add(given)
    tally.add(given)
    tally.add(history("p send x\nc1 receive 1 -> z#1 lock=l", "azure-flat"))
    found = tally.coverage
    assert (tally.runs, tally.left, found.states, found.transitions) == (3, 1, 3, 2)
    assert found.of_states == len(FLAT.graph.nodes) and not found.whole
