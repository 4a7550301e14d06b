"""The dead-letter queue: what moves there; it is received, peeked and settled as the queue is."""

from __future__ import annotations

from typing import Any

import pytest
from world import Post, World, ids, key_for, only, outcome

from partq.reference_impl.broker import SECOND, Shown
from partq.reference_impl.clock import Steps
from partq.reference_impl.freedoms import Freedoms

SPENT = "MaxDeliveryCountExceeded"
FLAT = {"partitions": 1, "partitioned": False, "counter_bits": 64}
KEEPING = {"freedoms": Freedoms(keep_number=1.0)}


def _world(seed: int = 1, **settings: Any) -> World:
    return World(seed, **{"partitions": 4, "eagerness": 0.0, "front_ends": 2, **settings})


def _received(world: World, *names: str) -> Steps[list[Shown]]:
    """Send messages of one key and receive them; what is received."""
    for name in names:
        yield from world.send(Post(name, partition_key=key_for(world.broker, 0)))
    return list((yield from world.receive(len(names)))[2])


def _dead(world: World) -> Steps[list[tuple[str, str | None]]]:
    """The dead letters that a peek shows, with their reasons."""
    return [(one.id, one.reason) for one in (yield from world.peek(number=0, dead_letters=True))[2]]


@pytest.mark.parametrize("settings", [{}, FLAT, KEEPING])
def test_what_its_holder_dead_letters_moves_with_its_reason(settings: dict[str, Any]) -> None:
    world = _world(**settings)

    def scene() -> Steps[None]:
        a, b = yield from _received(world, "a", "b")
        assert outcome((yield from world.settle("dead_letter", b.lock, reason="broken"))) == "ok"
        assert outcome((yield from world.settle("dead_letter", a.lock))) == "ok"
        assert ids((yield from world.peek(number=0))) == []
        assert set((yield from _dead(world))) == {("a", None), ("b", "broken")}
        assert outcome((yield from world.settle("complete", b.lock))) == "lock_lost"

    world.do(scene())


@pytest.mark.parametrize("settings", [{}, KEEPING])
def test_dead_letters_come_by_their_numbers_old_or_new(settings: dict[str, Any]) -> None:
    world = _world(**settings)

    def scene() -> Steps[list[tuple[str, int]]]:
        sent = yield from _received(world, "a", "b", "c")
        for one in (sent[1], sent[2], sent[0]):
            yield from world.settle("dead_letter", one.lock)
            yield from world.sleep(SECOND)
        found = (yield from world.receive(3, dead_letters=True))[2]
        assert [one.enqueued_at for one in found] == sorted(one.enqueued_at for one in found)
        return [(one.id, one.seq & 0xFFFF) for one in found]

    kept = settings is KEEPING
    order = "abc" if kept else "bca"
    assert world.do(scene()) == [(name, 1 + index) for index, name in enumerate(order)]


def test_beyond_the_most_failed_deliveries_a_message_moves() -> None:
    world = _world(max_delivery_count=2)

    def scene() -> Steps[None]:
        (a,) = yield from _received(world, "a")
        yield from world.settle("abandon", a.lock)
        assert (yield from _dead(world)) == []
        yield from world.receive()
        yield from world.sleep(31 * SECOND)
        answer = yield from world.receive(dead_letters=True)
        assert (only(answer).id, only(answer).reason) == ("a", SPENT)
        assert ids((yield from world.receive())) == []

    world.do(scene())


def test_who_waits_for_dead_letters_is_told_when_a_lock_ends() -> None:
    world = _world(max_delivery_count=1)

    def scene() -> Steps[None]:
        (a,) = yield from _received(world, "a")
        answer = yield from world.receive(timeout=60 * SECOND, dead_letters=True)
        assert ids(answer) == ["a"]
        assert world.clock.now < a.locked_until + SECOND

    world.do(scene())


def test_a_dead_letter_is_locked_given_back_and_completed_and_never_moves_on() -> None:
    world = _world(max_delivery_count=2)

    def scene() -> Steps[None]:
        (a,) = yield from _received(world, "a")
        yield from world.settle("dead_letter", a.lock, reason="why")
        for tries in range(4):
            again = only((yield from world.receive(dead_letters=True)))
            assert (again.reason, again.delivery_count) == ("why", tries)
            assert ids((yield from world.receive(dead_letters=True))) == []
            assert outcome((yield from world.settle("dead_letter", again.lock))) == "invalid_operation"
            yield from world.settle("abandon", again.lock)
        again = only((yield from world.receive(dead_letters=True)))
        assert only((yield from world.renew(again.lock))).reason == "why"
        assert outcome((yield from world.settle("complete", again.lock))) == "ok"
        assert (yield from _dead(world)) == []

    world.do(scene())


def test_each_queue_has_its_own_cursors() -> None:
    world = _world(partitions=1)

    def scene() -> Steps[None]:
        a, _ = yield from _received(world, "a", "b")
        yield from world.settle("dead_letter", a.lock)
        assert ids((yield from world.peek())) == ["b"]
        assert ids((yield from world.peek(dead_letters=True))) == ["a"]
        assert ids((yield from world.peek(dead_letters=True))) == []
        assert ids((yield from world.peek(number=0, dead_letters=True))) == ["a"]

    world.do(scene())


def test_front_ends_fetch_dead_letters_for_those_who_ask_for_them_only() -> None:
    world = _world(partitions=1, front_ends=1, freedoms=Freedoms(prefetch=1.0))

    def scene() -> Steps[None]:
        sent = yield from _received(world, *"abcd")
        for one in sent:
            yield from world.settle("dead_letter", one.lock)
        assert ids((yield from world.receive(dead_letters=True))) == ["a"]
        assert ids((yield from world.receive())) == []
        assert ids((yield from world.receive(dead_letters=True))) == ["b"]

    world.do(scene())


@pytest.mark.parametrize("settings", [{}, KEEPING])
def test_a_kill_takes_no_dead_letter_and_no_reason(settings: dict[str, Any]) -> None:
    world = _world(**settings)

    def scene() -> Steps[None]:
        a, b = yield from _received(world, "a", "b")
        yield from world.settle("dead_letter", a.lock, b.lock, reason="why")
        lock = only((yield from world.receive(dead_letters=True))).lock
        yield from world.broker.faults.broker_kill()
        yield from world.broker.faults.broker_start()
        assert outcome((yield from world.settle("complete", lock))) == "lock_lost"
        assert (yield from _dead(world)) == [("a", "why"), ("b", "why")]
        assert ids((yield from world.receive(2, dead_letters=True))) == ["a", "b"]

    world.do(scene())


def test_a_partition_is_down_with_its_dead_letters() -> None:
    world = _world()

    def scene() -> Steps[None]:
        (a,) = yield from _received(world, "a")
        yield from world.settle("dead_letter", a.lock)
        yield from world.broker.faults.partition_down(0)
        assert ids((yield from world.receive(dead_letters=True))) == []
        assert (yield from _dead(world)) == []
        yield from world.broker.faults.partition_up(0)
        assert ids((yield from world.receive(dead_letters=True))) == ["a"]

    world.do(scene())


def test_a_lost_front_end_loses_the_dead_letters_that_it_fetched_till_their_locks_end() -> None:
    world = _world(partitions=1, front_ends=2, freedoms=Freedoms(prefetch=1.0))

    def scene() -> Steps[None]:
        sent = yield from _received(world, *"ab")
        yield from world.settle("dead_letter", *(one.lock for one in sent))
        assert ids((yield from world.receive(dead_letters=True))) == ["a"]
        yield from world.broker.faults.frontend_lost("c")
        assert ids((yield from world.receive(dead_letters=True))) == []
        yield from world.sleep(31 * SECOND)
        assert ids((yield from world.receive(2, dead_letters=True))) == ["a", "b"]

    world.do(scene())


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_transaction_dead_letters_at_its_commit_or_not_at_all(end: str) -> None:
    world = _world()

    def scene() -> Steps[None]:
        a, b = yield from _received(world, "a", "b")
        yield from world.begin()
        assert outcome((yield from world.settle("dead_letter", a.lock, txn="t", reason="why"))) == "ok"
        assert outcome((yield from world.settle("complete", b.lock, txn="t"))) == "ok"
        assert (yield from _dead(world)) == []
        yield from getattr(world, end)()
        assert (yield from _dead(world)) == ([("a", "why")] if end == "commit" else [])
        again = yield from world.settle("abandon", a.lock)
        assert outcome(again) == ("lock_lost" if end == "commit" else "ok")

    world.do(scene())


def test_a_transaction_completes_a_dead_letter_and_sends_to_its_partition() -> None:
    world = _world()

    def scene() -> Steps[None]:
        (a,) = yield from _received(world, "a")
        yield from world.settle("dead_letter", a.lock)
        lock = only((yield from world.receive(dead_letters=True))).lock
        yield from world.begin()
        yield from world.settle("complete", lock, txn="t")
        sent = yield from world.send(Post("b", partition_key=key_for(world.broker, 0)), txn="t")
        assert outcome(sent) == "ok"
        assert outcome((yield from world.commit())) == "ok"
        assert (yield from _dead(world)) == []
        assert ids((yield from world.receive())) == ["b"]

    world.do(scene())


def test_a_queue_without_dead_letters_refuses_to_move_any() -> None:
    world = _world(without=frozenset({"RCV-9"}))

    def scene() -> Steps[None]:
        (a,) = yield from _received(world, "a")
        assert outcome((yield from world.settle("dead_letter", a.lock))) == "unsupported"
        assert outcome((yield from world.settle("complete", a.lock))) == "ok"

    world.do(scene())
