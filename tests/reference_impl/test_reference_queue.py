"""The Azure queue: keys, partitions, receiving, settling, peeking, as clients see it."""

from __future__ import annotations

import pytest
from world import Post, World, ids, key_for, only, outcome

from partq.reference_impl.broker import SECOND, Broker, Config, Parts
from partq.reference_impl.clock import Simulation, Steps
from partq.reference_impl.network import Answer
from partq.reference_impl.store import Store

SEEDS = range(40)


def _keyed(key: str, *names: str) -> list[Post]:
    return [Post(name, partition_key=key) for name in names]


def _world(seed: int = 1, **settings: object) -> World:
    return World(seed, **{"partitions": 4, "first_name": 100, "eagerness": 0.0, **settings})


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_keys_share_a_partition_whatever_carries_them(seed: int) -> None:
    world = _world(seed, salt=seed)

    def scene() -> Steps[list[Answer]]:
        yield from world.send(Post("a", session_id="k"))
        yield from world.send(Post("b", partition_key="k"))
        yield from world.send(Post("c", session_id="k", partition_key="k"), proc="d")
        return (yield from world.receive(9, delete=True))

    shown = world.do(scene())[2]
    assert [one.id for one in shown] == ["a", "b", "c"]
    assert len({one.partition for one in shown}) == 1
    assert all(one.seq >> 48 == one.partition for one in shown)


def test_keys_spread_and_the_map_differs_between_brokers() -> None:
    def homes(salt: int) -> tuple[int, ...]:
        broker = Broker(Config(partitions=4, salt=salt), Simulation(1))
        return tuple(broker.partition_for(f"k{n}").name for n in range(40))

    assert set(homes(1)) == {1, 2, 3, 4}
    assert homes(1) == homes(1)
    assert len({homes(salt) for salt in range(50)}) == 50
    assert len({homes(salt)[0] == homes(salt)[1] for salt in range(50)}) == 2


def test_keyless_messages_go_round() -> None:
    world = _world()

    def scene() -> Steps[Answer]:
        for n in range(40):
            yield from world.send(Post(f"m{n}"))
        return (yield from world.peek())

    world.do(scene())
    assert [len(list(partition.store.live())) for partition in world.broker.partitions] == [10] * 4


@pytest.mark.parametrize(
    "posts",
    [
        [Post("a", session_id="k", partition_key="other")],
        [Post("a", partition_key="k"), Post("b", partition_key="other")],
        [Post("a", partition_key="k"), Post("b")],
        [Post("a"), Post("b", session_id="k")],
        [Post("a", partition_key="k"), Post("b", session_id="k", partition_key="other")],
    ],
)
def test_conflicting_keys_are_refused_whole_but_not_without_partitions(posts: list[Post]) -> None:
    world, flat = _world(), World(partitions=1, partitioned=False, counter_bits=64)
    assert outcome(world.do(world.send(*posts))) == "invalid_operation"
    assert world.broker.is_empty()
    assert outcome(flat.do(flat.send(*posts))) == "ok"


def test_a_flat_queue_shows_no_partition() -> None:
    flat = World(partitions=1, partitioned=False, counter_bits=64, seq_start=2**64 - 1)

    def scene() -> Steps[Answer]:
        yield from flat.send(Post("a"), Post("b"))
        return (yield from flat.receive(2))

    shown = flat.do(scene())[2]
    assert [(one.seq, one.partition) for one in shown] == [(2**64 - 1, None), (0, None)]


def test_first_answer_wins_and_others_wait_in_the_cache_locked() -> None:
    world = _world(eagerness=1.0, front_ends=2)
    home = [key_for(world.broker, index) for index in range(4)]

    def scene() -> Steps[list[list[str]]]:
        for n, key in enumerate(home):
            yield from world.send(Post(f"m{n}", partition_key=key))
        one = yield from world.receive(1, proc="a")
        other_end = yield from world.receive(1, proc="b", timeout=0)
        same_end = yield from world.receive(9, proc="a")
        yield from world.sleep(30 * SECOND)
        later = yield from world.receive(1, proc="b", timeout=0)
        return [ids(one), ids(other_end), ids(same_end), ids(later)]

    one, other_end, same_end, later = world.do(scene())
    assert len(one) == 1
    assert other_end == []
    assert sorted(one + same_end) == ["m0", "m1", "m2", "m3"]
    assert len(later) == 1


def test_a_cached_message_whose_lock_expired_is_not_handed_out() -> None:
    world = _world(eagerness=1.0, partitions=2, front_ends=2)
    home = [key_for(world.broker, index) for index in range(2)]

    def scene() -> Steps[tuple[Answer, Answer]]:
        for n, key in enumerate(home):
            yield from world.send(Post(f"m{n}", partition_key=key))
        first = yield from world.receive(1, proc="a")
        yield from world.sleep(31 * SECOND)
        return first, (yield from world.receive(9, proc="a"))

    first, later = world.do(scene())
    assert len(ids(first)) == 1
    assert {one.delivery_count for one in later[2]} == {1}


@pytest.mark.parametrize("seed", SEEDS)
def test_racing_receivers_never_share_a_message(seed: int) -> None:
    world = _world(seed, eagerness=0.5)

    def sender() -> Steps[None]:
        for n in range(12):
            yield from world.send(Post(f"m{n}"), proc="s")

    def receiver(proc: str) -> Steps[list[str]]:
        found = []
        for _ in range(8):
            found += ids((yield from world.receive(2, proc=proc)))
        return found

    _, *found = world.run(sender(), *(receiver(proc) for proc in "abc"))
    seen = [name for names in found for name in names]
    assert len(seen) == len(set(seen))
    assert seen


def test_a_receive_waits_for_a_message_and_no_longer_than_it_was_told() -> None:
    world = _world()

    def late() -> Steps[None]:
        yield from world.sleep(SECOND // 2)
        yield from world.send(Post("m"), proc="s")

    answer, _ = world.run(world.receive(1), late())
    assert ids(answer) == ["m"]
    assert SECOND // 2 <= world.clock.now < SECOND
    empty = _world()
    assert ids(empty.do(empty.receive(1, timeout=3 * SECOND))) == []
    assert empty.clock.now == 3 * SECOND


def test_a_waiting_receive_gets_what_expires_meanwhile() -> None:
    world = _world()

    def scene() -> Steps[Answer]:
        yield from world.send(Post("m"))
        yield from world.receive(1, proc="a")
        return (yield from world.receive(1, proc="b", timeout=60 * SECOND))

    answer = world.do(scene())
    assert only(answer).delivery_count == 1
    assert 30 * SECOND <= world.clock.now < 31 * SECOND


def test_settling_by_any_client_once_and_only_while_the_lock_holds() -> None:
    world = _world()

    def scene() -> Steps[list[str]]:
        log = []
        yield from world.send(Post("m"))
        first = only((yield from world.receive(1, proc="a"))).lock
        log.append(outcome((yield from world.settle("abandon", first, proc="b"))))
        log.append(outcome((yield from world.settle("complete", first, proc="a"))))
        again = only((yield from world.receive(1, proc="b")))
        log.append(f"count {again.delivery_count}")
        yield from world.sleep(30 * SECOND)
        log.append(outcome((yield from world.settle("complete", again.lock, proc="b"))))
        log.append(outcome((yield from world.renew(again.lock))))
        last = only((yield from world.receive(1)))
        log.append(f"count {last.delivery_count}")
        yield from world.sleep(20 * SECOND)
        renewed = only((yield from world.renew(last.lock)))
        log.append(f"{(renewed.locked_until - last.locked_until) // SECOND} s more")
        yield from world.sleep(20 * SECOND)
        log.append(outcome((yield from world.settle("complete", last.lock))))
        return log

    assert world.do(scene()) == [
        "ok",
        "lock_lost",
        "count 1",
        "lock_lost",
        "lock_lost",
        "count 2",
        "20 s more",
        "ok",
    ]
    assert world.broker.is_empty()


def test_one_settlement_concerns_one_partition_and_is_all_or_nothing() -> None:
    world = _world()
    home = [key_for(world.broker, index) for index in range(2)]

    def scene() -> Steps[list[str]]:
        yield from world.send(*_keyed(home[0], "a", "b"))
        yield from world.send(*_keyed(home[1], "x"))
        here: list[str] = []
        there = ""
        while len(here) < 2 or not there:
            for one in (yield from world.receive(2))[2]:
                if one.id == "x":
                    there = one.lock
                else:
                    here.append(one.lock)
        log = [
            outcome((yield from world.settle("complete", here[0], there))),
            outcome((yield from world.settle("complete", *here, "no-such-lock"))),
            outcome((yield from world.settle("complete", *here, here[0]))),
            outcome((yield from world.settle("abandon", there))),
        ]
        return [*log, *sorted(ids((yield from world.peek())))]

    assert world.do(scene()) == ["invalid_operation", "lock_lost", "ok", "ok", "x"]


def _peeked(world: World, proc: str, most: int, rounds: int = 30) -> Steps[list[list[str]]]:
    answers = []
    for _ in range(rounds):
        found = ids((yield from world.peek(most, proc=proc)))
        answers.append(found)
        if not found:
            return answers
    raise AssertionError("the walk does not end")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_walk_reaches_everything_once_in_order_locked_or_not(seed: int) -> None:
    world = _world(seed, peek_cap=3)
    home = [key_for(world.broker, index) for index in range(4)]

    def scene() -> Steps[list[list[str]]]:
        for index, key in enumerate(home):
            yield from world.send(*_keyed(key, *(f"p{index}-{n}" for n in range(4))))
        yield from world.receive(2)
        return (yield from _peeked(world, "p", 5))

    answers = world.do(scene())
    seen = [name for answer in answers for name in answer]
    assert sorted(seen) == sorted(f"p{index}-{n}" for index in range(4) for n in range(4))
    for index in range(4):
        mine = [name for name in seen if name.startswith(f"p{index}")]
        assert mine == sorted(mine)
    assert all(len(answer) <= 3 for answer in answers)


def test_a_peek_from_a_number_starts_there_and_leaves_the_cursor_alone() -> None:
    world = _world(partitions=1, seq_start=2**48 - 2)

    def scene() -> Steps[list[list[str]]]:
        yield from world.send(*_keyed("k", "a", "b", "c", "d"))
        shown = (yield from world.peek(2))[2]
        return [
            [one.id for one in shown],
            ids((yield from world.peek(9, number=shown[1].seq))),
            ids((yield from world.peek(9, number=0))),
            ids((yield from world.peek(9, number=2**64 - 1))),
            ids((yield from world.peek(9, proc="other"))),
            ids((yield from world.peek(9))),
        ]

    assert world.do(scene()) == [["a", "b"], ["b", "c", "d"], list("abcd"), [], list("abcd"), ["c", "d"]]


def test_a_peek_from_zero_shows_what_was_stored_before_the_roll_over_too() -> None:
    flat = World(partitions=1, partitioned=False, counter_bits=64, seq_start=2**64 - 1)

    def scene() -> Steps[list[str]]:
        yield from flat.send(Post("a"), Post("b"))
        return ids((yield from flat.peek(9, number=0)))

    assert flat.do(scene()) == ["a", "b"]


def test_a_peek_is_bounded_by_size_but_never_empty() -> None:
    world = _world(partitions=1, peek_bytes=100)

    def scene() -> Steps[list[list[str]]]:
        yield from world.send(Post("a", "x" * 300, partition_key="k"), Post("b", "y" * 60, partition_key="k"))
        yield from world.send(Post("c", "z" * 60, partition_key="k"))
        return (yield from _peeked(world, "p", 9))

    assert world.do(scene()) == [["a"], ["b"], ["c"], []]


def test_peeking_changes_nothing() -> None:
    world = _world()

    def scene() -> Steps[tuple[Answer, Answer]]:
        yield from world.send(Post("m"))
        peeked = yield from world.peek()
        return peeked, (yield from world.receive(1))

    peeked, received = world.do(scene())
    assert (only(peeked).lock, only(peeked).locked_until, only(peeked).state) == (None, None, "active")
    assert only(received).delivery_count == 0
    assert only(received).enqueued_at == only(peeked).enqueued_at


def test_one_part_can_be_replaced() -> None:
    class Other(Store):
        """A store as any other."""

    world = World(parts=Parts(store=Other), partitions=3)
    assert all(isinstance(partition.store, Other) for partition in world.broker.partitions)
