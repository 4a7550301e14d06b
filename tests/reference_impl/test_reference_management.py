"""What a get of the reference shows, over all partitions."""

from __future__ import annotations

from typing import Any

import pytest
from world import Post, World, only, outcome

from partq.reference_impl.broker import SECOND
from partq.reference_impl.clock import Steps
from partq.reference_impl.management import AVAILABLE, LIMITED, Overview


def _world(**settings: Any) -> World:
    return World(**{"partitions": 4, "eagerness": 0.0, "front_ends": 1, **settings})


def _overview(world: World) -> Steps[Overview]:
    answer = yield from world.get()
    assert outcome(answer) == "ok"
    (shown,) = answer[2]
    assert isinstance(shown, Overview)
    return shown


def test_counts_are_sums_over_all_partitions_by_kind() -> None:
    world = _world()

    def scene() -> Steps[None]:
        assert (yield from _overview(world)) == (0, 0, 0, 4, AVAILABLE)
        for n in range(12):
            yield from world.send(Post(f"m{n}", partition_key=f"k{n}"))
        at = world.clock.now + 60 * SECOND
        (scheduled,) = (yield from world.schedule(Post("s", partition_key="k", scheduled_at=at)))[2]
        assert (yield from _overview(world))[:3] == (12, 1, 0)
        yield from world.settle("complete", only((yield from world.receive())).lock)
        yield from world.settle("dead_letter", only((yield from world.receive())).lock)
        yield from world.settle("defer", only((yield from world.receive())).lock)
        yield from world.receive()
        assert (yield from _overview(world))[:3] == (11 - 1, 1, 1)
        yield from world.cancel(scheduled.seq)
        assert (yield from _overview(world))[:3] == (10, 0, 1)

    world.do(scene())


def test_a_scheduled_message_is_active_once_its_time_has_come() -> None:
    world = _world()

    def scene() -> Steps[None]:
        at = world.clock.now + 5 * SECOND
        yield from world.send(Post("s", scheduled_at=at))
        assert (yield from _overview(world))[:2] == (0, 1)
        yield from world.until(at + SECOND)
        assert (yield from _overview(world))[:2] == (1, 0)

    world.do(scene())


def test_what_an_open_transaction_sends_is_not_counted() -> None:
    world = _world()

    def scene() -> Steps[None]:
        yield from world.begin()
        yield from world.send(Post("a", partition_key="k"), txn="t")
        assert (yield from _overview(world)).active == 0

    world.do(scene())


@pytest.mark.parametrize("down", [(0,), (3,), (0, 1, 2, 3)])
def test_it_reads_limited_as_long_as_a_partition_is_down(down: tuple[int, ...]) -> None:
    world = _world()

    def scene() -> Steps[None]:
        for index in down:
            yield from world.broker.faults.partition_down(index)
        assert (yield from _overview(world)).status == LIMITED
        for index in down:
            assert (yield from _overview(world)).status == LIMITED
            yield from world.broker.faults.partition_up(index)
        assert (yield from _overview(world)).status == AVAILABLE

    world.do(scene())


def test_a_killed_broker_and_one_without_management_refuse_a_get() -> None:
    world, other = _world(), _world(without=frozenset({"MGT-1"}))

    def killed() -> Steps[None]:
        yield from world.broker.faults.broker_kill()
        assert outcome((yield from world.get())) == "unavailable"

    def lacking() -> Steps[None]:
        assert outcome((yield from other.get())) == "unsupported"

    world.do(killed())
    other.do(lacking())
