"""Duplicate detection: what the reference remembers, for how long, and what it makes a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from world import Post, World, ids, outcome

from partq.reference_impl.broker import SECOND
from partq.reference_impl.clock import Steps
from partq.reference_impl.freedoms import Freedoms
from partq.reference_impl.network import Answer

WINDOW = 10 * SECOND


def _world(**settings: Any) -> World:
    usual = {"partitions": 1, "partitioned": False, "eagerness": 0.0, "front_ends": 1}
    return World(1, **{**usual, "duplicate_detection": True, "duplicate_window": WINDOW, **settings})


def _bodies(answer: Answer) -> list[str]:
    return [shown.body for shown in answer[2]]


def _kept(world: World, *times: int, key: str | None = None) -> Sequence[str]:
    """What is stored of messages of one ID that are sent at these times, s."""

    def scene() -> Steps[list[str]]:
        for n, at in enumerate(times):
            yield from world.sleep(at * SECOND - world.broker.clock.now)
            yield from world.send(Post("m", body=str(n), partition_key=key), txn=None)
        return _bodies((yield from world.peek(number=0)))

    return world.do(scene())


def test_within_the_window_one_message_of_an_id_is_stored() -> None:
    assert _kept(_world(), 0, 1, 9) == ["0"]


def test_a_duplicate_does_not_extend_the_window() -> None:
    assert _kept(_world(), 0, 9, 12, 13) == ["0", "2"]


def test_without_detection_every_message_is_stored() -> None:
    assert _kept(_world(duplicate_detection=False), 0, 1) == ["0", "1"]


@pytest.mark.parametrize("how", ["receive", "kill"])
def test_an_id_is_remembered_when_its_message_is_gone_and_when_the_broker_was(how: str) -> None:
    world = _world()

    def scene() -> Steps[list[str]]:
        yield from world.send(Post("m"), txn=None)
        if how == "kill":
            yield from world.broker.faults.broker_kill()
            yield from world.broker.faults.broker_start()
        assert ids((yield from world.receive(1, delete=True))) == ["m"]
        yield from world.send(Post("m"), txn=None)
        return ids((yield from world.receive(1)))

    assert world.do(scene()) == []


def test_what_was_rolled_back_is_not_remembered() -> None:
    world = _world()

    def scene() -> Steps[list[str]]:
        yield from world.begin("t")
        yield from world.send(Post("m", body="rolled back"), txn="t")
        yield from world.rollback("t")
        yield from world.send(Post("m", body="kept"), txn=None)
        return _bodies((yield from world.receive(5)))

    assert world.do(scene()) == ["kept"]


def test_a_time_drawn_for_a_duplicate_is_no_other_message_s() -> None:
    world = _world(freedoms=Freedoms(stamp_apart=1.0))

    def scene() -> Steps[None]:
        yield from world.begin("t")
        yield from world.send(Post("m"), txn="t")
        yield from world.send(Post("m"), txn=None)
        assert outcome((yield from world.commit("t"))) == "ok"

    world.do(scene())
    (partition,) = world.broker.partitions
    assert partition.store.leads == []


def test_an_id_is_the_key_that_a_transaction_needs() -> None:
    def sent(**settings: Any) -> Any:
        world = _world(partitions=4, partitioned=True, **settings)

        def scene() -> Steps[Any]:
            yield from world.begin()
            return outcome((yield from world.send(Post("m"), txn="t")))

        return world.do(scene())

    assert sent() == "ok"
    assert sent(duplicate_detection=False) == "invalid_operation"


def test_messages_without_an_id_get_ids_of_their_own() -> None:
    world = _world()

    def scene() -> Steps[list[Any]]:
        for n in range(3):
            yield from world.send(Post(f"m{n}", without_id=True), txn=None)
        first = yield from world.peek(number=0)
        return [first[2], (yield from world.receive(3))[2]]

    peeked, received = ([shown.message_id for shown in answer] for answer in world.do(scene()))
    assert peeked == received
    assert len({*peeked}) == 3 and all(peeked)


def test_the_id_that_a_message_was_assigned_is_its_key() -> None:
    world = _world(partitions=4, partitioned=True)

    def scene() -> Steps[str]:
        yield from world.begin("t")
        first = yield from world.send(Post("m1", without_id=True), txn="t")
        second = yield from world.send(Post("m2", without_id=True), txn="t")
        return f"{outcome(first)} {outcome(second)}"

    assert world.do(scene()) == "ok invalid_operation"
