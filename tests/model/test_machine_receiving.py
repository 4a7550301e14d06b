"""Receiving, locks and settling (RCV), and the broker's own moves on messages."""

from __future__ import annotations

import pytest
from acts import (
    SMALL,
    D,
    abandon,
    advance,
    after,
    answers,
    closure,
    complete,
    down,
    explains,
    flat,
    peek,
    prem,
    receive,
    seen,
    send,
    stored,
    text,
    token,
    took,
    up,
)

from partq.model.actions import Action
from partq.model.machine import State, initial, internal, steps
from partq.model.profiles import Entity

LOST = "error invalid_operation|lock_lost|not_found"
UNAVAILABLE = "error internal|timeout|unavailable"


def two(state: State) -> State:
    """x and y in one partition, x first."""
    return after(state, send("x", key="k", only=0), send("y", key="k"))


def apart(state: State) -> State:
    """x in one partition, y in another."""
    return after(state, send("x", key="k", only=0), send("y", key="q", only=1))


def test_one_partition_delivers_in_the_order_of_numbers() -> None:
    for state in (two(flat()), two(prem())):
        assert answers(state, receive(2)) == ["ok", "ok x", "ok x y"]
        assert answers(took(state, "x"), receive(2)) == ["ok", "ok y"]


def test_across_partitions_the_order_is_free() -> None:
    assert answers(apart(prem()), receive(2)) == ["ok", "ok x", "ok x y", "ok y"]
    assert answers(apart(prem()), receive(1)) == ["ok", "ok x", "ok y"]


def test_a_message_overtakes_only_what_a_front_end_may_hold() -> None:
    assert not explains(two(flat()), receive(), seen("y"))
    [state] = explains(two(prem()), receive(), seen("y"))
    assert explains(state, receive(), seen("x"))
    late = after(state, advance(D - 1))
    assert explains(late, receive(), seen("x", delivery_count=0))
    later = after(state, advance(D))
    assert not explains(later, receive(), seen("x", delivery_count=0))
    assert explains(later, receive(), seen("x", delivery_count=1))


def test_a_lock_shown_tells_when_the_front_end_fetched() -> None:
    [state] = explains(two(prem()), receive(), seen("y"))
    state = after(state, advance(10))
    assert explains(state, receive(), seen("x", locked_until=D))
    assert not explains(state, receive(), seen("x", locked_until=D + 1))
    assert explains(state, receive(), seen("x", locked_until=D))[0].parts[0].log[0].lock[2] == D  # type: ignore[index]


def test_a_prefetch_is_a_step_of_its_own_when_exploring() -> None:
    state = two(prem())
    assert [(a.op, a.number) for a in internal(state)] == [("prefetch", 0)]  # in the order of numbers
    fetched = after(state, internal(state)[0])
    assert [(a.op, a.number) for a in internal(fetched)] == [("prefetch", 1)]
    assert answers(fetched, receive()) == ["ok", "ok x", "ok y"]
    assert internal(two(flat())) == []


def test_while_locked_nobody_else_receives() -> None:
    state = took(two(flat()), "x")
    assert not explains(state, receive(2, proc="other"), seen("x"))
    assert explains(after(state, advance(D)), receive(2, proc="other"), seen("x", delivery_count=1))
    assert not explains(after(state, advance(D)), receive(2, proc="other"), seen("x", delivery_count=0))


@pytest.mark.parametrize("delete", [False, True])
def test_what_is_finished_never_comes_back(delete: bool) -> None:
    state = took(two(flat()), "x", delete=delete)
    if not delete:
        state = after(state, complete(token(state, "x")))
    assert stored(state) == [["y"]]
    for later in closure(after(state, advance(10 * D))):
        assert not explains(later, receive(2), seen("x"))


def test_a_lost_lock_settles_nothing() -> None:
    state = took(two(flat()), "x")
    lock = token(state, "x")
    assert answers(state, complete(lock)) == ["ok"]
    gone = after(state, advance(D))
    for action in (
        complete(lock),
        abandon(lock),
        Action("renew_lock", "c", locks=(lock,)),
        complete("never"),
    ):
        assert answers(gone, action) == [LOST]
        assert {s for _, s in steps(gone, action)} == {gone}
    done = after(state, complete(lock))
    assert answers(done, complete(lock)) == [LOST]


def test_an_old_lock_does_not_settle_for_the_new_one() -> None:
    state = took(two(flat()), "x")
    old = token(state, "x")
    state = after(state, advance(D))
    state = after(state, receive(), answer="ok x")
    assert answers(state, complete(old)) == [LOST]
    assert answers(state, complete(token(state, "x"))) == ["ok"]


def test_renewing_restarts_the_clock() -> None:
    state = took(two(flat()), "x")
    lock = token(state, "x")
    state = after(state, advance(D - 1), Action("renew_lock", "c", locks=(lock,)), advance(D - 1))
    assert answers(state, complete(lock)) == ["ok"]
    assert answers(after(state, advance(1)), complete(lock)) == [LOST]
    assert not explains(state, Action("renew_lock", "c", locks=(lock,)), seen("y"))
    renewal = Action("renew_lock", "c", locks=(lock,))
    assert explains(state, renewal, seen("x", locked_until=3 * D - 1))  # RCV-13 does not bind here
    [state] = explains(state, renewal, seen("x", locked_until=3 * D - 2))
    assert answers(after(state, advance(D - 1)), complete(lock)) == ["ok"]


def test_a_renewal_shows_the_message_as_it_is_stored() -> None:
    [state] = explains(two(prem()), receive(), seen("x", lock="l1", partition=0, seq=5))
    renewal = Action("renew_lock", "c", locks=("l1",))
    assert explains(state, renewal, seen("x", partition=0, seq=5))
    assert not explains(state, renewal, seen("x", partition=0, seq=6))
    assert not explains(state, renewal, seen("x", partition=1))


def test_abandon_and_expiry_raise_the_count() -> None:
    state = took(two(flat()), "x")
    back = after(state, abandon(token(state, "x")))
    assert explains(back, receive(), seen("x", delivery_count=1))
    assert not explains(back, receive(), seen("x", delivery_count=0))
    assert not explains(back, receive(), seen("x", delivery_count=2))
    again = took(back, "x")
    assert explains(after(again, advance(D)), receive(), seen("x", delivery_count=2))


def test_a_returned_message_may_be_at_any_place() -> None:
    state = took(two(flat()), "x")
    state = after(state, abandon(token(state, "x")))
    assert answers(state, receive(2)) == ["ok", "ok x", "ok x y", "ok y"]


def test_one_request_settles_in_one_partition() -> None:
    state = took(apart(prem()), "x", "y")
    locks = token(state, "x"), token(state, "y")
    assert answers(state, complete(*locks)) == [LOST]
    assert {s for _, s in steps(state, complete(*locks))} == {state}
    same = took(two(prem()), "x", "y")
    assert stored(after(same, complete(token(same, "x"), token(same, "y")))) == [[], []]


def test_five_messages_may_be_completed_in_any_order() -> None:
    state = after(flat(), *(send(f"m{n}") for n in range(1, 6)))
    state = took(state, "m1", "m2")
    state = took(state, "m3", proc="other")
    for id in ("m2", "m3", "m1"):
        state = after(state, complete(token(state, id)))
    assert stored(state) == [["m4", "m5"]]


def test_a_receive_never_gives_more_than_asked_nor_one_twice() -> None:
    state = apart(prem())
    assert not explains(state, receive(1), seen("x"), seen("y"))
    assert not explains(state, receive(2), seen("x"), seen("x"))
    assert explains(state, receive(2), seen("y"), seen("x"))
    assert not explains(state, receive(2), seen("never sent"))


# Hidden locks


def test_a_message_left_alone_may_have_been_locked_unseen() -> None:
    for state, raised in ((two(prem(hindsight=1)), 3), (two(flat(hindsight=1)), 0)):
        idle = after(state, advance(3 * D))
        for count in range(6):
            assert bool(explains(idle, receive(), seen("x", delivery_count=count))) == (count <= raised)


def test_a_lock_may_have_begun_before_the_delivery() -> None:
    state = after(two(prem(hindsight=1)), advance(D // 2))
    [state] = explains(state, receive(), seen("x", lock="t"))
    assert not explains(state, complete("t"), error="lock_lost")
    half = after(state, advance(D // 2))
    assert explains(half, complete("t"), error="lock_lost")
    assert explains(half, complete("t"))
    assert explains(half, receive(proc="other"), seen("x", delivery_count=1))
    assert not explains(half, receive(proc="other"), seen("x", delivery_count=0))
    over = after(half, advance(D // 2))
    assert not explains(over, complete("t"))


# Faults


def test_a_fault_may_end_a_lock_or_keep_it() -> None:
    state = took(two(prem()), "x")
    lock = token(state, "x")
    state = after(state, down(0), up(0))
    assert explains(state, complete(lock))
    assert explains(state, complete(lock), error="lock_lost")
    for count in (0, 1):
        assert explains(state, receive(proc="other"), seen("x", delivery_count=count))
    assert not explains(state, receive(proc="other"), seen("x", delivery_count=2))
    assert [a.op for a in internal(state)] == ["expire", "release", "prefetch"]


def test_a_down_partition_neither_delivers_nor_settles() -> None:
    state = took(apart(prem()), "x", "y")
    state = after(state, down(0))
    assert answers(state, complete(token(state, "x"))) == [UNAVAILABLE]
    assert answers(state, complete(token(state, "y"))) == ["ok"]
    assert answers(after(apart(prem()), down(0)), receive(2)) == [UNAVAILABLE, "ok", "ok y"]


def test_a_dead_broker_answers_nothing() -> None:
    state = after(took(apart(prem()), "x"), Action("broker_kill"))
    gone = "error connection_lost|internal|timeout|unavailable"
    assert answers(state, send("z")) == [gone]
    assert answers(state, complete(token(state, "x"))) == [gone]
    assert answers(state, receive()) == [gone, "ok"]
    alive = after(state, Action("broker_start"))
    assert stored(alive) == [["x"], ["y"]]
    assert "ok y" in answers(alive, receive())


def test_the_call_after_a_lost_front_end_may_fail_once() -> None:
    state = after(apart(prem()), Action("frontend_lost", victim="p"))
    gone = "error connection_lost|internal|timeout|unavailable"
    assert answers(state, send("z", key="k")) == [gone, "ok"]
    assert answers(state, send("z", key="k", proc="other")) == ["ok"]
    assert answers(after(state, send("z", key="k"), answer="ok"), send("w", key="k")) == ["ok"]


def test_a_lost_front_end_gives_up_what_it_had_cached() -> None:
    [state] = explains(two(prem()), receive(), seen("y"))
    late = after(state, advance(D - 1), Action("frontend_lost", victim="other"))
    over = [then for _, then in steps(late, advance(1))]
    for count in (0, 1):  # given up at the loss, or run out
        assert any(explains(then, receive(), seen("x", delivery_count=count)) for then in over)
    early = after(state, advance(5))
    assert not explains(early, receive(), seen("x", locked_until=D + 5))
    early = after(early, Action("frontend_lost", victim="other"))
    assert explains(early, receive(), seen("x", locked_until=D + 5))
    assert not explains(early, receive(), seen("x", locked_until=D + 6))


def test_a_message_that_is_passed_may_have_been_cached_more_than_once() -> None:
    state = after(two(prem(hindsight=1)), advance(2 * D))
    [state] = explains(state, receive(), seen("y", delivery_count=0))
    for count in range(4):
        allowed = bool(explains(state, receive(proc="d"), seen("x", delivery_count=count)))
        assert allowed == (count <= 2)
    later = after(state, advance(D))
    for count in range(5):
        allowed = bool(explains(later, receive(proc="d"), seen("x", delivery_count=count)))
        assert allowed == (1 <= count <= 3)


def test_a_partition_that_is_down_may_deliver_what_a_front_end_has_cached() -> None:
    state = after(two(prem()), Action("prefetch", partition=0, number=0), down(0))
    assert answers(state, receive(2)) == [UNAVAILABLE, "ok", "ok x"]
    assert explains(after(two(prem(serving=1)), down(0)), receive(), seen("x"))


def test_struck_locks_are_decided_when_they_are_observed() -> None:
    state = took(took(two(prem(hindsight=1)), "x"), "y")
    state = after(state, down(0), up(0), advance(D))  # one state, not one for each way
    for counts in ((0, 0), (0, 1), (1, 0), (1, 1), (2, 1)):
        shown = [seen(id, delivery_count=count) for id, count in zip("xy", counts, strict=True)]
        assert len(explains(state, receive(2), *shown)) == 1


# Too many deliveries


def spent(limit: int, **options: int) -> State:
    """x, abandoned as often as the limit allows."""
    profile = "azure-premium" if options.get("hindsight") else "azure-flat"
    state = after(initial(profile, Entity(max_delivery_count=limit), gaps=0, owing=0, **options), send("x"))
    for count in range(limit):
        [state] = explains(state, receive(), seen("x", delivery_count=count, lock=f"l{count}"))
        state = after(state, abandon(f"l{count}"))
    return state


def test_after_the_last_delivery_a_message_may_be_dead_lettered() -> None:
    state = spent(2)
    assert explains(state, peek(), seen("x", delivery_count=2))
    [gone] = explains(state, peek())
    assert stored(gone) == [[]]
    assert stored(after(state, Action("drained"))) == [[]]
    assert [a.op for a in internal(state)] == ["exhaust"]
    assert not explains(spent(1), receive(), seen("x", delivery_count=0))
    assert not list(steps(after(flat(), send("x")), Action("drained")))


def test_beyond_the_maximum_it_certainly_is() -> None:
    [state] = explains(spent(2), receive(), seen("x", delivery_count=2, lock="l"))
    assert not explains(state, peek())
    assert stored(after(state, abandon("l"))) == [[]]
    assert stored(after(state, advance(D))) == [[]]
    assert not explains(spent(2), receive(), seen("x", delivery_count=3))


def test_locks_that_nobody_saw_count_too() -> None:
    state = after(initial("azure-premium", Entity(2, max_delivery_count=2), gaps=0), send("x", only=0))
    for time, gone in ((D, False), (2 * D, True), (9 * D, True)):
        idle = after(state, advance(time))
        assert bool(explains(idle, peek())) == gone
        assert explains(idle, receive(), seen("x", delivery_count=min(2, time // D)))
        assert not explains(idle, receive(), seen("x", delivery_count=3))


# The end


def test_drained_means_empty() -> None:
    state = two(flat())
    drained = Action("drained")
    assert answers(state, drained) == []
    state = took(state, "x", "y")
    assert answers(state, drained) == []
    state = after(state, complete(token(state, "x"), token(state, "y")))
    assert answers(state, drained) == ["ok"]


def test_answers_show_id_place_count_and_lock() -> None:
    [answer] = [a for a, _ in steps(two(prem()), receive()) if text(a) == "ok x"]
    [delivery] = answer.messages
    assert (delivery.id, delivery.partition, delivery.delivery_count) == ("x", 0, 0)
    assert delivery.lock is not None
    assert delivery.locked_until == D


def test_what_locks_that_a_fault_struck_may_leave_is_made_as_it_is_asked_for() -> None:
    names = [f"m{n}" for n in range(40)]
    state = initial("azure-flat", Entity(), **{**SMALL, "waived": frozenset({"PEEK-6"})})
    state = took(after(state, *map(send, names)), *names)
    state = after(state, Action("broker_kill"), Action("broker_start"))
    ways = steps(state, advance(2 * D))
    (_, first), (_, second) = next(ways), next(ways)
    assert first != second
