"""Flows: delay, balance, standby, handoff, lost consumers."""

from __future__ import annotations

from collections import Counter

import pytest
from world import Post, World, ids, outcome

from partq.reference_impl.broker import SECOND
from partq.reference_impl.clock import Steps
from partq.reference_impl.network import Answer

SEEDS = range(25)


def _world(seed: int = 1, **settings: object) -> World:
    return World(seed, **{"flows": True, "partitions": 4, "first_name": 10, **settings})


def _keyed(name: str, key: str) -> Post:
    return Post(name, properties=(("QUEUE_PARTITION_KEY", key),))


def _owners(world: World) -> dict[int, tuple[str, str]]:
    """Partition -> (flow, state), out of what was told."""
    owners: dict[int, tuple[str, str]] = {}
    for _, partition, flow, state in world.told:
        if state != "unassigned":
            owners[partition] = (flow, state)
        elif owners.get(partition, ("",))[0] == flow:
            del owners[partition]
    return owners


def _shares(world: World) -> list[int]:
    return sorted(Counter(flow for flow, _ in _owners(world).values()).values())


def _settle_down(world: World) -> Steps[None]:
    yield from world.sleep(10 * SECOND)


def _bind_all(world: World, *flows: str) -> Steps[None]:
    for flow in flows:
        yield from world.bind(flow, proc=flow)


def test_partitions_are_given_when_the_delay_is_over_and_not_before() -> None:
    world = _world()
    world.do(_bind_all(world, "f1"))
    assert {at // SECOND for at, *_ in world.told} == {5}
    assert _owners(world) == dict.fromkeys(range(10, 14), ("f1", "ready"))


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_differ_by_one_at_most_after_every_rebalance(seed: int) -> None:
    world = _world(seed, partitions=7)
    for number in range(1, 6):
        world.do(_bind_all(world, f"f{number}"))
        shares = _shares(world)
        assert sum(shares) == 7
        assert len(shares) == number
        assert shares[-1] - shares[0] <= 1
    for number in range(5, 1, -1):
        world.do(world.unbind(f"f{number}", proc=f"f{number}"))
        shares = _shares(world)
        assert (sum(shares), len(shares)) == (7, number - 1)
        assert shares[-1] - shares[0] <= 1


def test_a_rebalance_moves_no_more_than_it_must() -> None:
    world = _world()
    world.do(_bind_all(world, "f1"))
    before = len(world.told)
    world.do(_bind_all(world, "f2"))
    assert Counter(state for _, _, _, state in world.told[before:]) == {"unassigned": 2, "ready": 2}


def test_one_more_flow_than_partitions_stands_by_and_takes_over_at_once() -> None:
    world = _world(partitions=2)

    def scene() -> Steps[int]:
        yield from _bind_all(world, "f1", "f2")
        yield from _settle_down(world)
        told = len(world.told)
        yield from world.bind("f3", proc="f3")
        yield from _settle_down(world)
        assert len(world.told) == told
        before = world.clock.now
        yield from world.disconnect(proc="f1")
        assert world.clock.now == before
        return told

    told = world.do(scene())
    assert [(flow, state) for _, _, flow, state in world.told[told:]] == [
        ("f1", "unassigned"),
        ("f3", "ready"),
    ]
    assert len({at for at, *_ in world.told[told:]}) == 1


def test_without_a_standby_partitions_stay_unbound_until_the_delay_is_over() -> None:
    world = _world(partitions=2)

    def scene() -> Steps[int]:
        yield from _bind_all(world, "f1", "f2")
        yield from _settle_down(world)
        told = len(world.told)
        yield from world.unbind("f1", proc="f1")
        return told

    told = world.do(scene())
    (lost_at, partition, flow, state), *later = world.told[told:]
    assert (flow, state) == ("f1", "unbound")
    assert [(p, f, s) for _, p, f, s in later] == [
        (partition, "f1", "unassigned"),
        (partition, "f2", "ready"),
    ]
    assert {at - lost_at for at, *_ in later} == {5 * SECOND}


def test_the_last_flow_gone_leaves_partitions_to_nobody_and_messages_to_the_next() -> None:
    world = _world(partitions=2)

    def scene() -> Steps[Answer]:
        yield from _bind_all(world, "f1")
        yield from _settle_down(world)
        yield from world.send(_keyed("m", "k"))
        yield from world.receive(9, proc="f1", flow="f1")
        yield from world.unbind("f1", proc="f1")
        yield from _settle_down(world)
        assert _owners(world) == {}
        yield from world.bind("f2", proc="f2")
        return (yield from world.receive(9, proc="f2", flow="f2", timeout=9 * SECOND))

    (shown,) = world.do(scene())[2]
    assert (shown.id, shown.redelivered) == ("m", True)


def _handoff(world: World) -> Steps[list[str]]:
    """f1 has everything and holds a message of every partition; f2 has bound and the delay is over."""
    yield from _bind_all(world, "f1")
    yield from _settle_down(world)
    for n in range(12):
        yield from world.send(_keyed(f"m{n}", f"k{n}"))
    first = yield from world.receive(12, proc="f1", flow="f1")
    yield from world.bind("f2", proc="f2")
    yield from world.sleep(5 * SECOND + 1000)
    return [one.lock for one in first[2]]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_handoff_ends_when_the_old_flow_has_settled_everything(seed: int) -> None:
    world = _world(seed, max_handoff=60 * SECOND, salt=seed)

    def scene() -> Steps[tuple[set[str], int]]:
        locks = yield from _handoff(world)
        paused = {state for _, state in _owners(world).values()}
        for lock in locks:
            assert outcome((yield from world.settle("complete", lock, proc="f1"))) == "ok"
        ended = world.clock.now
        assert {state for _, state in _owners(world).values()} == {"ready"}
        return paused, ended

    paused, ended = world.do(scene())
    assert "paused" in paused
    assert max(at for at, *_ in world.told) == ended
    assert _shares(world) == [2, 2]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_handoff_ends_with_its_time_and_only_then_are_messages_redelivered(seed: int) -> None:
    world = _world(seed, salt=seed)

    def scene() -> Steps[list[object]]:
        locks = yield from _handoff(world)
        early = yield from world.receive(20, proc="f2", flow="f2", timeout=0)
        yield from world.sleep(3 * SECOND)
        late = yield from world.receive(20, proc="f2", flow="f2", timeout=0)
        lost = []
        for lock in locks:
            lost.append(outcome((yield from world.settle("complete", lock, proc="f1"))))
        return [ids(early), [one.redelivered for one in late[2]], lost.count("lock_lost")]

    early, redelivered, lost = world.do(scene())
    assert early == []
    assert redelivered
    assert all(redelivered)
    assert lost == len(redelivered)
    assert _shares(world) == [2, 2]


def test_while_paused_the_old_flow_gets_nothing_new_of_the_partition() -> None:
    world = _world(partitions=2, max_handoff=60 * SECOND)
    names = [
        next(f"k{n}" for n in range(99) if world.broker.partition_for(f"k{n}").name == p) for p in (10, 11)
    ]

    def scene() -> Steps[tuple[list[str], str]]:
        yield from _bind_all(world, "f1")
        yield from _settle_down(world)
        for key in names:
            yield from world.send(_keyed(f"old {key}", key))
        yield from world.receive(9, proc="f1", flow="f1")
        yield from world.bind("f2", proc="f2")
        yield from world.sleep(6 * SECOND)
        for key in names:
            yield from world.send(_keyed(f"new {key}", key))
        got = ids((yield from world.receive(9, proc="f1", flow="f1", timeout=0)))
        (moving,) = [p for p, (_, state) in _owners(world).items() if state == "paused"]
        return got, names[moving - 10]

    got, moving = world.do(scene())
    assert len(got) == 1
    assert got != [f"new {moving}"]


@pytest.mark.parametrize("gone", ["f1", "f2"])
def test_a_flow_that_goes_in_the_middle_of_a_handoff(gone: str) -> None:
    world = _world(max_handoff=60 * SECOND)

    def scene() -> Steps[None]:
        yield from _handoff(world)
        yield from world.unbind(gone, proc=gone)

    world.do(scene())
    left = "f1" if gone == "f2" else "f2"
    assert _owners(world) == dict.fromkeys(range(10, 14), (left, "ready"))


def test_partitions_and_numbers_are_hidden_and_cannot_be_chosen() -> None:
    world = _world()

    def scene() -> Steps[tuple[str, Answer]]:
        refused = yield from world.bind("f1", partition=10)
        yield from world.bind("f1")
        yield from _settle_down(world)
        yield from world.send(_keyed("m", "k"))
        return outcome(refused), (yield from world.receive(1, flow="f1"))

    refused, answer = world.do(scene())
    assert refused == "invalid_operation"
    (shown,) = answer[2]
    assert (shown.seq, shown.partition, shown.delivery_count, shown.locked_until) == (None,) * 4
    assert (shown.redelivered, shown.lock is None) == (False, False)


def test_only_the_flow_that_got_a_message_settles_it_and_only_its_client_uses_a_flow() -> None:
    world = _world()

    def scene() -> Steps[list[str]]:
        yield from world.bind("f1", proc="a")
        yield from _settle_down(world)
        yield from world.send(_keyed("m", "k"))
        lock = (yield from world.receive(1, proc="a", flow="f1"))[2][0].lock
        return [
            outcome((yield from world.settle("complete", lock, proc="b"))),
            outcome((yield from world.receive(1, proc="b", flow="f1"))),
            outcome((yield from world.unbind("f1", proc="b"))),
            outcome((yield from world.bind("f1", proc="b"))),
            outcome((yield from world.settle("complete", lock, proc="a"))),
        ]

    assert world.do(scene()) == ["lock_lost", "not_found", "not_found", "invalid_operation", "ok"]


@pytest.mark.parametrize("seed", SEEDS)
def test_order_holds_within_a_key_across_lost_flows(seed: int) -> None:
    world = _world(seed, partitions=2, rebalance_delay=SECOND)

    def consumer(flow: str) -> Steps[list[str]]:
        yield from world.bind(flow, proc=flow)
        seen = []
        for n in range(6):
            answer = yield from world.receive(1, proc=flow, flow=flow, timeout=3 * SECOND)
            seen += ids(answer)
            if n < 4:
                for one in answer[2]:
                    yield from world.settle("complete", one.lock, proc=flow)
        yield from world.disconnect(proc=flow)
        return seen

    def producer() -> Steps[None]:
        for n in range(9):
            yield from world.send(_keyed(f"m{n}", "k"), proc="p")

    _, *seen = world.run(producer(), consumer("f1"), consumer("f2"))
    for names in seen:
        assert names == sorted(names)


def test_a_kill_ends_every_flow_and_timer() -> None:
    world = _world()

    def scene() -> Steps[list[object]]:
        yield from world.bind("f1")
        yield from world.send(_keyed("m", "k"))
        yield from world.broker.faults.broker_kill()
        yield from world.broker.faults.broker_start()
        yield from _settle_down(world)
        log: list[object] = [len(world.told), outcome((yield from world.receive(1, flow="f1")))]
        yield from world.bind("f2")
        return [*log, ids((yield from world.receive(1, flow="f2", timeout=9 * SECOND)))]

    assert world.do(scene()) == [0, "not_found", ["m"]]
