"""Time to live: from when it runs, what it does not touch, and where a message goes when it has ended."""

from __future__ import annotations

from typing import Any

import pytest
from world import Post, World, ids, key_for, only, outcome

from partq.reference_impl.broker import SECOND
from partq.reference_impl.clock import Steps
from partq.reference_impl.freedoms import Freedoms

LOCK = 30 * SECOND
EXPIRED = "TTLExpiredException"


def _world(seed: int = 1, **settings: Any) -> World:
    return World(seed, **{"partitions": 2, "eagerness": 0.0, "front_ends": 1, **settings})


def _send(world: World, name: str, ttl: int | None = 10 * SECOND, **more: Any) -> Steps[Any]:
    key = key_for(world.broker, 0)
    return world.send(Post(name, partition_key=key, ttl=ttl, **more), txn=None)


@pytest.mark.parametrize(("after", "expected"), [(9, ["a", "b"]), (10, ["b"])])
def test_a_message_is_delivered_till_its_time_has_ended(after: int, expected: list[str]) -> None:
    world = _world()

    def scene() -> Steps[list[str]]:
        yield from _send(world, "a")
        yield from _send(world, "b", ttl=None)
        yield from world.sleep(after * SECOND)
        return ids((yield from world.receive(2)))

    assert world.do(scene()) == expected


def test_what_has_ended_may_be_peeked_until_somebody_receives() -> None:
    world = _world()

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        yield from world.sleep(20 * SECOND)
        assert ids((yield from world.peek(number=0))) == ["a"]
        assert ids((yield from world.receive())) == []
        assert ids((yield from world.peek(number=0))) == []
        assert world.broker.is_empty()

    world.do(scene())


@pytest.mark.parametrize("how", ["complete", "abandon", "renew", "expiry"])
def test_a_locked_message_stays_till_its_lock_ends(how: str) -> None:
    world = _world()

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        a = only((yield from world.receive()))
        yield from world.sleep(20 * SECOND)
        assert ids((yield from world.receive())) == []
        assert ids((yield from world.peek(number=0))) == ["a"]
        if how == "renew":
            assert outcome((yield from world.renew(a.lock))) == "ok"
            yield from world.sleep(20 * SECOND)
        if how == "expiry":
            yield from world.sleep(LOCK)
        else:
            action = "abandon" if how == "abandon" else "complete"
            assert outcome((yield from world.settle(action, a.lock))) == "ok"
        assert ids((yield from world.receive())) == []
        assert world.broker.is_empty()

    world.do(scene())


def test_a_deferred_message_ends_too() -> None:
    world = _world()

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        a = only((yield from world.receive()))
        yield from world.settle("defer", a.lock)
        lock = only((yield from world.receive_deferred(a.seq))).lock
        yield from world.settle("abandon", lock)
        yield from world.sleep(20 * SECOND)
        assert outcome((yield from world.receive_deferred(a.seq))) == "not_found"
        assert world.broker.is_empty()

    world.do(scene())


def test_the_time_of_a_scheduled_message_runs_from_its_activation() -> None:
    world = _world()

    def scene() -> Steps[list[str]]:
        yield from _send(world, "a", scheduled_at=60 * SECOND)
        yield from world.until(65 * SECOND)
        seen = ids((yield from world.receive(delete=True)))
        yield from _send(world, "b", scheduled_at=100 * SECOND)
        yield from world.until(111 * SECOND)
        return seen + ids((yield from world.receive(delete=True)))

    assert world.do(scene()) == ["a"]


def test_a_scheduled_message_stays_scheduled_though_its_time_from_the_send_has_ended() -> None:
    world = _world(freedoms=Freedoms(live_from_send=1.0))

    def scene() -> Steps[None]:
        yield from _send(world, "a", scheduled_at=60 * SECOND)
        yield from world.sleep(20 * SECOND)
        assert ids((yield from world.receive())) == []
        assert ids((yield from world.peek(number=0))) == ["a"]
        yield from world.until(61 * SECOND)
        assert ids((yield from world.receive())) == []
        assert world.broker.is_empty()

    world.do(scene())


def test_what_a_front_end_fetched_is_not_delivered_after_its_time() -> None:
    world = _world(freedoms=Freedoms(prefetch=1.0))

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        yield from _send(world, "b")
        assert ids((yield from world.receive(1))) == ["a"]
        yield from world.sleep(20 * SECOND)
        assert ids((yield from world.receive(1))) == []
        yield from world.sleep(LOCK)
        assert ids((yield from world.receive(2))) == []
        assert world.broker.is_empty()

    world.do(scene())


def test_what_has_ended_is_dead_lettered_where_the_queue_says_so_and_lives_for_ever_there() -> None:
    world = _world(dead_letters_expired=True)

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        yield from world.sleep(20 * SECOND)
        dead = only((yield from world.receive(dead_letters=True)))
        assert (dead.id, dead.reason) == ("a", EXPIRED)
        yield from world.sleep(2 * LOCK)
        assert ids((yield from world.receive(dead_letters=True))) == ["a"]

    world.do(scene())


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_transaction_settles_what_has_ended_meanwhile(end: str) -> None:
    world = _world()

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        a = only((yield from world.receive()))
        yield from world.begin()
        yield from world.settle("complete", a.lock, txn="t")
        yield from world.sleep(20 * SECOND)
        assert outcome((yield from getattr(world, end)())) == "ok"
        assert outcome((yield from world.settle("complete", a.lock))) == (
            "lock_lost" if end == "commit" else "ok"
        )

    world.do(scene())


def test_a_kill_changes_no_time() -> None:
    world = _world()

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        yield from _send(world, "b", ttl=40 * SECOND)
        yield from world.broker.faults.broker_kill()
        yield from world.sleep(20 * SECOND)
        yield from world.broker.faults.broker_start()
        assert ids((yield from world.receive(2))) == ["b"]

    world.do(scene())


def test_a_queue_whose_messages_live_for_ever_takes_no_notice() -> None:
    world = _world(without=frozenset({"RCV-15"}))

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        yield from world.sleep(20 * SECOND)
        assert ids((yield from world.receive())) == ["a"]

    world.do(scene())
