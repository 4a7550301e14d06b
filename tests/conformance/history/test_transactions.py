"""Transactions of one name that is begun again."""

from __future__ import annotations

import pytest

from partq.conformance.evaluation.decision import inspect
from partq.conformance.history import History
from partq.conformance.history.births import told_apart
from partq.conformance.history.notation import history
from partq.conformance.history.transactions import transactions_apart
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.screens.registry import ALL

AGAIN = "p begin t\np send m1 txn=t\np {}\np begin t\np send m2 txn=t\np commit t\n"


def names(given: History) -> list[str | None]:
    return [record.args.get("txn") for record in given.records]


@pytest.mark.parametrize("end", ["commit t", "rollback t", "commit t -> error not_found", "send m3 txn=t"])
def test_what_comes_after_it_was_begun_again_is_the_later_one_s(end: str) -> None:
    given = transactions_apart(history(AGAIN.format(end) + AGAIN.format(end), "azure-flat", partitions=1))
    assert names(given) == [name for name in ("t", "t~2", "t~3", "t~4") for _ in range(3)]


def test_clients_that_count_from_1_each_have_transactions_of_their_own() -> None:
    both = "p begin t\nq begin t\np send m1 key=a txn=t\nq send m2 key=b txn=t\np commit t\nq commit t\n"
    given = history(both + "c receive 5 delete -> m1#1.0\nc receive 5 delete -> m2#2.0\nenv drained")
    assert judge(given).status is Judged.REJECTED, "as one transaction"
    apart = told_apart(given)
    assert names(apart)[:6] == ["t", "t~2", "t", "t~2", "t", "t~2"]
    assert judge(apart).status is Judged.ACCEPTED and not inspect(apart, ALL).doubts


def test_a_name_that_is_taken_is_nobody_else_s() -> None:
    text = "p begin t~2\n" + AGAIN.format("commit t")
    assert names(transactions_apart(history(text, "azure-flat", partitions=1)))[-1] == "t~3"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("p begin t\np send m1 txn=t\np begin t -> error unavailable\np commit t", id="refused"),
        pytest.param(
            "p begin t\nq send m1 txn=t\nc begin t\nq send m2 txn=t ...\nc begin t", id="of a third"
        ),
        pytest.param(
            "p begin t @1-2\np commit t @3-4\np begin t @5-8\nq send m2 txn=t @6-7\np commit t @9-10",
            id="overlap",
        ),
    ],
)
def test_what_may_be_either_one_s_is_left_as_it_is(text: str) -> None:
    given = history(text, "azure-flat", partitions=1)
    assert transactions_apart(given) is given


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        ("azure-flat", AGAIN.format("rollback t") + "q receive 2 -> m2#1 lock=l"),
        (
            "azure-flat",
            "p begin t\np send m1 txn=t\np commit t\nq send m2\np begin t\np send m3 txn=t\np commit t\n"
            "q receive 3 -> m1#1 lock=a, m2#2 lock=b, m3#3 lock=c",
        ),
        (
            "azure-premium",
            "p begin t\np send m1 txn=t key=k1\np rollback t\np begin t\np send m2 txn=t key=k2\np commit t\n"
            "q receive 2 -> m2 lock=b",
        ),
    ],
)
def test_screens_do_not_take_the_one_for_the_other(profile: str, text: str) -> None:
    given = history(text, profile, partitions=1 if profile == "azure-flat" else 2)
    assert inspect(given, ALL).doubts, "without it they would"
    assert not inspect(told_apart(given), ALL).doubts
