"""Transactions: all or nothing, on one partition."""

from __future__ import annotations

import pytest
from world import Post, World, ids, key_for, only, outcome

from partq.reference_impl.broker import SECOND
from partq.reference_impl.clock import Steps


def _world(**settings: object) -> World:
    return World(1, **{"partitions": 4, "eagerness": 0.0, **settings})


def _flat() -> World:
    return World(1, partitions=1, partitioned=False, counter_bits=64)


def _k(name: str, key: str | None = "k") -> Post:
    return Post(name, partition_key=key)


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_sends_show_after_the_commit_or_never(ending: str) -> None:
    world = _world()

    def scene() -> Steps[list[object]]:
        yield from world.begin()
        yield from world.send(_k("a"), txn="t")
        yield from world.send(_k("b"), txn="t")
        before = ids((yield from world.peek())) + ids((yield from world.receive(9, timeout=0)))
        ended = yield from getattr(world, ending)()
        after = ids((yield from world.receive(9, timeout=0)))
        again = yield from world.commit()
        return [before, outcome(ended), after, outcome(again)]

    expected = ["a", "b"] if ending == "commit" else []
    assert world.do(scene()) == [[], "ok", expected, "not_found"]


def test_a_send_needs_a_key_and_a_second_key_is_refused_but_the_rest_goes_on() -> None:
    world = _world()

    def scene() -> Steps[list[object]]:
        yield from world.begin()
        log: list[object] = [outcome((yield from world.send(_k("x", None), txn="t")))]
        for name, key in (("a", "k"), ("y", "other"), ("b", "k")):
            log.append(outcome((yield from world.send(_k(name, key), txn="t"))))
        log.append(outcome((yield from world.commit())))
        return [*log, ids((yield from world.receive(9)))]

    assert world.do(scene()) == ["invalid_operation", "ok", "invalid_operation", "ok", "ok", ["a", "b"]]


def test_without_partitions_any_keys_go() -> None:
    flat = _flat()

    def scene() -> Steps[list[str]]:
        yield from flat.begin()
        for name, key in (("a", None), ("b", "k"), ("c", "other")):
            yield from flat.send(_k(name, key), txn="t")
        yield from flat.commit()
        return ids((yield from flat.receive(9)))

    assert flat.do(scene()) == ["a", "b", "c"]


@pytest.mark.parametrize("action", ["complete", "abandon"])
def test_a_settlement_takes_effect_with_the_commit(action: str) -> None:
    world = _world()

    def scene() -> Steps[list[object]]:
        yield from world.send(_k("m"))
        lock = only((yield from world.receive())).lock
        yield from world.begin()
        log: list[object] = [
            outcome((yield from world.settle(action, lock, txn="t"))),
            ids((yield from world.receive(1, proc="other", timeout=0))),
            outcome((yield from world.settle("complete", lock))),
            outcome((yield from world.commit())),
            outcome((yield from world.settle("complete", lock))),
        ]
        return [*log, ids((yield from world.receive(1, timeout=0)))]

    back = ["m"] if action == "abandon" else []
    assert world.do(scene()) == ["ok", [], "invalid_operation", "ok", "lock_lost", back]


def test_after_a_rollback_the_same_lock_still_settles() -> None:
    world = _world()

    def scene() -> Steps[list[str]]:
        yield from world.send(_k("m"))
        lock = only((yield from world.receive())).lock
        yield from world.begin()
        yield from world.settle("complete", lock, txn="t")
        yield from world.rollback()
        return [outcome((yield from world.settle("complete", lock)))]

    assert world.do(scene()) == ["ok"]
    assert world.broker.is_empty()


def test_settlements_of_two_partitions_are_refused_at_the_second() -> None:
    world = _world()
    home = [key_for(world.broker, index) for index in range(2)]

    def scene() -> Steps[list[str]]:
        for key in home:
            yield from world.send(_k(f"in-{key}", key))
        locks = []
        while len(locks) < 2:
            locks += [one.lock for one in (yield from world.receive(1))[2]]
        yield from world.begin()
        return [
            outcome((yield from world.settle("complete", locks[0], txn="t"))),
            outcome((yield from world.settle("complete", locks[1], txn="t"))),
            outcome((yield from world.commit())),
            outcome((yield from world.settle("complete", locks[1]))),
        ]

    assert world.do(scene()) == ["ok", "invalid_operation", "ok", "ok"]


def test_an_expired_lock_spoils_the_commit_and_all_of_it() -> None:
    world = _world()

    def scene() -> Steps[list[object]]:
        yield from world.send(_k("m"))
        lock = only((yield from world.receive())).lock
        yield from world.begin()
        yield from world.settle("complete", lock, txn="t")
        yield from world.send(_k("new"), txn="t")
        yield from world.sleep(31 * SECOND)
        log: list[object] = [outcome((yield from world.commit()))]
        return [*log, ids((yield from world.receive(9)))]

    assert world.do(scene()) == ["lock_lost", ["m"]]


def test_a_commit_on_a_partition_that_is_down_is_refused_and_leaves_nothing() -> None:
    world = _world(partitions=1)

    def scene() -> Steps[list[object]]:
        yield from world.send(_k("m"))
        lock = only((yield from world.receive())).lock
        yield from world.begin()
        yield from world.send(_k("new"), txn="t")
        yield from world.settle("complete", lock, txn="t")
        yield from world.broker.faults.partition_down(0)
        log: list[object] = [outcome((yield from world.commit()))]
        yield from world.broker.faults.partition_up(0)
        log.append(outcome((yield from world.settle("complete", lock))))
        return [*log, ids((yield from world.receive(9, timeout=0)))]

    assert world.do(scene()) == ["unavailable", "ok", []]


def test_operations_in_an_unknown_transaction_are_refused() -> None:
    world = _world()

    def scene() -> Steps[list[str]]:
        first = yield from world.send(_k("a"), txn="none")
        yield from world.begin()
        twice = yield from world.begin()
        return [outcome(first), outcome((yield from world.rollback("none"))), outcome(twice)]

    assert world.do(scene()) == ["not_found", "not_found", "invalid_operation"]


@pytest.mark.parametrize(("idle", "ended"), [(119, "ok"), (121, "not_found")])
def test_an_idle_transaction_is_rolled_back_after_its_time(idle: int, ended: str) -> None:
    world = _world()

    def scene() -> Steps[list[object]]:
        yield from world.begin()
        yield from world.sleep(100 * SECOND)
        yield from world.send(_k("a"), txn="t")
        yield from world.sleep(idle * SECOND)
        answer = yield from world.commit()
        return [outcome(answer), ids((yield from world.receive(9, timeout=0)))]

    assert world.do(scene()) == [ended, ["a"] if ended == "ok" else []]


def test_a_transaction_takes_so_many_messages_and_no_more() -> None:
    world = _world(max_transaction_messages=2)

    def scene() -> Steps[list[object]]:
        yield from world.begin()
        log: list[object] = []
        for name in ("a", "b", "c"):
            log.append(outcome((yield from world.send(_k(name), txn="t"))))
        return [*log, outcome((yield from world.commit())), ids((yield from world.receive(9)))]

    assert world.do(scene()) == ["ok", "ok", "quota", "ok", ["a", "b"]]
