"""Faults: what is refused, what is unsure, what survives."""

from __future__ import annotations

import pytest
from world import Post, World, ids, key_for, only, outcome

from partq.reference_impl.broker import SECOND
from partq.reference_impl.clock import Steps
from partq.reference_impl.freedoms import Freedoms
from partq.reference_impl.network import Answer

SEEDS = range(60)


def _world(seed: int = 1, **settings: object) -> World:
    return World(seed, **{"partitions": 4, "eagerness": 0.0, **settings})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_keyed_send_to_a_partition_that_is_down_is_refused_and_stored_nowhere(seed: int) -> None:
    world = _world(seed)
    key = key_for(world.broker, 2)

    def scene() -> Steps[list[str]]:
        yield from world.broker.faults.partition_down(2)
        down = yield from world.send(Post("a", partition_key=key))
        other = yield from world.send(Post("b", partition_key=key_for(world.broker, 1)))
        yield from world.broker.faults.partition_up(2)
        up = yield from world.send(Post("c", partition_key=key))
        return [
            outcome(down),
            outcome(other),
            outcome(up),
            *sorted(ids((yield from world.peek(9, number=0)))),
        ]

    down, other, up, *_ = world.do(scene())
    assert down in ("unavailable", "timeout")
    assert (other, up) == ("ok", "ok")
    assert [stored.content.id for stored in world.broker.partitions[2].store.live()] == ["c"]


def test_a_keyless_send_finds_its_way_round_at_the_price_of_the_server_timeout() -> None:
    world = _world(partitions=2)

    def scene() -> Steps[list[tuple[str, int]]]:
        yield from world.broker.faults.partition_down(1)
        log = []
        for n in range(2):
            before = world.clock.now
            answer = yield from world.send(Post(f"m{n}"))
            log.append((outcome(answer), world.clock.now - before))
        return log

    assert sorted(world.do(scene())) == [("ok", 0), ("ok", 15 * SECOND)]
    assert len(list(world.broker.partitions[0].store.live())) == 2


def test_an_impatient_keyless_send_may_or_may_not_have_happened() -> None:
    def stored(seed: int) -> bool:
        world = _world(seed, partitions=2)

        def scene() -> Steps[list[str]]:
            yield from world.broker.faults.partition_down(0)
            yield from world.broker.faults.partition_down(1)
            yield from world.broker.faults.partition_up(seed % 2)
            answers = []
            for n in range(2):
                answers.append(outcome((yield from world.send(Post(f"m{n}"), timeout=10 * SECOND))))
            return answers

        assert sorted(world.do(scene())) == ["ok", "timeout?"]
        assert world.clock.now == 10 * SECOND
        return sum(len(list(partition.store.live())) for partition in world.broker.partitions) == 2

    assert {stored(seed) for seed in range(20)} == {True, False}


def test_with_no_partition_up_nothing_is_stored_and_the_sender_hears_of_it() -> None:
    world = _world(partitions=2)

    def scene() -> Steps[str]:
        for index in range(2):
            yield from world.broker.faults.partition_down(index)
        return outcome((yield from world.send(Post("m"))))

    assert world.do(scene()) == "unavailable"
    assert world.broker.is_empty()


@pytest.mark.parametrize("forgets", [False, True])
def test_a_partition_keeps_its_messages_and_keeps_or_forgets_its_locks(forgets: bool) -> None:
    world = _world(freedoms=Freedoms(lose_locks=float(forgets)))

    def scene() -> Steps[tuple[list[str], str, Answer]]:
        yield from world.send(Post("m", partition_key=key_for(world.broker, 0)))
        lock = only((yield from world.receive())).lock
        name = yield from world.broker.faults.partition_down(0)
        assert name == world.broker.partitions[0].name
        while_down = outcome((yield from world.settle("complete", lock)))
        none = ids((yield from world.receive(9, timeout=0)))
        yield from world.broker.faults.partition_up(0)
        after = outcome((yield from world.settle("abandon", lock)))
        return [while_down, after], none, (yield from world.receive(9))

    (while_down, after), none, again = world.do(scene())
    assert none == []
    assert while_down in ("unavailable", "lock_lost")
    assert after == ("lock_lost" if forgets else "ok")
    assert only(again).delivery_count == (0 if forgets else 1)


def test_a_waiting_receive_gets_what_comes_back_with_its_partition() -> None:
    world = _world()

    def scene() -> Steps[None]:
        yield from world.send(Post("m", partition_key=key_for(world.broker, 0)), proc="s")
        yield from world.broker.faults.partition_down(0)

    world.do(scene())

    def repair() -> Steps[None]:
        yield from world.sleep(5 * SECOND)
        yield from world.broker.faults.partition_up(0)

    answer, _ = world.run(world.receive(1, timeout=60 * SECOND), repair())
    assert ids(answer) == ["m"]
    assert world.clock.now < 6 * SECOND


def test_a_kill_leaves_operations_in_flight_unsure_done_or_not() -> None:
    seen = set()
    for seed in SEEDS:
        world = _world(seed)
        answer, _ = world.run(world.send(Post("m")), world.broker.faults.broker_kill())
        seen.add((outcome(answer), world.broker.is_empty()))
    assert seen == {
        ("connection_lost?", True),
        ("connection_lost?", False),
        ("ok", False),
        ("unavailable", True),
    }


def test_a_dead_broker_refuses_and_a_restarted_one_has_every_message_free() -> None:
    world = _world()

    def scene() -> Steps[list[object]]:
        yield from world.send(Post("a"), Post("b"))
        lock = (yield from world.receive(2))[2][0].lock
        yield from world.begin()
        yield from world.broker.faults.broker_kill()
        log: list[object] = [outcome((yield from world.receive(1))), outcome((yield from world.peek(1)))]
        yield from world.broker.faults.broker_start()
        log.append(outcome((yield from world.settle("complete", lock))))
        log.append(outcome((yield from world.commit())))
        again = yield from world.receive(9)
        return [*log, ids(again), [one.delivery_count for one in again[2]]]

    assert world.do(scene()) == [
        *("unavailable", "unavailable", "lock_lost", "not_found"),
        ["a", "b"],
        [0, 0],
    ]


def test_a_lost_front_end_takes_its_cache_and_its_clients_cursors_with_it() -> None:
    world = _world(eagerness=1.0, partitions=2, front_ends=2)
    home = [key_for(world.broker, index) for index in range(2)]

    def scene() -> Steps[list[list[str]]]:
        for n, key in enumerate(home):
            yield from world.send(Post(f"m{n}", partition_key=key), proc="a")
        one = yield from world.receive(1, proc="a")
        walked = []
        for _ in range(3):
            walked += ids((yield from world.peek(9, proc="a")))
        yield from world.broker.faults.frontend_lost("a")
        cached = yield from world.receive(9, proc="a", timeout=0)
        again = []
        for _ in range(3):
            again += ids((yield from world.peek(9, proc="a")))
        yield from world.sleep(30 * SECOND)
        later = yield from world.receive(9, proc="b", timeout=0)
        return [ids(one), sorted(walked), ids(cached), sorted(again), ids(later)]

    one, walked, cached, again, later = world.do(scene())
    assert walked == again == ["m0", "m1"]
    assert cached == []
    assert len(one) == 1
    assert later
