"""Scheduled messages (SCH): a number while they wait, another once they are activated, or gone in time."""

from __future__ import annotations

from dataclasses import replace

from acts import (
    advance,
    after,
    answers,
    complete,
    explains,
    flat,
    msg,
    peek,
    prem,
    receive,
    seen,
    send,
    stored,
    txn,
)

from partq.model.actions import Action
from partq.model.machine import State, internal, steps
from partq.model.messages import as_scheduled
from partq.model.profiles import SECOND

TIME = 10 * SECOND
M1 = as_scheduled("m1")
REFUSED = "error invalid_operation|not_found"


def schedule(*ids: str, at: int = TIME, key: str | None = None, **more: object) -> Action:
    """Schedule messages of one key."""
    messages = tuple(replace(msg(as_scheduled(id), key), scheduled_at=at) for id in ids)
    return Action("schedule", "p", messages=messages, **more)  # type: ignore[arg-type]


def cancel(id: str, **more: object) -> Action:
    return Action("cancel_scheduled", "p", about=(as_scheduled(id),), **more)  # type: ignore[arg-type]


def activated(state: State, id: str) -> State:
    """The state after the broker activated that message."""
    return after(state, Action("activate", about=(as_scheduled(id),)))


def waiting(at: int = TIME) -> State:
    """A queue with one scheduled message."""
    return after(flat(), schedule("m1", at=at))


def test_it_waits_under_a_number_and_is_peeked() -> None:
    state = waiting()
    assert stored(state) == [[M1]]
    assert answers(state, receive()) == ["ok"]
    assert answers(state, peek(2)) == [f"ok {M1}"]
    assert [d.state for answer, _ in steps(state, peek(2)) for d in answer.messages] == ["scheduled"]


def test_the_operation_returns_the_number() -> None:
    numbered = after(flat(), send("m0"))
    (shown,) = {answer.messages for answer, _ in steps(numbered, schedule("m1", "m2")) if answer.messages}
    assert [one.id for one in shown] == [M1, as_scheduled("m2")]


def test_not_before_its_time_and_any_time_after() -> None:
    assert not [move for move in internal(waiting()) if move.op == "activate"]
    assert "ok" in answers(after(waiting(), advance(2 * TIME)), receive())
    assert stored(activated(after(waiting(), advance(TIME)), "m1")) == [["m1"]]


def test_activated_it_is_the_last_one_with_a_new_number() -> None:
    state = activated(after(waiting(), send("m2"), advance(TIME)), "m1")
    assert stored(state) == [["m2", "m1"]]
    assert [entry.number for entry in state.parts[0].log] == [1, 2]


def test_cancelled_in_time_it_is_gone_for_good() -> None:
    assert answers(waiting(), cancel("m1")) == ["ok"]
    assert_gone(after(waiting(), cancel("m1")))


def assert_gone(state: State) -> None:
    """Its number alone is remembered, which may be cancelled again, or not."""
    later = after(state, advance(2 * TIME))
    assert not internal(later) and answers(later, peek(2)) == answers(later, receive()) == ["ok"]
    assert list(steps(later, Action("drained")))
    assert answers(state, cancel("m1")) == answers(later, cancel("m1")) == [REFUSED, "ok"]


def test_cancelled_when_it_is_due_it_may_come_or_be_gone() -> None:
    due = after(waiting(), advance(TIME))
    assert answers(due, cancel("m1")) == [REFUSED, "ok"]
    state = after(due, cancel("m1"), answer="ok")
    assert answers(state, peek(2)) == ["ok"]
    assert stored(activated(state, "m1")) == [["m1"]]
    assert list(steps(state, Action("drained")))


def test_the_old_number_is_void_once_it_is_active() -> None:
    assert answers(activated(after(waiting(), advance(TIME)), "m1"), cancel("m1")) == [REFUSED]


def test_it_is_left_over_where_it_is_never_activated() -> None:
    assert not list(steps(after(waiting(), advance(TIME)), Action("drained")))


def test_a_key_decides_the_partition() -> None:
    state = after(prem(), send("m0", key="a", only=1), schedule("m1", key="a"), advance(TIME))
    assert stored(activated(state, "m1")) == [[], ["m0", "m1"]]


def test_faults_leave_it_as_it_is() -> None:
    state = after(waiting(), Action("broker_kill"), Action("broker_start"))
    assert stored(state) == [[M1]] and state.parts[0].log[0].upsets == 0


def test_in_a_transaction_it_is_there_from_the_commit_on() -> None:
    state = after(flat(), txn("begin"), schedule("m1", txn="t"))
    assert answers(state, peek(2)) == ["ok"]
    assert answers(after(state, txn("commit")), peek(2)) == [f"ok {M1}"]
    assert stored(after(state, txn("rollback"))) == [[]]


def test_a_transaction_cancels_at_its_commit() -> None:
    state = after(waiting(), txn("begin"), cancel("m1", txn="t"))
    assert stored(state) == [[M1]]
    assert_gone(after(state, txn("commit")))
    assert stored(after(state, txn("rollback"))) == [[M1]]


def test_what_was_activated_meanwhile_a_commit_leaves_and_may_fail() -> None:
    state = after(waiting(), txn("begin"), cancel("m1", txn="t"), advance(TIME))
    state = activated(state, "m1")
    assert len(answers(state, txn("commit"))) == 2
    assert stored(after(state, txn("commit"), answer="ok")) == [["m1"]]


def test_one_whose_time_has_come_needs_no_number_first() -> None:
    state = after(flat(), advance(2 * TIME))
    found = [then for _, then in steps(state, schedule("m1"))]
    assert sorted(entry.number for then in found for entry in then.parts[0].log) == [-1, 0]
    assert {activated(then, "m1").parts[0].next for then in found} == {1, 2}


def test_an_activation_is_explained_by_the_number_that_is_shown() -> None:
    state = after(waiting(), send("m2"), advance(TIME))
    move = Action("activate", about=(M1,), messages=(msg("m1"),))
    (active,) = explains(state, move, seen("m1", seq=3))
    assert explains(active, receive(2), seen("m2", seq=2), seen("m1", seq=3))
    assert not explains(activated(state, "m1"), complete("l"))
