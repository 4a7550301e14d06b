"""Deferral: set aside under the same number, received by it alone, and in one partition."""

from __future__ import annotations

from typing import Any

import pytest
from world import Post, World, ids, key_for, only, outcome

from partq.reference_impl.broker import SECOND, Shown
from partq.reference_impl.clock import Steps
from partq.reference_impl.freedoms import Freedoms

FLAT = {"partitions": 1, "partitioned": False, "counter_bits": 64}


def _world(seed: int = 1, **settings: Any) -> World:
    return World(seed, **{"partitions": 4, "eagerness": 0.0, "front_ends": 2, **settings})


def _deferred(world: World, *names: str, index: int = 0) -> Steps[list[Shown]]:
    """Send messages of one key, receive and defer them; what was received."""
    for name in names:
        yield from world.send(Post(name, partition_key=key_for(world.broker, index)))
    found = list((yield from world.receive(len(names)))[2])
    assert outcome((yield from world.settle("defer", *(one.lock for one in found)))) == "ok"
    return found


def _states(world: World) -> Steps[list[tuple[str, int, str]]]:
    return [(one.id, one.seq, one.state) for one in (yield from world.peek(number=0))[2]]


@pytest.mark.parametrize("settings", [{}, FLAT])
def test_a_deferred_message_is_peeked_and_received_by_its_number_alone(settings: dict[str, Any]) -> None:
    world = _world(**settings)

    def scene() -> Steps[None]:
        (a,) = yield from _deferred(world, "a")
        assert outcome((yield from world.settle("complete", a.lock))) == "lock_lost"
        assert ids((yield from world.receive())) == []
        assert (yield from _states(world)) == [("a", a.seq, "deferred")]
        again = only((yield from world.receive_deferred(a.seq)))
        assert (again.id, again.seq, again.enqueued_at, again.delivery_count) == (
            "a",
            a.seq,
            a.enqueued_at,
            0,
        )
        assert again.lock != a.lock
        assert outcome((yield from world.receive_deferred(a.seq))) == "not_found"
        assert outcome((yield from world.settle("complete", again.lock))) == "ok"
        assert outcome((yield from world.receive_deferred(a.seq))) == "not_found"
        assert world.broker.is_empty()

    world.do(scene())


@pytest.mark.parametrize("end", ["abandon", "expiry", "defer"])
def test_a_deferred_message_whose_lock_ends_is_deferred_again(end: str) -> None:
    world = _world()

    def scene() -> Steps[None]:
        (a,) = yield from _deferred(world, "a")
        lock = only((yield from world.receive_deferred(a.seq))).lock
        yield from world.sleep(31 * SECOND) if end == "expiry" else world.settle(end, lock)
        assert ids((yield from world.receive())) == []
        again = only((yield from world.receive_deferred(a.seq)))
        assert (again.id, again.seq, again.delivery_count) == ("a", a.seq, int(end != "defer"))

    world.do(scene())


def test_one_call_names_numbers_of_one_partition_and_gets_all_or_none() -> None:
    world = _world()

    def scene() -> Steps[list[str]]:
        a, b = yield from _deferred(world, "a", "b")
        (c,) = yield from _deferred(world, "c", index=1)
        log = [outcome((yield from world.receive_deferred(a.seq, c.seq)))]
        log.append(outcome((yield from world.receive_deferred(a.seq, b.seq + 1))))
        assert ids((yield from world.receive_deferred(b.seq, a.seq, b.seq))) == ["b", "a"]
        assert ids((yield from world.receive_deferred(c.seq))) == ["c"]
        return log

    assert world.do(scene()) == ["invalid_operation", "not_found"]


def test_a_number_of_a_message_that_is_not_deferred_is_not_found() -> None:
    world = _world()

    def scene() -> Steps[None]:
        (a,) = yield from _deferred(world, "a")
        yield from world.send(Post("b", partition_key=key_for(world.broker, 0)))
        assert outcome((yield from world.receive_deferred(a.seq, a.seq + 1))) == "not_found"
        assert outcome((yield from world.receive_deferred(1 << 60))) == "not_found"
        assert ids((yield from world.receive(2))) == ["b"]

    world.do(scene())


@pytest.mark.parametrize("late", [0.0, 1.0])
def test_a_deferred_message_that_fails_too_often_is_dead_lettered(late: float) -> None:
    world = _world(max_delivery_count=2, freedoms=Freedoms(dead_letter_late=late))

    def scene() -> Steps[None]:
        (a,) = yield from _deferred(world, "a")
        for _ in range(2):
            yield from world.settle("abandon", only((yield from world.receive_deferred(a.seq))).lock)
        assert outcome((yield from world.receive_deferred(a.seq))) == "not_found"
        assert ids((yield from world.receive(dead_letters=True))) == ["a"]

    world.do(scene())


@pytest.mark.parametrize("action", ["complete", "dead_letter"])
def test_complete_and_dead_letter_end_deferral(action: str) -> None:
    world = _world()

    def scene() -> Steps[list[str]]:
        (a,) = yield from _deferred(world, "a")
        lock = only((yield from world.receive_deferred(a.seq))).lock
        assert outcome((yield from world.settle(action, lock))) == "ok"
        assert (yield from _states(world)) == []
        return ids((yield from world.receive(dead_letters=True)))

    assert world.do(scene()) == ([] if action == "complete" else ["a"])


@pytest.mark.parametrize("locked", [False, True])
def test_a_kill_leaves_a_message_deferred(locked: bool) -> None:
    world = _world()

    def scene() -> Steps[None]:
        (a,) = yield from _deferred(world, "a")
        if locked:
            yield from world.receive_deferred(a.seq)
        yield from world.broker.faults.broker_kill()
        yield from world.broker.faults.broker_start()
        assert ids((yield from world.receive())) == []
        assert (yield from _states(world)) == [("a", a.seq, "deferred")]
        assert ids((yield from world.receive_deferred(a.seq))) == ["a"]

    world.do(scene())


def test_nothing_is_received_of_a_partition_that_is_down() -> None:
    world = _world()

    def scene() -> Steps[None]:
        (a,) = yield from _deferred(world, "a")
        yield from world.broker.faults.partition_down(0)
        assert outcome((yield from world.receive_deferred(a.seq))) == "unavailable"
        yield from world.broker.faults.partition_up(0)
        assert ids((yield from world.receive_deferred(a.seq))) == ["a"]

    world.do(scene())


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_transaction_defers_at_its_commit_or_not_at_all(end: str) -> None:
    world = _world()

    def scene() -> Steps[None]:
        yield from world.send(Post("a", partition_key="k"))
        a = only((yield from world.receive()))
        yield from world.begin()
        assert outcome((yield from world.settle("defer", a.lock, txn="t"))) == "ok"
        assert (yield from _states(world)) == [("a", a.seq, "active")]
        yield from getattr(world, end)()
        done = end == "commit"
        assert (yield from _states(world)) == [("a", a.seq, "deferred" if done else "active")]
        assert outcome((yield from world.settle("complete", a.lock))) == ("lock_lost" if done else "ok")

    world.do(scene())


def test_a_dead_letter_is_not_deferred() -> None:
    world = _world()

    def scene() -> Steps[None]:
        yield from world.send(Post("a", partition_key="k"))
        yield from world.settle("dead_letter", only((yield from world.receive())).lock)
        dead = only((yield from world.receive(dead_letters=True)))
        assert outcome((yield from world.settle("defer", dead.lock))) == "invalid_operation"
        assert outcome((yield from world.settle("complete", dead.lock))) == "ok"

    world.do(scene())


def test_a_queue_that_does_not_defer_refuses_to() -> None:
    world = _world(without=frozenset({"RCV-10"}))

    def scene() -> Steps[None]:
        yield from world.send(Post("a", partition_key="k"))
        a = only((yield from world.receive()))
        assert outcome((yield from world.settle("defer", a.lock))) == "unsupported"
        assert outcome((yield from world.receive_deferred(a.seq))) == "unsupported"

    world.do(scene())
