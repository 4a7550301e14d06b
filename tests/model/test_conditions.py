"""The conditions of known divergences: each holds where what it names came before the finding."""

from __future__ import annotations

import pytest

from partq.conformance.history.notation import history
from partq.model.conditions import ALWAYS, CONDITIONS, holding, narrowest

KILLED = """
p send m1
q receive 1 -> m1#1 lock=l
q complete l
env broker_kill
env broker_start
drain receive 1 delete -> m1#1
"""
KILLED_BEFORE = "env broker_kill\nenv broker_start\n" + KILLED.replace(
    "env broker_kill\nenv broker_start\n", ""
)
KILLED_AFTER = (
    KILLED.replace("env broker_kill\nenv broker_start\n", "") + "env broker_kill\nenv broker_start\n"
)
KILLED_AND_DOWN = "env broker_kill\n" + KILLED.replace("env broker_kill\n", "")
LOST = "p send m1\nenv broker_kill\nenv broker_start\ndrain receive 1 delete -> nothing"
REFUSED = "p send m1 -> error quota\nenv broker_kill\nenv broker_start\ndrain receive 1 delete -> nothing"
DOWN = "env partition_down 1\np send m1\nenv partition_up 1\nq receive 1 delete -> m1#2.1"
REPAIRED = "env partition_down 1\nenv partition_up 1\np send m1\nq receive 1 delete -> m1#2.1"
ANOTHER_UP = "env partition_down 1\nenv partition_up 2\np send m1\nq receive 1 delete -> m1#2.1"
TWO = "p send m1\np send m2\nq receive 1 delete -> m1#1\nr receive 1 delete -> m2#2"
ONE_AND_DRAIN = "p send m1\np send m2\nq receive 1 delete -> m1#1\ndrain receive 1 delete -> m2#2"
LATER = TWO + "\ns receive 1 -> nothing"
OVERLAPPING = "p send m1 @1-5\nq receive 1 delete -> m1#1 @3-8"
INSIDE = "p send m1 txn=t\nq receive 1 delete -> m1#1"
VAGUE = "p send m1 -> unknown timeout\nq receive 1 delete -> m1#1"
LEFT = (
    "p send m1\nq bind f\nq receive 1 flow=f -> m1#1 lock=l\nq disconnect flow=f\nr receive 1 delete -> m1#1"
)


@pytest.mark.parametrize(
    ("text", "witness", "holds"),
    [
        (KILLED, (1, 2, 5), {"after broker_kill"}),
        (KILLED, (5,), {"after broker_kill"}),
        (KILLED, (1, 2), {"after broker_kill"}),
        (KILLED, (1,), set()),
        (KILLED_BEFORE, (3, 4, 5), set()),
        (KILLED_AND_DOWN, (2, 3, 5), {"after broker_kill"}),
        (KILLED_AFTER, (1, 2, 3), set()),
        (LOST, (0,), {"after broker_kill"}),
        (REFUSED, (0,), set()),
        (DOWN, (1, 3), {"after partition_down"}),
        (REPAIRED, (2, 3), set()),
        (ANOTHER_UP, (2, 3), {"after partition_down"}),
        (TWO, (0, 1, 2, 3), {"with two consumers"}),
        (TWO, (0, 2), set()),
        (ONE_AND_DRAIN, (0, 1, 2, 3), set()),
        (LATER, (4,), {"with two consumers"}),
        (OVERLAPPING, (0, 1), {"with overlapping calls"}),
        (INSIDE, (0, 1), {"in a transaction"}),
        (VAGUE, (0, 1), {"after an unknown outcome"}),
        (LEFT, (2, 4), {"after a handoff", "after connection_lost", "with two consumers"}),
        (KILLED, (), {"after broker_kill"}),
    ],
)
def test_a_condition_holds_where_it_came_before_the_finding(
    text: str, witness: tuple[int, ...], holds: set[str]
) -> None:
    assert set(holding(history(text).records, witness)) == {*holds, ALWAYS}


def test_every_condition_is_told_apart_from_none() -> None:
    """Each of the table holds in one of the histories above, and fails in another."""
    texts = (KILLED, DOWN, LEFT, VAGUE, INSIDE, OVERLAPPING, TWO)
    met = {name for text in texts for name in holding(history(text).records, ())}
    assert met == CONDITIONS.keys()
    assert holding(history("p send m1").records, (0,)) == (ALWAYS,)


def test_the_narrowest_condition_is_true_of_all_findings() -> None:
    both = ("after broker_kill", "with two consumers")
    assert narrowest([both]) == ("after broker_kill",)
    assert narrowest([both, ("with two consumers",)]) == ("with two consumers",)
    assert narrowest([both, ()]) == narrowest([both, (ALWAYS,)]) == (ALWAYS,)
    assert narrowest([]) == ("after broker_kill",)


def test_where_no_condition_holds_for_all_findings_a_few_do_together() -> None:
    two, kill, handoff = ("with two consumers",), ("after broker_kill",), ("after a handoff",)
    assert narrowest([kill, handoff + two, two]) == two + kill
    assert narrowest([kill, handoff]) == kill + handoff
