"""The defects in dead letters, deferral and time to live: scenes in which a sound broker does one thing, each
of them another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from world import Post, World, ids, key_for, outcome

from partq.reference_impl.broker import SECOND, Parts
from partq.reference_impl.clock import Steps
from partq.reference_impl.expiry import EXPIRED
from partq.reference_impl.mutants.registry import MUTANTS
from partq.reference_impl.network import Answer
from partq.reference_impl.partition import SPENT

MODULES = ("deadletters", "deferral", "expiry")
SLOTS = ("dead_letters", "partition", "front_end", "lifetimes", "faults")

Scene = Callable[[World], Steps[Any]]


def _locks(answer: Answer) -> list[str]:
    return [shown.lock for shown in answer[2]]


def _kill(world: World) -> Steps[None]:
    yield from world.broker.faults.broker_kill()
    yield from world.broker.faults.broker_start()


def _given(world: World, *names: str, ttl: int | None = None, index: int = 0) -> Steps[list[Any]]:
    """Send messages of one key and receive them."""
    for name in names:
        yield from world.send(Post(name, partition_key=key_for(world.broker, index), ttl=ttl))
    return list((yield from world.receive(len(names)))[2])


def _dead(world: World, *, delete: bool = False) -> Steps[list[tuple[str, str | None]]]:
    """The dead letters that can be received now."""
    answer = yield from world.receive(9, dead_letters=True, delete=delete)
    return [(one.id, one.reason) for one in answer[2]]


def moved(world: World) -> Steps[list[Any]]:
    """What its holder dead-letters, in both queues."""
    (a,) = yield from _given(world, "a")
    yield from world.settle("dead_letter", a.lock, reason="why")
    return [ids((yield from world.receive())), (yield from _dead(world)), (yield from _dead(world))]


def failed(world: World) -> Steps[list[Any]]:
    """Each delivery of a message that is always given back, by its count; then the dead letters' reasons."""
    counts = []
    for found in [(yield from _given(world, "a"))]:
        while found:
            counts.append(found[0].delivery_count)
            yield from world.settle("abandon", found[0].lock)
            found = list((yield from world.receive())[2])
            if len(counts) > 4:
                break
    return [*counts, *(reason for _, reason in (yield from _dead(world)))]


def dead_at_a_kill(world: World) -> Steps[list[str]]:
    """One dead letter that is completed, and one that is not, at a kill."""
    a, b = yield from _given(world, "a", "b")
    yield from world.settle("dead_letter", a.lock, b.lock)
    lock = _locks((yield from world.receive(dead_letters=True)))
    yield from world.settle("complete", *lock)
    yield from _kill(world)
    return ids((yield from world.receive(9, dead_letters=True)))


def dead_lock_ends(world: World) -> Steps[list[str]]:
    """A dead letter whose lock runs out."""
    (a,) = yield from _given(world, "a")
    yield from world.settle("dead_letter", a.lock)
    yield from world.receive(dead_letters=True)
    yield from world.sleep(31 * SECOND)
    return ids((yield from world.receive(dead_letters=True)))


def rolled_back(world: World) -> Steps[list[str]]:
    """What is dead-lettered and deferred in a transaction that is rolled back."""
    a, b = yield from _given(world, "a", "b")
    yield from world.begin()
    yield from world.settle("dead_letter", a.lock, txn="t")
    yield from world.settle("defer", b.lock, txn="t")
    yield from world.rollback()
    first = yield from world.settle("complete", a.lock)
    return [outcome(first), outcome((yield from world.settle("complete", b.lock)))]


def deferred(world: World) -> Steps[list[Any]]:
    """A deferred message: what a receive and a peek see of it, and whether it is received once."""
    (a,) = yield from _given(world, "a")
    yield from world.settle("defer", a.lock)
    peeked = [(one.id, one.state) for one in (yield from world.peek(number=0))[2]]
    received = ids((yield from world.receive()))
    if received:
        return [peeked, received]
    again = yield from world.receive_deferred(a.seq)
    return [peeked, received, outcome(again), outcome((yield from world.receive_deferred(a.seq)))]


def deferred_again(world: World) -> Steps[list[Any]]:
    """A deferred message whose lock runs out."""
    (a,) = yield from _given(world, "a")
    yield from world.settle("defer", a.lock)
    yield from world.receive_deferred(a.seq)
    yield from world.sleep(31 * SECOND)
    received = ids((yield from world.receive()))
    return received or [one.delivery_count for one in (yield from world.receive_deferred(a.seq))[2]]


def of_two_partitions(world: World) -> Steps[str]:
    """A call that names two deferred messages of two partitions."""
    (a,) = yield from _given(world, "a")
    (b,) = yield from _given(world, "b", index=1)
    yield from world.settle("defer", a.lock)
    yield from world.settle("defer", b.lock)
    return outcome((yield from world.receive_deferred(a.seq, b.seq)))


def deferred_at_a_kill(world: World) -> Steps[list[Any]]:
    """A deferred message at a kill."""
    (a,) = yield from _given(world, "a")
    yield from world.settle("defer", a.lock)
    yield from _kill(world)
    return [ids((yield from world.receive())), ids((yield from world.receive_deferred(a.seq)))]


def ended(world: World) -> Steps[list[Any]]:
    """What can be received of a message at two thirds of its time, after a kill, and after it."""
    yield from world.send(Post("a", partition_key=key_for(world.broker, 0), ttl=60 * SECOND))
    yield from world.sleep(40 * SECOND)
    log = [ids((yield from world.peek(number=0))), ids((yield from world.receive(most=0)))]
    log.append(ids((yield from world.peek(number=0))))
    yield from _kill(world)
    yield from world.sleep(30 * SECOND)
    return [*log, ids((yield from world.receive()))]


def ended_while_locked(world: World) -> Steps[list[Any]]:
    """A message whose time ends while it is locked, and one that is given back then."""
    a, b = yield from _given(world, "a", "b", ttl=10 * SECOND)
    yield from world.sleep(20 * SECOND)
    yield from world.receive()
    log = [outcome((yield from world.settle("complete", a.lock)))]
    yield from world.settle("abandon", b.lock)
    return [*log, ids((yield from world.receive()))]


def ended_as_a_dead_letter(world: World) -> Steps[list[Any]]:
    """A dead letter whose time in the queue would have ended."""
    (a,) = yield from _given(world, "a", ttl=10 * SECOND)
    yield from world.settle("dead_letter", a.lock)
    yield from world.sleep(20 * SECOND)
    return (yield from _dead(world))


def ended_while_deferred(world: World) -> Steps[str]:
    """A deferred message whose time ends."""
    (a,) = yield from _given(world, "a", ttl=10 * SECOND)
    yield from world.settle("defer", a.lock)
    yield from world.sleep(20 * SECOND)
    return outcome((yield from world.receive_deferred(a.seq)))


SOUND: dict[Scene, Any] = {
    moved: [[], [("a", "why")], []],
    failed: [0, 1, 2, SPENT],
    dead_at_a_kill: ["b"],
    dead_lock_ends: ["a"],
    rolled_back: ["ok", "ok"],
    deferred: [[("a", "deferred")], [], "ok", "not_found"],
    deferred_again: [1],
    of_two_partitions: "invalid_operation",
    deferred_at_a_kill: [[], ["a"]],
    ended: [["a"], [], ["a"], []],
    ended_while_locked: ["ok", []],
    ended_as_a_dead_letter: [("a", None)],
    ended_while_deferred: "not_found",
}
"""What a sound broker does in each scene."""

WRONG: dict[str, tuple[Scene, Any]] = {
    "dead-letter-lost": (moved, [[], [], []]),
    "failures-called-expiry": (failed, [0, 1, 2, EXPIRED]),
    "every-reason-is-the-brokers": (moved, [[], [("a", SPENT)], []]),
    "dead-letter-stays-too": (moved, [["a"], [("a", "why")], []]),
    "holder-cannot-dead-letter": (moved, [["a"], [], []]),
    "dead-letters-not-locked": (moved, [[], [("a", "why")], [("a", "why")]]),
    "dead-lettered-one-delivery-early": (failed, [0, 1, SPENT]),
    "dead-lettered-two-deliveries-late": (failed, [0, 1, 2, 3, 4, SPENT]),
    "kill-loses-dead-letters": (dead_at_a_kill, []),
    "completed-dead-letters-come-back": (dead_at_a_kill, ["b", "a"]),
    "dead-letter-lost-on-expiry": (dead_lock_ends, []),
    "dead-letters-before-commit": (rolled_back, ["lock_lost", "ok"]),
    "defers-before-commit": (rolled_back, ["ok", "lock_lost"]),
    "deferred-delivered": (deferred, [[("a", "deferred")], ["a"]]),
    "deferred-called-active": (deferred, [[("a", "active")], [], "ok", "not_found"]),
    "deferred-not-peeked": (deferred, [[], [], "ok", "not_found"]),
    "deferral-renumbers": (deferred, [[("a", "deferred")], [], "not_found", "not_found"]),
    "locked-deferred-delivered": (deferred, [[("a", "deferred")], [], "ok", "ok"]),
    "deferred-lost-on-expiry": (deferred_again, []),
    "expiry-ends-deferral": (deferred_again, ["a"]),
    "abandon-ends-deferral": (deferred_again, ["a"]),
    "deferred-not-counted": (deferred_again, [0]),
    "deferred-of-any-partition": (of_two_partitions, "ok"),
    "kill-ends-deferral": (deferred_at_a_kill, [["a"], []]),
    "kill-loses-deferred": (deferred_at_a_kill, [[], []]),
    "expired-delivered": (ended, [["a"], [], ["a"], ["a"]]),
    "kill-starts-lifetimes-anew": (ended, [["a"], [], ["a"], ["a"]]),
    "dies-at-half-its-time": (ended, [["a"], [], [], []]),
    "expiry-ends-locks": (ended_while_locked, ["lock_lost", []]),
    "expired-cannot-be-settled": (ended_while_locked, ["lock_lost", []]),
    "lifetime-starts-with-the-lock": (ended_while_locked, ["ok", ["b"]]),
    "dead-letters-expire": (ended_as_a_dead_letter, []),
    "deferred-live-for-ever": (ended_while_deferred, "ok"),
}
"""The scene that shows each defect, and what is seen then."""


def _seen(scene: Scene, parts: Parts | None) -> Any:
    world = World(1, parts, partitions=2, eagerness=0.0, front_ends=1, max_delivery_count=3)
    return world.do(scene(world))


@pytest.mark.parametrize("scene", SOUND)
def test_a_sound_broker_does_none_of_this(scene: Scene) -> None:
    assert _seen(scene, None) == SOUND[scene]


@pytest.mark.parametrize("name", WRONG)
def test_a_defect_is_shown(name: str) -> None:
    scene, wrong = WRONG[name]
    assert _seen(scene, MUTANTS[name].parts) == wrong != SOUND[scene]


def test_every_defect_has_a_scene() -> None:
    folder = "partq.reference_impl.mutants"
    modules = {f"{folder}{aside}.{name}" for aside in ("", ".held_out") for name in MODULES}
    made = {
        name
        for name, mutant in MUTANTS.items()
        if any(getattr(mutant.parts, slot).__module__ in modules for slot in SLOTS)
    }
    assert made == set(WRONG)
