"""Freedoms: over seeds each is made use of and is not; the plain broker makes use of none."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from world import Post, World, ids, key_for, only, outcome

from partq.model.requirements import catalogue
from partq.reference_impl import freedoms
from partq.reference_impl.broker import SECOND
from partq.reference_impl.clock import Steps
from partq.reference_impl.freedoms import NAMES, Freedoms
from partq.reference_impl.network import Answer

SEEDS = range(40)

Scene = Callable[[World], Steps[bool]]

SCENES: dict[str, tuple[Scene, dict[str, Any]]] = {}
"""By freedom: a scene that tells whether use was made of it, and the settings of its broker."""


def scene(**settings: Any) -> Callable[[Scene], Scene]:
    def keep(steps: Scene) -> Scene:
        SCENES[steps.__name__.strip("_")] = steps, settings
        return steps

    return keep


def used(name: str, seed: int, chance: float) -> bool:
    steps, settings = SCENES[name]
    setup = {"partitions": 4, "eagerness": 0.0, "front_ends": 1, **settings}
    world = World(seed, freedoms=Freedoms(**({name: chance} if chance else {})), **setup)
    return bool(world.do(steps(world)))


@pytest.mark.parametrize("name", NAMES)
def test_a_freedom_is_made_use_of_and_is_not(name: str) -> None:
    assert {used(name, seed, 0.5) for seed in SEEDS} == {True, False}


@pytest.mark.parametrize("name", NAMES)
def test_the_plain_broker_makes_use_of_no_freedom(name: str) -> None:
    assert not any(used(name, seed, 0) for seed in SEEDS)


def test_every_freedom_has_a_scene_and_a_chance_in_campaigns() -> None:
    assert set(SCENES) == set(NAMES)
    assert all(0 <= getattr(Freedoms.campaign(), name) <= 1 for name in NAMES)
    assert not any(getattr(Freedoms(), name) for name in NAMES)


def test_every_freedom_names_the_rows_that_leave_it_open() -> None:
    body = ast.parse(inspect.getsource(freedoms)).body
    table = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == "Freedoms")
    texts = {
        field.target.id: text.value.value
        for field, text in zip(table.body, table.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
    }
    assert set(texts) == set(NAMES)
    for name, text in texts.items():
        rows = re.findall(r"\b[A-Z]{3,5}-\d+", text.partition(":")[0])
        assert rows and set(rows) <= set(catalogue()) | {"KEY-9", "TXN-10"}, name


def test_a_run_makes_use_of_some_freedoms_only() -> None:
    random = Random(1).random
    samples = [Freedoms.campaign().sample(random, 0.25) for _ in range(200)]
    for name in NAMES:
        chance = getattr(Freedoms.campaign(), name)
        assert {getattr(sample, name) for sample in samples} == {0.0, chance}
    assert Freedoms().sample(lambda: pytest.fail("drawn"), 0.25) == Freedoms()


# What scenes are made of.


def stored(world: World) -> dict[str, list[str]]:
    """The IDs of what is stored, by partition."""
    return {str(p.name): [one.content.id for one in p.store.live()] for p in world.broker.partitions}


def home(world: World, index: int = 0) -> str:
    return key_for(world.broker, index)


def numbers(world: World, index: int = 0) -> list[int]:
    return [one.number & 0xFFFF for one in world.broker.partitions[index].store.live()]


def keyed(world: World, *names: str, index: int = 0, txn: str | None = None) -> Steps[Answer]:
    key = home(world, index)
    return world.send(*(Post(name, partition_key=key) for name in names), txn=txn)


def walk(world: World, times: int = 8) -> Steps[list[str]]:
    seen: list[str] = []
    for _ in range(times):
        seen += ids((yield from world.peek(9)))
    return seen


# Sending.


@scene()
def split_batch(world: World) -> Steps[bool]:
    assert outcome((yield from world.send(Post("a"), Post("b"), Post("c"), Post("d")))) == "ok"
    assert sorted(name for names in stored(world).values() for name in names) == list("abcd")
    return sum(map(bool, stored(world).values())) > 1


@scene()
def shuffle_batch(world: World) -> Steps[bool]:
    assert outcome((yield from keyed(world, *"abcd"))) == "ok"
    assert sorted(stored(world)["1"]) == list("abcd")
    return stored(world)["1"] != list("abcd")


@scene(partitions=2)
def stamp_apart(world: World) -> Steps[bool]:
    yield from world.broker.faults.partition_down(0)
    for names in ("abc", "def", "ghi"):  # one or two of them wait for the partition that is down
        world.clock.spawn(world.send(*map(Post, names), proc=names))
        yield from world.sleep(5 * SECOND)
    yield from world.sleep(20 * SECOND)
    times = [one.enqueued_at for one in world.broker.partitions[1].store.live()]
    assert len(times) == 9
    assert times == sorted(times)
    return len(set(times)) > 3


@scene()
def ride_along(world: World) -> Steps[bool]:
    answer = yield from world.send(Post("a"), Post("b", partition_key=home(world)))
    assert outcome(answer) in ("ok", "invalid_operation")
    assert stored(world)["1"] == (["a", "b"] if answer[0] == "ok" else [])
    return answer[0] == "ok"


@scene()
def burn_numbers(world: World) -> Steps[bool]:
    yield from world.begin()
    yield from keyed(world, "a", "b", txn="t")
    yield from world.rollback()
    yield from keyed(world, "c")
    assert numbers(world) in ([1], [3])
    return numbers(world) == [3]


@scene()
def busy(world: World) -> Steps[bool]:
    kind = outcome((yield from keyed(world, "a")))
    assert world.broker.is_empty() == (kind != "ok")
    return kind in ("unavailable", "timeout", "internal")


@scene()
def busy_commit(world: World) -> Steps[bool]:
    yield from world.begin()
    yield from keyed(world, "a", txn="t")
    kind = outcome((yield from world.commit()))
    assert world.broker.is_empty() == (kind != "ok")
    assert outcome((yield from world.commit())) == "not_found"
    return kind in ("unavailable", "timeout", "internal")


@scene()
def internal_errors(world: World) -> Steps[bool]:
    yield from keyed(world, "a")
    lock = only((yield from world.receive())).lock
    yield from world.broker.faults.partition_down(0)
    kind = outcome((yield from world.renew(lock)))
    assert kind in ("unavailable", "timeout", "internal")
    return kind != "unavailable"


@scene()
def late_effect(world: World) -> Steps[bool]:
    seen: list[Answer] = []

    def sender() -> Steps[None]:
        seen.append((yield from keyed(world, "a")))

    world.clock.spawn(sender())
    for _ in range(9):
        yield None
        if world.client("c").task is not None:
            break
    world.client("c").cut()
    before = not world.broker.is_empty()
    yield from world.sleep(10 * SECOND)
    assert outcome(seen[0]) in ("connection_lost?", "ok")
    return not before and not world.broker.is_empty() and outcome(seen[0]) != "ok"


# Receiving and peeking.


@scene()
def answer_nothing(world: World) -> Steps[bool]:
    yield from keyed(world, "a")
    return not ids((yield from world.receive(1, delete=True)))


@scene()
def answer_short(world: World) -> Steps[bool]:
    yield from keyed(world, *"abcd")
    found = ids((yield from world.receive(4)))
    assert found == list("abcd")[: len(found)] != []
    return len(found) < 4


@scene()
def prefetch(world: World) -> Steps[bool]:
    yield from keyed(world, *"abcd")
    assert ids((yield from world.receive(1))) == ["a"]
    held = len(world.broker.locks)
    yield from world.sleep(SECOND)
    until = only((yield from world.receive(1))).locked_until
    assert until == world.clock.now + 30 * SECOND - (SECOND if held > 1 else 0)
    return held > 1


@scene(eagerness=1.0, partitions=2)
def give_back(world: World) -> Steps[bool]:
    for index, name in enumerate("ab"):
        yield from keyed(world, name, index=index)
    first = only((yield from world.receive(1))).id
    assert len(world.broker.locks) == 2
    yield from world.broker.faults.frontend_lost("c")
    found = ids((yield from world.receive(1)))
    assert first not in found
    yield from world.sleep(30 * SECOND)
    assert found or ids((yield from world.receive(1)))
    return bool(found)


@scene()
def refuse_receive(world: World) -> Steps[bool]:
    yield from keyed(world, "a", index=1)
    yield from world.broker.faults.partition_down(0)
    answer = yield from world.receive()
    assert outcome(answer) == "unavailable" or ids(answer) == ["a"]
    return outcome(answer) != "ok"


@scene(eagerness=1.0, partitions=2)
def interleave(world: World) -> Steps[bool]:
    for index in range(2):
        yield from keyed(world, *(f"{index}{name}" for name in "abcd"), index=index)
    shown = (yield from world.peek(8))[2]
    for index in "01":
        found = [one.id for one in shown if one.id[0] == index]
        assert found == sorted(found)
    order = [one.id[0] for one in shown]
    return order != sorted(order) and order != sorted(order, reverse=True)


@scene()
def peek_short(world: World) -> Steps[bool]:
    yield from keyed(world, *"abcd")
    found = ids((yield from world.peek(4, number=0)))
    assert found == list("abcd")[: len(found)] != []
    return len(found) < 4


@scene()
def count_late(world: World) -> Steps[bool]:
    yield from keyed(world, "a")
    yield from world.settle("abandon", only((yield from world.receive())).lock)
    peeked = only((yield from world.peek(1, number=0))).delivery_count
    assert only((yield from world.receive())).delivery_count == 1
    assert only((yield from world.peek(1, number=0))).delivery_count == 1
    return peeked == 0


@scene(max_delivery_count=2)
def dead_letter_late(world: World) -> Steps[bool]:
    yield from keyed(world, "a", "b")
    for _ in range(2):
        yield from world.settle("abandon", only((yield from world.receive())).lock)
    there = "a" in ids((yield from world.peek(9, number=0)))
    assert ids((yield from world.receive(9))) == ["b"]
    assert ids((yield from world.receive(9, dead_letters=True))) == ["a"]
    return there


@scene()
def keep_number(world: World) -> Steps[bool]:
    yield from keyed(world, "a", "b")
    sent = (yield from world.receive(2))[2]
    yield from world.settle("dead_letter", sent[1].lock)
    dead = only((yield from world.peek(dead_letters=True)))
    return dead.seq == sent[1].seq


@scene()
def vanish_early(world: World) -> Steps[bool]:
    yield from world.send(Post("a", partition_key=home(world), ttl=SECOND))
    yield from world.sleep(SECOND)
    there = ids((yield from world.peek(number=0)))
    assert ids((yield from world.receive())) == []
    assert ids((yield from world.peek(number=0))) == []
    return not there


@scene(eagerness=1.0, partitions=2)
def deliver_fetched(world: World) -> Steps[bool]:
    for index in range(2):
        yield from world.send(Post(f"m{index}", partition_key=home(world, index), ttl=SECOND))
    yield from world.receive(1)
    assert len(world.broker.locks) == 2
    yield from world.sleep(SECOND)
    return bool(ids((yield from world.receive(1))))


@scene()
def live_from_send(world: World) -> Steps[bool]:
    at = world.clock.now + 5 * SECOND
    yield from world.send(Post("a", partition_key=home(world), scheduled_at=at, ttl=4 * SECOND))
    yield from world.until(at)
    yield from world.sleep(SECOND)
    return not ids((yield from world.receive()))


@scene(duplicate_detection=True, duplicate_window=10 * SECOND)
def number_duplicates(world: World) -> Steps[bool]:
    for name in ("a", "a", "b"):
        yield from world.send(Post(name, partition_key=home(world)))
    assert ids((yield from world.peek(number=0))) == ["a", "b"]
    return numbers(world) == [1, 3]


@scene(duplicate_detection=True, duplicate_window=10 * SECOND)
def remember_activation(world: World) -> Steps[bool]:
    at = world.clock.now + 5 * SECOND
    yield from world.send(Post("a", partition_key=home(world), scheduled_at=at))
    yield from world.sleep(12 * SECOND)
    yield from world.send(Post("a", partition_key=home(world)))
    return ids((yield from world.receive(2))) == ["a"]


# Sessions.


@scene(requires_session=True, front_ends=2)
def close_parted(world: World) -> Steps[bool]:
    yield from world.send(Post("a", session_id="s"))
    yield from world.accept("s")
    yield from world.broker.faults.frontend_lost("c")
    return outcome((yield from world.accept("s", proc="d"))) == "ok"


@scene(partitions=1, requires_session=True)
def settle_one_session(world: World) -> Steps[bool]:
    for session in ("s", "t"):
        yield from world.send(Post(session, session_id=session))
        yield from world.accept(session)
    locks = []
    for session in ("s", "t"):
        locks.append(only((yield from world.receive_in(session))).lock)
    yield from world.begin()
    yield from world.settle("complete", locks[0], txn="t")
    kind = outcome((yield from world.settle("complete", locks[1], txn="t")))
    assert kind in ("ok", "invalid_operation")
    return kind != "ok"


# Management.


def active(answer: Answer) -> int:
    return int(answer[2][0].active)


@scene()
def locked_apart(world: World) -> Steps[bool]:
    yield from world.send(Post("a"))
    yield from world.receive()
    return active((yield from world.get())) == 0


@scene()
def deferred_apart(world: World) -> Steps[bool]:
    yield from world.send(Post("a"))
    yield from world.settle("defer", only((yield from world.receive())).lock)
    return active((yield from world.get())) == 0


@scene()
def stale_counts(world: World) -> Steps[bool]:
    yield from world.get()
    yield from world.send(Post("a"))
    return active((yield from world.get())) == 0


@scene()
def count_outrun(world: World) -> Steps[bool]:
    world.broker.timetable.outrun = 1
    return (yield from world.get())[2][0].scheduled == -1


@scene()
def refuse_update(world: World) -> Steps[bool]:
    yield from world.broker.faults.partition_down(0)
    return outcome((yield from world.update(partitions=4))) != "ok"


@scene(max_size=10)
def hot_partition_full(world: World) -> Steps[bool]:
    yield from world.send(Post("a", "123456", partition_key="k"))
    return outcome((yield from world.send(Post("b", "123456", partition_key="k")))) == "quota"


@scene(max_entities=2)
def slow_to_free(world: World) -> Steps[bool]:
    yield from world.create("a")
    yield from world.delete("a")
    return outcome((yield from world.create("b"))) == "quota"


@scene(max_message_size=10)
def count_headers(world: World) -> Steps[bool]:
    return outcome((yield from world.send(Post("a", "body", properties=(("colour", "red"),))))) == "too_large"


@scene()
def skip_down(world: World) -> Steps[bool]:
    yield from world.send(Post("a", partition_key=home(world, 0)))
    yield from world.broker.faults.partition_down(0)
    return active((yield from world.get())) == 0


# Transactions.


@scene(transaction_timeout=5 * SECOND)
def time_from_begin(world: World) -> Steps[bool]:
    yield from world.begin()
    yield from world.sleep(4 * SECOND)
    yield from keyed(world, "a", txn="t")
    yield from world.sleep(4 * SECOND)
    return outcome((yield from world.commit())) == "not_found"


@scene(max_transaction_messages=1)
def count_settled(world: World) -> Steps[bool]:
    yield from keyed(world, "a")
    token = only((yield from world.receive())).lock
    yield from world.begin()
    yield from world.settle("complete", token, txn="t")
    return outcome((yield from keyed(world, "b", txn="t"))) == "quota"


@scene()
def commit_lag(world: World) -> Steps[bool]:
    yield from world.begin()
    yield from keyed(world, "a", txn="t")
    assert outcome((yield from world.commit())) == "ok"
    yield from keyed(world, "b")
    seen = yield from walk(world)
    assert not world.broker.is_empty()
    yield from world.sleep(3 * SECOND)
    assert numbers(world) == [1, 2]
    assert ids((yield from world.receive(9))) == ["a", "b"]
    return "a" not in seen


@scene()
def number_early(world: World) -> Steps[bool]:
    yield from world.begin()
    yield from keyed(world, "a", txn="t")
    yield from keyed(world, "b")
    yield from keyed(world, "c", txn="t")
    assert ids((yield from world.peek(9, number=0))) == ["b"]
    yield from world.commit()
    answer = yield from world.receive(9)
    times = [one.enqueued_at for one in answer[2]]
    assert times == sorted(times)
    assert ids(answer) in (["a", "b", "c"], ["b", "a", "c"])
    return ids(answer) == ["a", "b", "c"]


@scene(partitions=2)
def second_key(world: World) -> Steps[bool]:
    first = home(world)
    second = next(
        key for n in range(99) if world.broker.partition_for(key := f"x{n}").name == 1 and key != first
    )
    yield from world.begin()
    yield from world.send(Post("a", partition_key=first), txn="t")
    other = yield from keyed(world, "b", index=1, txn="t")
    assert outcome(other) == "invalid_operation"
    answer = yield from world.send(Post("c", partition_key=second), txn="t")
    yield from world.commit()
    assert stored(world)["1"] == (["a", "c"] if answer[0] == "ok" else ["a"])
    return answer[0] == "ok"


@scene()
def abort_refused(world: World) -> Steps[bool]:
    yield from world.begin()
    yield from keyed(world, "a", txn="t")
    assert outcome((yield from world.send(Post("b"), txn="t"))) == "invalid_operation"
    kind = outcome((yield from world.commit()))
    assert kind in ("ok", "not_found")
    assert world.broker.is_empty() == (kind != "ok")
    return kind != "ok"


@scene()
def settle_elsewhere(world: World) -> Steps[bool]:
    yield from keyed(world, "a")
    lock = only((yield from world.receive())).lock
    yield from world.begin()
    yield from keyed(world, "b", index=1, txn="t")
    kind = outcome((yield from world.settle("complete", lock, txn="t")))
    assert kind in ("ok", "invalid_operation")
    yield from world.begin("u")
    if kind != "ok":
        yield from world.settle("complete", lock, txn="u")
        other = outcome((yield from keyed(world, "c", index=2, txn="u")))
        assert other in ("ok", "invalid_operation")
    yield from world.commit()
    assert stored(world)["1"] == ([] if kind == "ok" else ["a"]) and stored(world)["2"] == ["b"]
    return kind == "ok"


def settled_twice(world: World) -> Steps[str]:
    """Complete a message in a transaction, and outside of it; what the latter answers."""
    yield from keyed(world, "a")
    lock = only((yield from world.receive())).lock
    yield from world.begin()
    assert outcome((yield from world.settle("complete", lock, txn="t"))) == "ok"
    return outcome((yield from world.settle("complete", lock)))


@scene()
def settle_enlisted(world: World) -> Steps[bool]:
    kind = yield from settled_twice(world)
    assert kind in ("ok", "invalid_operation")
    assert world.broker.is_empty() == (kind == "ok")
    assert outcome((yield from world.commit())) == ("lock_lost" if kind == "ok" else "ok")
    return kind == "ok"


@scene()
def commit_settled(world: World) -> Steps[bool]:
    yield from keyed(world, "a")
    lock = only((yield from world.receive())).lock
    yield from world.begin()
    yield from world.settle("complete", lock, txn="t")
    world.broker.partitions[0].complete(world.broker.locks[lock or ""])
    yield from keyed(world, "b", txn="t")
    kind = outcome((yield from world.commit()))
    assert kind in ("ok", "lock_lost")
    assert stored(world)["1"] == (["b"] if kind == "ok" else [])
    return kind == "ok"


# Scheduling.


def scheduled(world: World) -> Steps[int]:
    """Schedule a message for 10 s from now; its number."""
    post = Post("m", partition_key=home(world), scheduled_at=10 * SECOND)
    return only((yield from world.schedule(post))).seq or 0


@scene()
def activate_late(world: World) -> Steps[bool]:
    yield from scheduled(world)
    at = only((yield from world.receive(timeout=20 * SECOND))).enqueued_at or 0
    assert 10 * SECOND <= at <= 12 * SECOND
    return at > 10 * SECOND


@scene()
def race_cancel(world: World) -> Steps[bool]:
    number = yield from scheduled(world)
    yield from world.until(9 * SECOND + 1)
    answer = outcome((yield from world.cancel(number)))
    left = ids((yield from world.receive(timeout=20 * SECOND)))
    assert (answer, left) in (("ok", []), ("ok", ["m"]), ("not_found", ["m"]))
    return bool(left)


# Topics.


@scene(partitions=1, subscriptions=(("a", "sql:sys.MessageId IN ('M')"),))
def ignore_case(world: World) -> Steps[bool]:
    yield from world.send(Post("m"))
    (partition,) = world.broker.subscriptions["a"].partitions
    return bool([*partition.store.live()])


@scene(partitions=2, subscriptions=(("a", "true"),))
def fail_apart(world: World) -> Steps[bool]:
    yield from world.broker.faults.partition_down(1)
    up = [partition.up for partition in world.broker.subscriptions["a"].partitions]
    yield from world.broker.faults.partition_up(1)
    assert sorted(up) == [False, True]
    assert all(partition.up for partition in world.broker.subscriptions["a"].partitions)
    return up[1]


# Forwarding.


def forwarded(world: World, *names: str) -> Steps[list[str]]:
    """What has come to the last queue soon after these were sent."""
    yield from world.send(*map(Post, names))
    yield from world.until(SECOND // 1_000)
    (partition,) = world.broker.subscriptions["b"].partitions
    return [stored.content.id for stored in partition.store.live()]


@scene(partitions=1, forward_to=("b",))
def forward_late(world: World) -> Steps[bool]:
    return (yield from forwarded(world, "a")) != ["a"]


@scene(partitions=1, forward_to=("b",))
def forward_any_order(world: World) -> Steps[bool]:
    came = yield from forwarded(world, *"abcd")
    assert sorted(came) == [*"abcd"]
    return came != [*"abcd"]


# Faults.


@scene(flows=True, partitions=2)
def lose_link(world: World) -> Steps[bool]:
    yield from world.bind("f")
    before = len(world.broker.end_of(world.client("c")).assignments.flows)
    kind = outcome((yield from keyed(world, "a")))
    after = len(world.broker.end_of(world.client("c")).assignments.flows)
    assert kind in ("ok", "connection_lost")
    assert kind == "ok" or (after == 0 and not stored(world)["1"])
    return kind != "ok" and before == 1


@scene(flows=True, partitions=2)
def unbind_gone(world: World) -> Steps[bool]:
    yield from world.bind("f")
    yield from world.unbind("f")
    kind = outcome((yield from world.unbind("f")))
    assert kind in ("ok", "not_found")
    return kind == "ok"


@scene()
def break_link(world: World) -> Steps[bool]:
    yield from keyed(world, "a")
    yield from world.broker.faults.frontend_lost("c")
    kind = outcome((yield from keyed(world, "b")))
    assert kind in ("ok", "connection_lost", "unavailable")
    assert stored(world)["1"] == (["a", "b"] if kind == "ok" else ["a"])
    assert outcome((yield from keyed(world, "c"))) == "ok"
    return kind != "ok"


def killed(world: World) -> Steps[None]:
    yield from world.broker.faults.broker_kill()
    yield from world.broker.faults.broker_start()


@scene()
def keep_locks(world: World) -> Steps[bool]:
    yield from keyed(world, "a")
    lock = only((yield from world.receive())).lock
    yield from killed(world)
    kind = outcome((yield from world.settle("complete", lock)))
    assert kind in ("ok", "lock_lost")
    assert world.broker.is_empty() == (kind == "ok")
    return kind == "ok"


@scene()
def keep_cursors(world: World) -> Steps[bool]:
    yield from keyed(world, "a")
    assert (yield from walk(world)) == ["a"]
    yield from killed(world)
    return (yield from walk(world)) == []


@scene()
def keep_transactions(world: World) -> Steps[bool]:
    yield from world.begin()
    yield from keyed(world, "a", txn="t")
    yield from killed(world)
    kind = outcome((yield from world.commit()))
    assert world.broker.is_empty() == (kind == "not_found")
    return kind == "ok"


@scene(flows=True, partitions=2)
def keep_flows(world: World) -> Steps[bool]:
    yield from world.bind("f")
    yield from world.sleep(6 * SECOND)
    yield from killed(world)
    yield from keyed(world, "a")
    kept = ids((yield from world.receive(1, flow="f"))) == ["a"]
    if kept:
        assert outcome((yield from world.bind("f"))) == "ok"
        assert outcome((yield from world.bind("f"))) == "invalid_operation"
    return kept


@scene()
def lose_locks(world: World) -> Steps[bool]:
    yield from keyed(world, "a")
    lock = only((yield from world.receive())).lock
    yield from world.broker.faults.partition_down(0)
    yield from world.broker.faults.partition_up(0)
    return outcome((yield from world.settle("complete", lock))) == "lock_lost"


@scene()
def count_lost_locks(world: World) -> Steps[bool]:
    yield from keyed(world, "a")
    yield from world.receive()
    yield from killed(world)
    count = only((yield from world.receive())).delivery_count
    assert count in (0, 1)
    return count == 1


@scene()
def lose_transactions(world: World) -> Steps[bool]:
    yield from world.begin()
    yield from keyed(world, "a", txn="t")
    yield from world.broker.faults.partition_down(0)
    yield from world.broker.faults.partition_up(0)
    return outcome((yield from world.commit())) == "not_found"


# Flows.


def owners(world: World) -> list[str]:
    """Whose each partition is."""
    return [seat.flow.name for seat in world.broker.front_ends[0].assignments.seats]  # type: ignore[attr-defined]


def bound(world: World, *names: str, wait: int = 10) -> Steps[None]:
    for name in names:
        assert outcome((yield from world.bind(name, proc=name))) == "ok"
    yield from world.sleep(wait * SECOND)


@scene(flows=True, partitions=6)
def redeal(world: World) -> Steps[bool]:
    yield from bound(world, "f", "g")
    before = owners(world)
    yield from bound(world, "h")
    after = owners(world)
    assert sorted(after) == list("ffgghh")
    moves = sum(one != other for one, other in zip(before, after, strict=True))
    assert moves >= 2
    return moves > 2


@scene(flows=True, partitions=2)
def any_standby(world: World) -> Steps[bool]:
    yield from bound(world, "f", "g", "h", "i")
    yield from world.unbind("f", proc="f")
    assert set(owners(world)) in ({"g", "h"}, {"g", "i"})
    return "i" in owners(world)


@scene(flows=True, partitions=4)
def restart_delay(world: World) -> Steps[bool]:
    yield from bound(world, "f", wait=4)
    yield from bound(world, "g", wait=6)
    when = world.told[0][0] // SECOND
    assert when in (5, 9)
    return when == 9


@scene(flows=True, partitions=4, max_handoff=15 * SECOND)
def restart_handoff(world: World) -> Steps[bool]:
    yield from bound(world, "f")
    for index in range(4):
        yield from keyed(world, f"m{index}", index=index)
    yield from world.receive(9, proc="f", flow="f")
    yield from bound(world, "g")
    yield from bound(world, "h", wait=40)
    lengths = set()
    paused: dict[int, int] = {}
    for when, partition, _, state in world.told:
        if state == "paused":
            paused[partition] = when
        elif state == "unassigned" and partition in paused:
            lengths.add((when - paused.pop(partition)) // SECOND)
    assert lengths <= {15, 25}
    return 25 in lengths


def states(world: World) -> list[str]:
    """How each partition is assigned."""
    return [seat.state for seat in world.broker.front_ends[0].assignments.seats]  # type: ignore[attr-defined]


def in_handoff(world: World, *names: str) -> Steps[None]:
    """The first flow hands partitions off to the others."""
    yield from bound(world, "f")
    for index in range(3):
        yield from keyed(world, f"m{index}", index=index)
    yield from world.receive(9, proc="f", flow="f")
    yield from bound(world, *names, wait=6)
    assert states(world).count("paused") == len(names)


@scene(flows=True, partitions=3, max_handoff=15 * SECOND)
def orphan_handoff(world: World) -> Steps[bool]:
    yield from in_handoff(world, "g")
    yield from world.unbind("g", proc="g")
    paused = "paused" in states(world)
    yield from world.sleep(6 * SECOND)
    assert owners(world) == list("fff") and states(world) == ["ready"] * 3
    return paused


@scene(flows=True, partitions=3, max_handoff=15 * SECOND)
def cancel_handoffs(world: World) -> Steps[bool]:
    yield from in_handoff(world, "g", "h")
    yield from world.unbind("h", proc="h")
    yield from bound(world, "i", wait=1)
    return "paused" not in states(world)


@scene(flows=True, partitions=2)
def untold_deletion(world: World) -> Steps[bool]:
    yield from bound(world, "f")
    before = len(world.told)
    yield from world.update(partitions=1)
    return len(world.told) == before


@scene(flows=True, partitions=2)
def scale_at_once(world: World) -> Steps[bool]:
    yield from bound(world, "f")
    yield from world.update(partitions=3)
    yield from world.sleep(SECOND)
    return states(world)[-1] == "ready"


@scene(flows=True, partitions=2)
def settle_deleted(world: World) -> Steps[bool]:
    yield from bound(world, "f")
    yield from keyed(world, "a", index=1)
    lock = only((yield from world.receive(proc="f", flow="f"))).lock
    yield from world.update(partitions=1)
    kind = outcome((yield from world.settle("complete", lock, proc="f")))
    assert kind in ("ok", "lock_lost")
    return kind == "ok"


@scene(flows=True, lateness=SECOND)
def late_timers(world: World) -> Steps[bool]:
    yield from bound(world, "f")
    when = world.told[0][0]
    assert 5 * SECOND <= when < 6.01 * SECOND
    return when > 5.01 * SECOND


@scene(flows=True, partitions=2, lateness=SECOND)
def late_handoffs(world: World) -> Steps[bool]:
    yield from bound(world, "f")
    yield from bound(world, "g")
    paused = [when for when, _, _, state in world.told if state == "paused"]
    assert sorted(owners(world)) == ["f", "g"] and all(when < 16 * SECOND for when in paused)
    return bool(paused)


@scene(flows=True, lateness=SECOND)
def late_events(world: World) -> Steps[bool]:
    yield from keyed(world, "a")
    yield from world.bind("f")
    yield from world.receive(1, flow="f", timeout=10 * SECOND)
    received = world.clock.now
    yield from world.sleep(2 * SECOND)
    assert len(world.told) == 4
    return max(when for when, *_ in world.told) > received + 10
