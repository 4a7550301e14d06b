"""What clients can do next, by what they hold."""

from __future__ import annotations

from typing import Any

from partq.conformance.history import Record
from partq.conformance.workload.cases import steps
from partq.conformance.workload.menu import Menu
from partq.conformance.workload.program import Step
from partq.model.messages import Delivery, Message

ALL = frozenset(
    {"send", "receive", "complete", "abandon", "peek", "begin", "commit", "rollback"}
    | {"partition_down", "partition_up"}
)


def menu(operations: frozenset[str] = ALL) -> Menu:
    messages = [Message("m1", partition_key="a"), Message("m2")]
    return Menu(("c1", "c2"), messages, 2, operations)


def texts(choices: Menu) -> list[str]:
    return [choice.text for choice in choices.choices()]


def did(choices: Menu, step: Step, *shown: Delivery, **args: Any) -> None:
    choices.learn(step, Record(0, step.proc, step.op, "queue", 0, 1, args, messages=shown))


def test_what_can_be_done_first() -> None:
    assert texts(menu()) == [
        "c1 send m1 key=a",
        "c1 begin",
        "c1 receive",
        "c1 receive and delete",
        "c1 peek",
        "c2 receive",
        "c2 receive and delete",
        "c2 peek",
        "partition 0 goes down",
        "partition 1 goes down",
    ]


def test_what_the_broker_lacks_is_no_choice() -> None:
    assert texts(menu(frozenset({"send", "receive"}))) == [
        "c1 send m1 key=a",
        "c1 receive",
        "c1 receive and delete",
        "c2 receive",
        "c2 receive and delete",
    ]


def test_messages_are_sent_one_after_the_other() -> None:
    choices = menu(frozenset({"send"}))
    for expected in (["c1 send m1 key=a"], ["c1 send m2"], []):
        assert texts(choices) == expected
        for choice in choices.choices():
            did(choices, choice.step)


def test_a_lock_can_be_used_and_then_used_again() -> None:
    choices = menu(frozenset({"complete", "abandon"}))
    did(choices, steps.receive("c2"), Delivery("m1", lock="l1"), max=1)
    assert texts(choices) == ["c2 complete m1", "c2 abandon m1"]
    did(choices, choices.choices()[0].step, locks=("l1",))
    assert texts(choices) == ["c2 complete m1 by a lock that has ended"]


def test_an_ended_lock_is_not_used_in_an_outage() -> None:
    choices = menu(frozenset({"complete"}))
    did(choices, steps.receive("c2"), Delivery("m1", lock="l1"), max=1)
    did(choices, steps.complete("c2"), locks=("l1",))
    did(choices, steps.down(0), partition=7)
    assert texts(choices) == []
    did(choices, steps.up(0), partition=7)
    assert texts(choices) == ["c2 complete m1 by a lock that has ended"]


def test_there_is_one_transaction() -> None:
    choices = menu(frozenset({"send", "complete", "begin", "commit", "rollback"}))
    did(choices, steps.receive("c1"), Delivery("m9", lock="l9"), max=1)
    did(choices, steps.begin("c1"), txn="t")
    assert texts(choices) == [
        "c1 send m1 key=a",
        "c1 send m1 key=a in the transaction",
        "c1 complete m9 in the transaction",
        "c1 commit",
        "c1 rollback",
        "c1 complete m9",
    ]
    did(choices, steps.commit("c1"), txn="t")
    assert texts(choices) == ["c1 send m1 key=a", "c1 complete m9"]


def test_a_partition_that_is_down_can_come_up() -> None:
    choices = menu(frozenset({"partition_down", "partition_up"}))
    did(choices, steps.down(1), partition=7)
    assert texts(choices) == ["partition 0 goes down", "partition 1 comes up"]
