"""Order domains in the model: what its steps allow, and that a waiver explains what breaks its rule."""

from __future__ import annotations

import pytest
from acts import abandon, complete, receive, seen, send

from partq.model.actions import Action, Answer, Observed
from partq.model.machine import State, explain, initial, steps
from partq.model.messages import Delivery
from partq.model.profiles import SECOND, Entity

QUEUE, RULES = "ordered-queue", ("ORD-1", "ORD-2", "ORD-3")
Step = tuple[Action, Observed]


def ok(action: Action, *shown: Delivery) -> Step:
    return action, Observed("ok", None, shown)


def explained(waived: tuple[str, ...], todo: list[Step], profile: str = QUEUE) -> bool:
    states = [initial(profile, Entity(1), (), waived=frozenset(waived))]
    for action, observed in todo:
        states = [after for before in states for after in explain(before, action, observed)]
    return bool(states)


def wait(seconds: int) -> Step:
    return ok(Action("advance", by=seconds * SECOND))


def gets(*ids: str, proc: str = "p") -> Step:
    return ok(receive(5, proc), *(seen(id, lock=f"{proc}-{id}") for id in ids))


SENT = [ok(send(id, key="k")) for id in ("a", "b", "c")]
LATER = [*SENT, wait(1)]
HELD = [*LATER, gets("a"), wait(1)]
BACK = [*HELD, ok(abandon("p-a")), wait(1)]

BROKEN: dict[str, list[list[Step]]] = {
    "ORD-1": [
        [*LATER, gets("b")],
        [*LATER, gets("b", "a")],
        [*LATER, gets("a", "c")],
        [*HELD, ok(complete("p-a")), wait(1), gets("c"), wait(1), gets("b", proc="q")][:-2],
    ],
    "ORD-2": [[*HELD, gets("b", proc="q")]],
    "ORD-3": [[*BACK, gets("b", proc="q")], [*BACK, gets("b", "a", proc="q")]],
}

LAWFUL: dict[str, list[Step]] = {
    "in order": [*LATER, gets("a", "b", "c")],
    "one by one": [*HELD, ok(complete("p-a")), wait(1), gets("b", proc="q")],
    "back, and first": [*BACK, gets("a", "b", proc="q")],
    "its lock has ended": [*HELD, wait(40), gets("a", proc="q")],
    "receives at the same time": [
        *LATER,
        ok(receive(1, "p")._replace(slack=SECOND), seen("a", lock="l")),
        wait(1),
        ok(receive(1, "q")._replace(early=SECOND), seen("b", lock="n")),
    ],
    "another key": [*HELD, ok(send("x", key="other")), wait(1), gets("x", proc="q")],
    "no key": [*HELD, ok(send("x")), ok(send("y")), wait(1), gets("y", "x", proc="q")],
}


@pytest.mark.parametrize("rule", RULES)
def test_what_breaks_a_rule_its_waiver_alone_explains(rule: str) -> None:
    for todo in BROKEN[rule]:
        assert explained((), todo[:-1])
        assert not explained((), todo)
        assert explained((rule,), todo)
        assert [other for other in RULES if other != rule and explained((other,), todo)] == []
        assert explained((), todo, "partitioned-queue"), "no rule of every partitioned queue"


@pytest.mark.parametrize("name", LAWFUL)
def test_what_is_lawful_is_so_under_every_waiver(name: str) -> None:
    for waived in ((), *((rule,) for rule in (*RULES, "RCV-2", "RCV-6", "RCV-7", "ROUTE-2"))):
        assert explained(waived, LAWFUL[name]), waived


def test_a_count_that_nothing_binds_is_one_way_and_not_two() -> None:
    states = [initial(QUEUE, Entity(1), ())]
    for action, observed in (*HELD, ok(Action("broker_kill")), ok(Action("broker_start")), wait(1)):
        states = [after for before in states for after in explain(before, action, observed)]
    again = receive(1, "q"), Observed("ok", None, (seen("a", lock="q-a", delivery_count=1),))
    found = [list(explain(state, *again)) for state in states]
    assert any(found)
    assert [len(ways) for ways in found] == [len({*ways}) for ways in found]


def _shown(answer: Answer) -> list[str]:
    return [shown.id for shown in answer.messages]


def answers(state: State, limit: int) -> set[tuple[str, ...]]:
    return {tuple(_shown(answer)) for answer, _ in steps(state, receive(limit, "q"))}


def test_the_steps_deliver_prefixes_of_each_key_and_nothing_of_one_in_flight() -> None:
    state = initial(QUEUE, Entity(1))
    for id, key in (("a", "k"), ("b", "k"), ("x", "other")):
        _, state = next(iter(steps(state, send(id, key=key))))
    assert answers(state, 2) == {(), ("a",), ("x",), ("a", "b"), ("a", "x")}
    held = next(after for answer, after in steps(state, receive(1, "p")) if _shown(answer) == ["a"])
    assert answers(held, 5) == {(), ("x",)}
