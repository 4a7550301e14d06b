"""Peek (PEEK): what an answer may show, cursors, and that nothing changes."""

from __future__ import annotations

import pytest
from acts import (
    D,
    advance,
    after,
    answers,
    complete,
    down,
    explains,
    flat,
    peek,
    prem,
    receive,
    seen,
    send,
    solace,
    token,
    took,
)

from partq.model.actions import Action
from partq.model.machine import State, initial, steps
from partq.model.profiles import Entity


def four(state: State) -> State:
    """a1, a2 in one partition, b1, b2 in the other (flat: a1 a2 b1 b2)."""
    second = 1 if len(state.parts) > 1 else 0
    return after(
        state,
        send("a1", key="a", only=0),
        send("a2", key="a"),
        send("b1", key="b", only=second),
        send("b2", key="b"),
    )


def test_a_flat_entity_shows_its_oldest() -> None:
    assert answers(four(flat()), peek(2)) == ["ok a1", "ok a1 a2"]


def test_a_partitioned_one_shows_the_oldest_of_some_partitions() -> None:
    assert answers(four(prem()), peek(2)) == ["ok a1", "ok a1 a2", "ok a1 b1", "ok b1", "ok b1 b2"]


@pytest.mark.parametrize(
    ("shown", "allowed"),
    [
        (("a1", "b1", "a2"), True),
        (("b1", "a1"), True),
        (("b1", "b2", "a1"), True),
        (("a2",), False),
        (("a2", "a1"), False),
        (("b2", "a1"), False),
        (("a1", "a1"), False),
        (("a1", "a2", "b1", "b2"), False),
        ((), False),
    ],
)
def test_any_mix_that_skips_nothing_within_a_partition(shown: tuple[str, ...], allowed: bool) -> None:
    assert bool(explains(four(prem()), peek(3), *map(seen, shown))) == allowed


def test_nothing_is_shown_only_where_nothing_is() -> None:
    assert answers(prem(), peek(3)) == ["ok"]
    assert "ok" not in answers(four(prem()), peek(3))
    assert "ok" in answers(after(four(prem()), down(0), down(1)), peek(3))
    assert "ok" not in answers(after(four(prem()), down(0)), peek(3))


def test_repeated_peeks_reach_everything_and_then_end() -> None:
    found: set[frozenset[str]] = set()

    def walk(state: State, so_far: frozenset[str]) -> None:
        for answer, then in steps(state, peek(2)):
            ids = frozenset(d.id for d in answer.messages)
            assert not ids & so_far
            if ids:
                walk(then, so_far | ids)
            else:
                found.add(so_far)

    walk(four(prem()), frozenset())
    assert found == {frozenset({"a1", "a2", "b1", "b2"})}


def test_each_client_has_its_own_cursor_and_a_number_moves_none() -> None:
    state = after(four(flat()), peek(2), answer="ok a1 a2")
    assert answers(state, peek()) == ["ok b1"]
    assert answers(state, peek(proc="other")) == ["ok a1"]
    assert answers(after(state, peek(4, from_seq=0), answer="ok a1 a2 b1 b2"), peek()) == ["ok b1"]


def test_a_number_is_a_place_in_its_own_partition_and_partitions_come_by_name() -> None:
    state = four(initial("azure-premium", Entity(2, seq_start=10), (5, 9)))
    for from_seq, allowed in [
        (5 << 48 | 11, {"ok a2", "ok b1"}),
        (5 << 48 | 12, {"ok b1"}),
        (9 << 48 | 11, {"ok b2"}),
        (7 << 48, {"ok b1"}),
        (9 << 48 | 12, {"ok"}),
        (0, {"ok a1", "ok b1"}),
    ]:
        assert set(answers(state, peek(from_seq=from_seq))) == allowed


def test_older_is_serial_across_the_roll_over() -> None:
    state = initial("azure-premium", Entity(1, seq_start=2**48 - 1), (5,))
    state = after(state, send("x"), send("y"))
    assert answers(state, peek(2, from_seq=5 << 48 | 2**48 - 1)) == ["ok x", "ok x y"]
    assert answers(state, peek(2, from_seq=5 << 48)) == ["ok y"]


def test_locked_messages_are_shown_and_peek_locks_nothing() -> None:
    state = took(four(flat()), "a1")
    assert answers(state, peek()) == ["ok a1"]
    assert {then.parts for _, then in steps(state, peek(4))} == {state.parts}
    assert not explains(state, peek(), seen("a1", lock="t"))
    gone = after(state, complete(token(state, "a1")))
    assert answers(gone, peek()) == ["ok a2"]


def test_the_count_changes_only_if_a_lock_may_have_ended() -> None:
    state = took(four(flat()), "a1")
    assert explains(state, peek(), seen("a1", delivery_count=0))
    assert not explains(state, peek(), seen("a1", delivery_count=1))
    assert explains(after(state, advance(D)), peek(), seen("a1", delivery_count=1))
    kill = after(state, Action("broker_kill"), Action("broker_start"))
    [raised] = explains(kill, peek(), seen("a1", delivery_count=1))
    assert not explains(raised, peek(proc="other"), seen("a1", delivery_count=0))
    assert explains(raised, receive(), seen("a1", delivery_count=1))


def test_the_end_of_a_lock_may_be_counted_as_late_as_at_the_next_delivery() -> None:
    state = after(took(four(flat(owing=1)), "a1"), advance(D))
    [shown] = explains(state, peek(), seen("a1", delivery_count=0))
    assert explains(shown, receive(), seen("a1", delivery_count=1))
    assert not explains(shown, receive(), seen("a1", delivery_count=0))
    for other in (0, 1):
        assert explains(shown, peek(proc="other"), seen("a1", delivery_count=other))
    [counted] = explains(state, peek(), seen("a1", delivery_count=1))
    assert not explains(counted, peek(proc="other"), seen("a1", delivery_count=0))
    assert len({s for _, s in steps(state, peek())}) == 2


def test_a_fault_may_reset_the_cursor() -> None:
    state = after(four(flat()), peek(2), answer="ok a1 a2")
    state = after(state, Action("frontend_lost", victim="c"))
    assert [a for a in answers(state, peek()) if a.startswith("ok")] == ["ok a1", "ok b1"]
    [reset] = explains(state, peek(), seen("a1"))
    assert answers(reset, peek()) == ["ok a2"]


def test_a_lost_front_end_may_reset_the_cursor_of_any_client() -> None:
    state = after(four(flat()), peek(2), answer="ok a1 a2")
    state = after(state, Action("frontend_lost", victim="other"))
    assert answers(state, peek()) == ["ok a1", "ok b1"]


def test_a_reset_cursor_is_decided_by_the_first_peek_that_tells() -> None:
    state = after(four(flat()), peek(4), answer="ok a1 a2 b1 b2")
    state = after(state, receive(4, delete=True), answer="ok a1 a2 b1 b2")
    state = after(state, Action("frontend_lost", victim="c"))
    [empty] = explains(state, peek(proc="c"))
    assert empty.clients[0].loose


def test_a_peek_of_one_partition_says_nothing_of_the_others() -> None:
    state = after(four(prem()), peek(4), answer="ok a1 a2 b1 b2")
    state = after(state, send("a3", key="a"))
    assert not explains(state, peek(4))
    assert explains(state, peek(4, only=1))
    assert not explains(state, peek(4, only=0))
    [one] = explains(state, peek(4, only=0), seen("a3"))
    assert not explains(state, peek(4, only=1), seen("a3"))
    assert explains(one, peek(4))


def test_no_more_than_the_cap() -> None:
    state = after(initial("azure-flat", Entity(peek_cap=1)), send("x"), send("y"))
    assert answers(state, peek(5)) == ["ok x"]
    assert not explains(state, peek(5), seen("x"), seen("y"))


def test_browsing_a_solace_queue_is_refused() -> None:
    assert [a.split()[0] for a in answers(solace(), peek())] == ["error"]


def test_a_number_never_shown_may_be_before_or_after() -> None:
    state = four(initial("azure-premium", Entity(2), (5,)))
    assert explains(state, peek(from_seq=7 << 48))
    assert explains(state, peek(from_seq=5 << 48 | 3))
    assert not explains(state, peek(from_seq=0))
