"""Transactions (TXN): what is refused when, and that all of it happens or nothing."""

from __future__ import annotations

import pytest
from acts import (
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
    solace,
    stored,
    text,
    token,
    took,
    txn,
)

from partq.model.actions import Action
from partq.model.machine import State, initial, internal, steps
from partq.model.profiles import Entity
from partq.model.state import entries

INVALID = "error invalid_operation"
BROKEN = "error internal|invalid_operation|lock_lost|not_found|timeout|unavailable"
BUSY = "error internal|timeout|unavailable"
LOST = "error invalid_operation|lock_lost|not_found"


def opened(state: State) -> State:
    return after(state, txn("begin"))


def ids(state: State) -> list[str]:
    return sorted(id for part in stored(state) for id in part)


def test_a_transactional_send_needs_a_key() -> None:
    state = opened(prem())
    assert answers(state, send("x", txn="t")) == [INVALID, "ok"]
    assert "ok" not in answers(after(state, send("x", txn="t")), txn("commit"))
    assert answers(state, send("x", key="k", txn="t")) == ["ok"]
    assert answers(opened(flat()), send("x", txn="t")) == ["ok"]


def test_a_second_key_is_refused_unless_it_shares_the_partition() -> None:
    state = after(prem(), send("q", key="same", only=0), send("r", key="apart", only=1))
    state = after(opened(state), send("x", key="k", txn="t", only=0))
    assert answers(state, send("y", key="k", txn="t")) == ["ok"]
    assert answers(state, send("y", key="apart", txn="t")) == [INVALID]
    assert answers(state, send("y", key="same", txn="t")) == [INVALID, "ok"]
    assert answers(state, send("y", key="new", txn="t")) == [INVALID, "ok"]
    assert {s.keys for a, s in steps(state, send("y", key="new", txn="t")) if a.status == "ok"} == {
        (("apart", 1), ("k", 0), ("new", 0), ("same", 0))
    }


def test_a_key_pins_in_a_transaction_as_outside() -> None:
    state = after(prem(), send("q", key="k", only=1))
    state = after(opened(state), send("x", key="k", txn="t"), txn("commit"))
    assert stored(state) == [[], ["q", "x"]]
    state = after(opened(prem()), send("x", key="k", txn="t", only=1), txn("rollback"))
    assert stored(after(state, send("y", key="k"))) == [[], ["y"]]


@pytest.mark.parametrize("early", [0, 1])
def test_nothing_of_it_is_visible_before_the_commit_and_all_is_after(early: int) -> None:
    sent = closure(after(opened(flat(early=early)), send("x", txn="t")))
    assert len(sent) == 1 + early
    for state in sent:
        state = after(state, send("y", txn="t"))
        assert not explains(state, receive(2), seen("x"))
        assert not explains(state, peek(2), seen("x"))
        done = after(state, txn("commit"))
        assert answers(done, receive(2)) == ["ok", "ok x", "ok x y"]
        assert ids(after(state, txn("rollback"))) == []


def test_numbers_are_taken_any_time_from_the_send_to_the_commit() -> None:
    orders = set()
    for state in closure(after(opened(flat(early=1)), send("x", txn="t"))):
        state = after(state, send("y"), txn("commit"))
        orders.add(tuple(stored(state)[0]))
    assert orders == {("x", "y"), ("y", "x")}


def test_an_early_number_of_a_rolled_back_send_is_a_gap() -> None:
    state = opened(initial("azure-flat", Entity(seq_start=0)))
    gaps = set()
    for sent in closure(after(state, send("x", txn="t"))):
        for _, ended in steps(sent, txn("rollback")):
            for _, later in steps(ended, send("y")):
                gaps.add(later.parts[0].log[0].number)
    assert gaps == {0, 1}


def test_visibility_may_lag_until_the_drain() -> None:
    state = after(opened(flat(lag=1)), send("x", txn="t"), txn("commit"))
    assert explains(state, peek(), seen("x"))
    assert explains(state, peek())
    assert not explains(after(state, send("y")), peek())
    assert explains(after(state, send("y")), peek(2), seen("y"))
    assert explains(after(state, send("y")), receive(2), seen("y"))
    assert [a.op for a in internal(state)] == ["appear"]
    assert answers(state, Action("drained")) == []
    shown = after(state, internal(state)[0])
    assert not explains(shown, peek())


def numbers(state: State) -> dict[str, int]:
    return {entry.id: entry.number for _, entry in entries(state)}


def test_numbers_that_are_shown_tell_when_they_were_taken() -> None:
    """x and z in the transaction, y beside it: what is shown before the commit as what is not."""
    for x, y, z in ((0, 1, 2), (0, 2, 1), (1, 0, 2)):
        [state] = explains(
            opened(initial("azure-flat", Entity(seq_start=0))), send("x", txn="t"), seen("x", seq=x)
        )
        [state] = explains(state, send("z", txn="t"), seen("z", seq=z))
        [state] = explains(state, send("y"), seen("y", seq=y))
        [state] = explains(state, txn("commit"))
        assert numbers(state) == {"x": x, "y": y, "z": z}
    for x, y, z in ((1, 0, 3), (2, 0, 1), (0, 0, 1)):
        [state] = explains(
            opened(initial("azure-flat", Entity(seq_start=0))), send("x", txn="t"), seen("x", seq=x)
        )
        [state] = explains(state, send("z", txn="t"), seen("z", seq=z))
        assert not [
            s for then in explains(state, send("y"), seen("y", seq=y)) for s in explains(then, txn("commit"))
        ]


def test_a_number_left_out_may_be_that_of_a_send_that_is_never_shown() -> None:
    state = after(opened(initial("azure-flat", Entity(seq_start=0))), send("x", txn="t"))
    [left_out] = explains(state, send("y"), seen("y", seq=1))
    assert numbers(left_out) == {"x": 0, "y": 1}
    assert not explains(state, send("y"), seen("y", seq=2))
    gone = after(left_out, txn("rollback"))
    assert explains(gone, send("z"), seen("z", seq=2))
    assert not explains(gone, send("z"), seen("z", seq=3))
    late = after(state, txn("rollback"))
    assert explains(late, send("y"), seen("y", seq=1))


def test_no_half_of_a_transaction_is_visible() -> None:
    state = after(opened(flat(lag=1)), send("x", txn="t"), send("z", txn="t"), txn("commit"))
    assert explains(state, peek(2), seen("x"), seen("z"))
    assert not explains(state, peek(2), seen("z"))
    assert not explains(state, receive(2), seen("z"))
    [one] = explains(state, receive(), seen("x"))
    assert not explains(one, peek(2, from_seq=0), seen("x")) or not explains(one, peek())
    assert answers(one, receive(proc="d")) == ["ok", "ok z"]


def locked(state: State) -> tuple[State, str, str]:
    state = after(state, send("x", key="k", only=0), send("y", key="q", only=len(state.parts) - 1))
    state = took(state, "x", "y")
    return state, token(state, "x"), token(state, "y")


def test_settlements_take_effect_at_the_commit() -> None:
    state, x, _ = locked(prem())
    state = after(opened(state), complete(x, txn="t"))
    assert ids(state) == ["x", "y"]
    assert not explains(state, receive(proc="other"), seen("x"))
    assert ids(after(state, txn("commit"))) == ["y"]
    kept = after(state, txn("rollback"))
    assert ids(kept) == ["x", "y"]
    assert answers(kept, complete(x)) == ["ok"]
    state = after(opened(kept), abandon(x, txn="t"), txn("commit"))
    assert explains(state, receive(), seen("x", delivery_count=1))


def test_settling_in_a_second_partition_is_refused() -> None:
    state, x, y = locked(prem())
    first = after(opened(state), complete(x, txn="t"))
    assert answers(first, complete(y, txn="t")) == [INVALID]
    assert answers(opened(state), complete(x, y, txn="t")) == [INVALID]
    state, x, y = locked(flat())
    assert answers(after(opened(state), complete(x, txn="t")), complete(y, txn="t")) == ["ok"]


def test_sending_to_another_partition_than_it_settles_in_is_open() -> None:
    state, x, _ = locked(prem())
    settled = after(opened(state), complete(x, txn="t"))
    assert answers(settled, send("z", key="q", txn="t")) == [INVALID, "ok"]
    assert answers(settled, send("z", key="k", txn="t")) == ["ok"]
    sent = after(opened(state), send("z", key="q", txn="t"))
    assert answers(sent, complete(x, txn="t")) == [INVALID, "ok"]


def test_a_lock_enlisted_once_may_be_enlisted_again_or_not() -> None:
    state, x, _ = locked(prem())
    state = after(opened(state), complete(x, txn="t"))
    assert answers(state, complete(x, txn="t")) == [LOST, "ok"]
    assert answers(opened(prem()), complete("never", txn="t")) == [LOST]


def test_a_commit_may_fail_only_if_something_came_in_between() -> None:
    state, x, _ = locked(prem())
    state = after(opened(state), complete(x, txn="t"), send("z", key="k", txn="t"))
    assert answers(state, txn("commit")) == ["ok"]
    expired = after(state, advance(D))
    assert answers(expired, txn("commit")) == [BROKEN, "ok"]
    assert answers(after(state, down(0)), txn("commit")) == [BROKEN, BUSY]
    assert answers(after(state, down(1)), txn("commit")) == ["ok"]
    refused = after(state, send("w", txn="t"), answer=INVALID)
    assert answers(refused, txn("commit")) == [BROKEN, BUSY, "ok"]
    hit = after(state, Action("frontend_lost", victim="p"))
    assert "ok" in answers(hit, txn("commit"))
    assert BROKEN in answers(hit, txn("commit"))
    for then in (s for a, s in steps(refused, txn("commit")) if text(a) == BROKEN):
        assert ids(then) == ["x", "y"]


def test_a_commit_may_find_its_lock_lost() -> None:
    state = after(prem(hindsight=1), send("x", key="k", only=0), advance(D))
    [state] = explains(state, receive(), seen("x", lock="l", delivery_count=0))
    state = after(opened(state), complete("l", txn="t"))
    assert explains(state, txn("commit"))
    [failed] = explains(state, txn("commit"), error="lock_lost")
    assert explains(failed, receive(), seen("x", delivery_count=1))
    assert not explains(failed, receive(), seen("x", delivery_count=0))


def test_a_commit_settles_nothing_by_a_lock_that_somebody_else_has_a_new_one_for() -> None:
    state = after(prem(), send("x", key="k", only=0), advance(D))
    [state] = explains(state, receive(), seen("x", lock="l", delivery_count=0))
    state = after(state, txn("begin"), complete("l", txn="t"), advance(2 * D))
    [again] = explains(state, receive(), seen("x", lock="m", delivery_count=1))
    assert explains(state, txn("commit"))
    assert not explains(again, txn("commit"))
    assert explains(again, txn("commit"), error="lock_lost")
    assert not explains(after(again, advance(2 * D)), txn("commit"))


def test_a_lock_refused_as_lost_in_a_transaction_settles_nothing_more() -> None:
    state = after(prem(hindsight=1), send("x", key="k", only=0), advance(D))
    [state] = explains(state, receive(), seen("x", lock="l", delivery_count=0))
    state, late = after(state, txn("begin")), complete("l", txn="t")._replace(slack=D)
    assert explains(state, late)
    [refused] = explains(state, late, error="lock_lost")
    assert not explains(refused, late)


def test_the_broker_may_forget_a_transaction_that_a_fault_hit() -> None:
    state = after(opened(flat()), send("x", txn="t"))
    assert internal(state) == []
    hit = after(state, Action("broker_kill"), Action("broker_start"))
    [move] = [a for a in internal(hit) if a.op == "forget"]
    forgotten = after(hit, move)
    assert answers(forgotten, Action("commit", "other", txn="t")) == [BROKEN]


def test_ended_or_unknown_transactions_do_nothing() -> None:
    state = after(opened(flat()), send("x", txn="t"), txn("rollback"))
    for action in (txn("commit"), txn("rollback"), send("y", txn="t"), complete("l", txn="t")):
        assert answers(state, action) == [BROKEN]
    assert answers(opened(flat()), txn("begin")) == [INVALID]
    assert [a.split()[0] for a in answers(solace(), txn("begin"))] == ["error"]


def test_two_transactions_do_not_touch_each_other() -> None:
    state = after(flat(), txn("begin", "t"), txn("begin", "u"), send("x", txn="t"), send("y", txn="u"))
    state = after(state, txn("rollback", "u"), txn("commit", "t"))
    assert ids(state) == ["x"]
