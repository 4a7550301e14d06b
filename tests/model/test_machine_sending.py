"""Sending: keys (KEY), partitions (ROUTE), numbers (SEQ)."""

from __future__ import annotations

import pytest
from acts import (
    advance,
    after,
    answers,
    down,
    explains,
    flat,
    msg,
    prem,
    queued,
    receive,
    seen,
    send,
    solace,
    std,
    stored,
    up,
)

from partq.model.actions import Action
from partq.model.configuration import InvalidScope
from partq.model.machine import State, initial, steps
from partq.model.messages import Message
from partq.model.profiles import SECOND, Entity

INVALID = "error invalid_operation"
UNAVAILABLE = "error internal|timeout|unavailable"


def sent(state: State, *messages: Message, op: str = "send") -> list[str]:
    return answers(state, Action(op, "p", messages=messages))


def places(state: State, action: Action) -> list[list[list[str]]]:
    return sorted(stored(s) for a, s in steps(state, action) if a.status == "ok")


# KEY


@pytest.mark.parametrize(
    ("message", "key"),
    [
        (msg("x", "k", "k"), "k"),
        (msg("x", None, "s"), "s"),
        (msg("x", "k"), "k"),
        (msg("x"), None),
    ],
)
def test_the_session_is_the_key_else_the_partition_key_never_the_id(
    message: Message, key: str | None
) -> None:
    keys = {s.keys for _, s in steps(prem(), Action("send", "p", messages=(message,)))}
    assert keys == ({((key, 0),), ((key, 1),)} if key else {()})


def test_two_different_keys_in_one_message_are_refused_and_nothing_is_stored() -> None:
    action = Action("send", "p", messages=(msg("x", "k", "s"),))
    assert answers(prem(), action) == [INVALID]
    assert [s for _, s in steps(prem(), action)] == [prem()]
    assert answers(flat(), action) == [INVALID, "ok"]


@pytest.mark.parametrize(
    ("keys", "allowed"),
    [(("a", "a"), ["ok"]), (("a", "b"), [INVALID]), ((None, None), ["ok"]), (("a", None), [INVALID, "ok"])],
)
def test_a_batch_has_one_key(keys: tuple[str | None, ...], allowed: list[str]) -> None:
    batch = [msg(f"m{n}", key) for n, key in enumerate(keys)]
    assert sent(prem(), *batch, op="send_batch") == allowed
    assert sent(flat(), *batch, op="send_batch") == ["ok"]


def test_a_user_property_is_the_key_with_solace() -> None:
    [x, y] = queued("x", "k"), queued("y", "k")
    for _, s in steps(solace(), Action("send", "p", messages=(x,))):
        assert s.keys
        assert len(list(steps(s, Action("send", "p", messages=(y,))))) == 1
    assert {s.keys for _, s in steps(solace(), Action("send", "p", messages=(msg("x", "k"),)))} == {()}


# ROUTE


def test_a_new_key_goes_anywhere_and_stays_there() -> None:
    state = prem()
    assert places(state, send("x", key="k")) == [[[], ["x"]], [["x"], []]]
    first = after(state, send("x", key="k", only=1))
    assert places(first, send("y", key="k")) == [[[], ["x", "y"]]]
    assert answers(first, send("y", key="k", only=0)) == []
    assert places(first, send("y", key="other")) == [[[], ["x", "y"]], [["y"], ["x"]]]


def test_a_keys_partition_outlives_its_messages_faults_and_restarts() -> None:
    state = after(prem(), send("x", key="k", only=1))
    state = after(state, receive(delete=True), answer="ok x")
    state = after(state, down(1), up(1), Action("broker_kill"), Action("broker_start"))
    assert places(state, send("y", key="k")) == [[[], ["y"]]]


def test_keyless_messages_go_to_any_partition_that_is_up() -> None:
    assert len(places(std(), send("x"))) == 16
    assert places(after(prem(), down(0)), send("x")) == [[[], ["x"]]]


def test_interchangeable_partitions_are_tried_once() -> None:
    state = std(symmetric=True)
    assert len(places(state, send("x"))) == 1
    state = after(state, send("x"))
    assert len(places(state, send("y"))) == 2
    assert len(places(initial("azure-standard", names=(7, 300)), send("x"))) == 3


def test_a_keyless_batch_may_be_in_one_partition_or_in_several() -> None:
    assert places(prem(), send("x", "y")) == sorted(
        [
            [["x", "y"], []],
            [["y", "x"], []],
            [[], ["x", "y"]],
            [[], ["y", "x"]],
            [["x"], ["y"]],
            [["y"], ["x"]],
        ]
    )


def test_a_keyed_send_fails_while_its_partition_is_down_and_stores_nothing() -> None:
    state = after(prem(), send("x", key="k", only=1), down(1))
    assert answers(state, send("y", key="k")) == [UNAVAILABLE]
    assert {s for _, s in steps(state, send("y", key="k"))} == {state}
    assert answers(after(state, up(1)), send("y", key="k")) == ["ok"]


def test_a_new_key_that_fails_has_shown_where_it_lives() -> None:
    state = after(prem(), down(1))
    failed = [s for a, s in steps(state, send("x", key="k")) if a.status == "error"]
    assert [s.keys for s in failed] == [(("k", 1),)]
    assert places(state, send("x", key="k")) == [[["x"], []]]


@pytest.mark.parametrize(
    ("timeout", "allowed"), [(60 * SECOND, ["ok"]), (16 * SECOND, ["ok"]), (15 * SECOND, [UNAVAILABLE, "ok"])]
)
def test_a_keyless_send_goes_round_a_down_partition_if_it_waits(timeout: int, allowed: list[str]) -> None:
    assert answers(after(prem(), down(0)), send("x", timeout=timeout)) == allowed
    assert answers(prem(), send("x", timeout=timeout)) == ["ok"]


def test_with_no_partition_up_every_send_fails() -> None:
    state = after(prem(), down(0), down(1))
    for action in (send("x"), send("x", key="k"), send("x", "y")):
        assert answers(state, action) == [UNAVAILABLE]
        assert all(stored(s) == [[], []] for _, s in steps(state, action))


def test_other_partitions_go_on_while_one_is_down() -> None:
    state = after(prem(), send("x", key="k", only=0), send("y", key="q", only=1), down(1))
    assert answers(state, send("z", key="k")) == ["ok"]
    assert "ok x" in answers(state, receive(2))
    assert "ok y" not in answers(state, receive(2))


# SEQ


def shown(state: State, action: Action) -> set[int | None]:
    return {d.seq for a, _ in steps(state, action) for d in a.messages}


def at(counter: int, **options: int) -> State:
    off = {"hindsight": False, "gaps": False, "lag": False, "early": False}
    return initial("azure-premium", Entity(2, seq_start=counter), (5, 9), **{**off, **options})


def test_the_top_bits_name_the_partition_and_numbers_count_up() -> None:
    state = after(at(1), send("x", key="k", only=1), send("y", key="k"), send("z", key="q", only=0))
    assert shown(state, receive(2, only=1)) == {9 << 48 | 1, 9 << 48 | 2}
    assert shown(state, receive(2, only=0)) == {5 << 48 | 1}


def test_the_counter_rolls_over_to_zero() -> None:
    state = after(at(2**48 - 1), send("x", only=0), send("y", only=0))
    assert shown(state, receive(2, only=0)) == {5 << 48 | 2**48 - 1, 5 << 48}
    state = initial("azure-flat", Entity(seq_start=2**64 - 1))
    state = after(state, send("x"), send("y"))
    assert shown(state, receive(2)) == {2**64 - 1, 0}


def test_a_number_stays_with_its_message() -> None:
    state = after(at(3), send("x", only=0))
    state = after(state, receive(only=0))
    [(_, entry)] = [(0, entry) for entry in state.parts[0].log]
    assert entry.lock is not None
    state = after(state, Action("abandon", "c", locks=(str(entry.lock.token),)))
    assert shown(state, receive(only=0)) == {5 << 48 | 3}


def test_a_gap_needs_a_send_that_failed() -> None:
    state = after(at(0), send("x", only=0))
    hint = seen("y", seq=5 << 48 | 2)
    assert not explains(state, send("y"), hint)
    two_keys = Action("send", "p", messages=(msg("bad", "k", "s"),))
    for gaps, expected in ((0, 0), (1, 1)):
        state = after(at(0, gaps=gaps), send("x", only=0))
        state = after(state, two_keys, answer=INVALID)
        assert len(explains(state, send("y"), hint)) == expected
        assert not explains(state, send("y"), seen("y", seq=5 << 48 | 3))


def test_without_an_observation_every_gap_is_a_step() -> None:
    state = after(
        at(0, gaps=1), Action("send_batch", "p", messages=(msg("a", "k"), msg("b", "q"))), answer=INVALID
    )
    found = [s for _, s in steps(state, send("x", only=0))]
    assert sorted({s.parts[0].log[0].number for s in found}) == [0, 1, 2]
    assert all(len(s.keys) >= s.parts[0].log[0].number for s in found)


def used_up(key: str | None, at: int | None) -> State:
    """A number used up by a failed send of that key, which may live in that partition already."""
    state = initial("azure-premium", Entity(2, seq_start=0), (5, 9))
    if at is not None:
        state = after(state, send("first", key=key, only=at))
    return after(state, send("bad", key=key, calm=True), answer=UNAVAILABLE)


def test_a_gap_is_in_the_partition_of_the_key_of_the_send_that_failed() -> None:
    there, elsewhere = seen("y", seq=9 << 48 | 2), seen("y", seq=5 << 48 | 1)
    state = used_up("k", 1)
    assert explains(state, send("y"), there)
    assert explains(state, send("y", key="k"), there)
    assert not explains(state, send("y"), elsewhere)


def test_a_gap_may_tell_where_a_key_lives() -> None:
    state = used_up("k", None)
    [one] = explains(state, send("y"), seen("y", seq=5 << 48 | 1))
    assert one.keys == (("k", 0),)
    assert not explains(one, send("z", key="k"), seen("z", seq=9 << 48))
    [other] = explains(state, send("z", key="k"), seen("z", seq=9 << 48))
    assert not explains(other, send("y"), seen("y", seq=5 << 48 | 1))
    assert explains(other, send("y"), seen("y", seq=9 << 48 | 2))


def test_each_set_of_keys_explains_a_gap_once_and_too_few_explain_none() -> None:
    state = used_up(None, None)._replace(burnt=tuple((-1, f"k{n:02}", 1) for n in range(20)))
    pairs = explains(state, send("y"), seen("y", seq=5 << 48 | 2))
    assert len({one.keys for one in pairs}) == len(pairs) == 20 * 19 // 2
    assert not explains(state, send("y"), seen("y", seq=5 << 48 | 21))


def test_a_keyless_send_that_failed_explains_a_gap_anywhere_but_once() -> None:
    state = used_up(None, None)
    [one] = explains(state, send("y"), seen("y", seq=5 << 48 | 1))
    assert not explains(one, send("z"), seen("z", seq=9 << 48 | 1))
    assert explains(state, send("z"), seen("z", seq=9 << 48 | 1))


def batch(*numbers: int | None) -> list[State]:
    """The states after a batch a, b, c … of one key whose messages are shown so, if at all."""
    ids = [chr(97 + n) for n in range(len(numbers))]
    hints = [seen(id, seq=9 << 48 | n) for id, n in zip(ids, numbers, strict=True) if n is not None]
    return explains(at(3, gaps=1), send(*ids, key="k"), *hints)


def test_a_batch_is_numbered_in_the_order_that_is_shown() -> None:
    [state] = batch(5, 3, 4)
    assert stored(state) == [[], ["b", "c", "a"]]
    [state] = batch(*(3 + (5 * n) % 8 for n in range(8)))
    assert stored(state) == [[], [chr(97 + n) for n in sorted(range(8), key=lambda n: 5 * n % 8)]]
    assert stored(batch(5, None, 3)[0]) == [[], ["c", "b", "a"]]
    assert stored(batch(None, 3, None)[0]) == [[], ["b", "a", "c"]]
    assert not batch(5, 3)
    assert not batch(4, 4)


def test_the_first_number_shown_tells_where_a_counter_began() -> None:
    state = initial("azure-standard", names=(7,))
    state = after(state, send("x", key="k", only=0), send("y", key="k"))
    [state] = explains(state, receive(), seen("x", seq=7 << 48 | 1000))
    assert explains(state, receive(), seen("y", seq=7 << 48 | 1001))
    assert not explains(state, receive(), seen("y", seq=7 << 48 | 1000))
    assert not explains(state, receive(), seen("y", seq=8 << 48 | 1001))


def test_numbers_follow_the_order_of_sends() -> None:
    state = initial("azure-standard", names=(7,))
    [state] = explains(state, send("x", key="k"), seen("x", seq=7 << 48 | 5))
    assert not explains(state, send("y", key="k"), seen("y", seq=7 << 48 | 4))
    assert not explains(state, send("y", key="k"), seen("y", seq=7 << 48 | 5))


def test_enqueued_times_lie_in_the_send_and_do_not_decrease() -> None:
    state = initial("azure-standard", names=(7,), timed=1)
    state = after(state, advance(100))
    [state] = explains(
        state, Action("send", "p", messages=(msg("x", "k"),), slack=10), seen("x", partition=7)
    )
    [state] = explains(
        state, Action("send", "p", messages=(msg("y", "k"),), slack=20), seen("y", partition=7)
    )
    assert not explains(state, receive(2), seen("x", enqueued_at=99))
    assert not explains(state, receive(2), seen("x", enqueued_at=111))
    assert explains(state, receive(2), seen("x", enqueued_at=105), seen("y", enqueued_at=105))
    assert not explains(state, receive(2), seen("x", enqueued_at=105), seen("y", enqueued_at=104))
    [state] = explains(state, receive(), seen("x", enqueued_at=110))
    assert not explains(state, receive(), seen("y", enqueued_at=109))
    assert explains(state, receive(), seen("y", enqueued_at=120))


# The entity


@pytest.mark.parametrize(
    ("profile", "entity", "names"),
    [
        ("azure-standard", Entity(4), None),
        ("azure-premium", Entity(3), None),
        ("azure-premium", Entity(2), (1, 2, 3)),
        ("azure-premium", Entity(2), (1, 1)),
        ("rabbitmq", Entity(2), None),
    ],
)
def test_what_the_machine_has_no_state_for(
    profile: str, entity: Entity, names: tuple[int, ...] | None
) -> None:
    with pytest.raises(InvalidScope):
        initial(profile, entity, names)


# Busy brokers


def test_a_busy_broker_may_refuse_what_no_fault_touches() -> None:
    state = after(prem(), send("x", key="k", only=0))
    assert answers(state, send("y", key="k")) == ["ok"]
    assert answers(state, send("y", key="k", calm=True)) == [UNAVAILABLE, "ok"]
    assert {s for a, s in steps(state, send("y", key="k", calm=True)) if a.errors} == {state}
