"""Operations followed one at a time, by an explorer that knows which paths of actions there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from partq.spec.exploration.module import Setting
from partq.spec.exploration.session import Exploration, ExplorerFailed, Followed, Verdict
from partq.spec.validation import NotFollowed, Operation, Sent, Shown

SETTING = Setting(
    frozenset({"partitioned", "expiry", "caches"}),
    frozenset({"delete", "outage"}),
    (Sent("a", "k"), Sent("b", "k")),
    ("p", "q"),
)
LABELS = ("Send", "Receive", "Receive", "ReceiveNothing", "Expire", "Prefetch", "PartitionDown")
"""The toy's transitions; there are two of Receive."""


class Toy:
    """An explorer of a toy. ``paths``: the ways it can go, each a list of transitions. ``unsure``: where its
    solver gives up."""

    def __init__(self, *paths: str, unsure: str = "") -> None:
        self.paths = [tuple(map(int, path)) for path in paths]
        self.unsure = unsure
        self.path: tuple[int, ...] = ()
        self.taken: int | None = None
        self.begun = False
        self.snapshots: dict[int, tuple[int, ...]] = {}
        self.asked: list[str] = []
        self.wrong: dict[str, Mapping[str, Any]] = {}

    def __call__(self, method: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append(method)
        right: Mapping[str, Any] = getattr(self, method)(parameters)
        return self.wrong.get(method, right)

    def loadSpec(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        transitions = [{"index": n, "labels": [f"Do_{name}"]} for n, name in enumerate(LABELS)]
        return {"sessionId": "1", "snapshotId": 0, "specParameters": {"nextTransitions": transitions}}

    def assumeTransition(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        self.taken = parameters["transitionId"]
        return self.snapshot("UNKNOWN")

    def nextStep(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self.taken is not None
        self.path = (*self.path, self.taken) if self.begun else ()
        self.begun = True
        return self.snapshot("")

    def assumeState(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        if "".join(map(str, self.path)) == self.unsure:
            return self.snapshot("UNKNOWN")
        goes_on = any(path[: len(self.path)] == self.path for path in self.paths)
        return self.snapshot("ENABLED" if goes_on else "DISABLED")

    def rollback(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        kept = parameters["snapshotId"]
        self.path = self.snapshots[kept]
        self.snapshots = {n: path for n, path in self.snapshots.items() if n <= kept}
        return {}

    def snapshot(self, status: str) -> Mapping[str, Any]:
        n = len(self.asked)
        self.snapshots[n] = self.path
        return {"snapshotId": n, "status": status}


SEND = Operation(1, "send", "p", 0, 0, sent=(Sent("a", "k"),))
RECEIVE = Operation(2, "receive", "q", 0, 0, shown=(Shown("a", lock="l1"),))
NOTHING = Operation(3, "receive", "q", 0, 0)
DOWN = Operation(4, "partition_down", "env", 0, 0, partition=5)


def follow(toy: Toy, *operations: Operation, **more: Any) -> Followed:
    """What is said of the last one, those before being explained."""
    exploration = Exploration(toy, SETTING, **more)
    *before, last = operations
    for one in before:
        assert exploration.follow(one).verdict is Verdict.EXPLAINED
    return exploration.follow(last)


def test_an_operation_is_explained_by_its_action() -> None:
    assert follow(Toy("01"), SEND, RECEIVE) == Followed(Verdict.EXPLAINED, ("Receive",))


def test_each_transition_of_an_action_is_tried() -> None:
    assert follow(Toy("02"), SEND, RECEIVE).verdict is Verdict.EXPLAINED


def test_own_moves_of_the_broker_come_before_it_where_they_must() -> None:
    assert follow(Toy("0541"), SEND, RECEIVE).actions == ("Prefetch", "Expire", "Receive")


def test_no_more_own_moves_than_allowed() -> None:
    found = follow(Toy("0541"), SEND, RECEIVE, own=1)
    assert found == Followed(Verdict.DIVERGES, (), "no behaviour of the specification explains it")


def test_no_own_move_is_made_that_is_not_needed() -> None:
    toy = Toy("01", "051")
    assert follow(toy, SEND, RECEIVE).actions == ("Receive",)
    assert toy.path == (0, 1)


def test_another_explanation_of_an_earlier_operation_is_found() -> None:
    assert follow(Toy("01", "023"), SEND, RECEIVE, NOTHING).verdict is Verdict.EXPLAINED


def test_own_moves_before_an_outage_are_found_when_they_show() -> None:
    toy = Toy("06", "0561")
    assert follow(toy, SEND, DOWN, RECEIVE).verdict is Verdict.EXPLAINED
    assert toy.path == (0, 5, 6, 1)


def test_nothing_explains_a_divergence() -> None:
    assert follow(Toy("00", "03"), SEND, RECEIVE).verdict is Verdict.DIVERGES


def test_what_no_step_can_show_is_a_divergence_without_a_question() -> None:
    toy = Toy("0")
    strange = RECEIVE._replace(shown=(Shown("z", lock="l1"),))
    assert follow(toy, SEND, strange) == Followed(Verdict.DIVERGES, (), "message 'z', which was never sent")


def test_where_the_solver_gave_up_nothing_is_said() -> None:
    found = follow(Toy("0", unsure="01"), SEND, RECEIVE)
    assert found == Followed(Verdict.UNDECIDED, (), "the solver did not decide every question in its time")


def test_where_the_solver_gave_up_once_no_divergence_is_certain_later() -> None:
    assert follow(Toy("02", unsure="01"), SEND, RECEIVE, NOTHING).verdict is Verdict.UNDECIDED


def test_where_the_time_is_over_nothing_is_said() -> None:
    left = iter([False, False, True])
    found = follow(Toy("0"), SEND, RECEIVE, spent=lambda: next(left))
    assert found == Followed(Verdict.UNDECIDED, (), "no explanation was found in the time for one operation")


def test_what_the_specification_does_not_say_is_said() -> None:
    with pytest.raises(NotFollowed):
        follow(Toy("0"), SEND, SEND._replace(op="renew_lock"))


@pytest.mark.parametrize(
    ("method", "answer", "said"),
    [
        ("loadSpec", {}, "no sessionId"),
        ("loadSpec", {"sessionId": "1", "specParameters": {}}, "no nextTransitions"),
        ("nextStep", {"snapshotId": "one"}, "no snapshotId"),
        ("assumeState", {"snapshotId": 1}, "no status"),
        ("assumeState", {"snapshotId": 1, "status": "MAYBE"}, "unknown status: 'MAYBE'"),
    ],
)
def test_an_answer_that_is_none(method: str, answer: Mapping[str, Any], said: str) -> None:
    toy = Toy("0")
    toy.wrong = {method: answer}
    with pytest.raises(ExplorerFailed, match=said):
        follow(toy, SEND)
