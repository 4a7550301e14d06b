"""Sessions: one holder at a time, who alone receives, in order; and what the end of the lock leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from world import Post, World, ids, outcome

from partq.reference_impl.broker import SECOND
from partq.reference_impl.clock import Steps
from partq.reference_impl.durable import DurableBroker
from partq.reference_impl.freedoms import Freedoms
from partq.reference_impl.network import Answer

FLAT = {"partitions": 1, "partitioned": False, "counter_bits": 64}


def _world(seed: int = 1, **settings: Any) -> World:
    return World(seed, **{"partitions": 4, "requires_session": True, **settings})


def _send(world: World, *names: str, session: str = "s") -> Steps[None]:
    for name in names:
        assert outcome((yield from world.send(Post(name, session_id=session)))) == "ok"


def _accepted(answer: Answer) -> str:
    """The session of an answer, or the kind of error."""
    return str(answer[2][0].session_id) if answer[2] else outcome(answer)


@pytest.mark.parametrize("settings", [{}, FLAT])
def test_the_holder_alone_receives_in_order(settings: dict[str, Any]) -> None:
    world = _world(**settings)

    def scene() -> Steps[None]:
        yield from _send(world, "a", "b", "c")
        yield from _send(world, "x", session="t")
        assert _accepted((yield from world.accept("s"))) == "s"
        assert outcome((yield from world.receive_in("s", proc="d"))) == "lock_lost"
        assert ids((yield from world.receive_in("s", 2))) == ["a", "b"]
        assert ids((yield from world.receive_in("s", 5, delete=True))) == ["c"]
        assert ids((yield from world.receive_in("s", 5))) == []
        assert _accepted((yield from world.accept(None, proc="d"))) == "t"
        assert ids((yield from world.receive_in("t", 5, proc="d"))) == ["x"]

    world.do(scene())


def test_outside_of_a_session_nothing_is_received_nor_renewed() -> None:
    world = _world()

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        assert outcome((yield from world.receive())) == "invalid_operation"
        yield from world.accept("s")
        lock = (yield from world.receive_in("s"))[2][0].lock
        assert outcome((yield from world.renew(lock))) == "invalid_operation"
        assert outcome((yield from world.receive_deferred(1))) == "invalid_operation"
        assert outcome((yield from world.settle("complete", lock))) == "ok"
        assert world.broker.is_empty()

    world.do(scene())


def test_a_message_without_a_session_is_refused_alone_and_in_a_batch() -> None:
    world = _world(**FLAT)

    def scene() -> Steps[None]:
        assert outcome((yield from world.send(Post("a", partition_key="k")))) == "invalid_operation"
        both = yield from world.send(Post("b", session_id="s"), Post("c"))
        assert outcome(both) == "invalid_operation"
        yield from world.begin()
        assert outcome((yield from world.send(Post("d"), txn="t"))) == "invalid_operation"
        assert world.broker.is_empty()

    world.do(scene())


def test_a_held_session_is_refused_and_without_one_the_next_is_not_found() -> None:
    world = _world()

    def scene() -> Steps[None]:
        began = world.clock.now
        assert outcome((yield from world.accept(None))) == "timeout"
        assert world.clock.now >= began + SECOND
        assert _accepted((yield from world.accept("s"))) == "s"
        yield from _send(world, "a")
        for proc in "cd":
            assert outcome((yield from world.accept("s", proc=proc))) == "session_locked"
        assert outcome((yield from world.accept(None, proc="d"))) == "timeout"

    world.do(scene())


def test_the_next_session_is_waited_for() -> None:
    world = _world()

    def later() -> Steps[None]:
        yield from world.sleep(SECOND // 2)
        yield from _send(world, "a")

    accepted, _ = world.run(world.accept(None, proc="d"), later())
    assert _accepted(accepted) == "s"


@pytest.mark.parametrize("settings", [{}, FLAT])
def test_expiry_counts_and_closing_does_not(settings: dict[str, Any]) -> None:
    world = _world(lock_duration=5 * SECOND, **settings)

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        yield from world.accept("s")
        first = (yield from world.receive_in("s"))[2][0]
        assert outcome((yield from world.close("s"))) == "ok"
        assert outcome((yield from world.settle("complete", first.lock))) == "lock_lost"
        yield from world.accept("s", proc="d")
        second = (yield from world.receive_in("s", proc="d"))[2][0]
        assert (first.delivery_count, second.delivery_count) == (0, 0)
        yield from world.sleep(5 * SECOND)
        assert outcome((yield from world.close("s", proc="d"))) == "lock_lost"
        assert _accepted((yield from world.accept(None))) == "s"
        assert (yield from world.receive_in("s"))[2][0].delivery_count == 1

    world.do(scene())


def test_a_renewal_keeps_the_session_and_its_messages() -> None:
    world = _world(lock_duration=5 * SECOND)

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        until = (yield from world.accept("s"))[2][0].locked_until
        lock = (yield from world.receive_in("s"))[2][0].lock
        yield from world.sleep(4 * SECOND)
        renewed = (yield from world.renew_session("s"))[2][0]
        assert renewed.session_id == "s" and renewed.locked_until >= until + 4 * SECOND
        yield from world.sleep(4 * SECOND)
        assert outcome((yield from world.accept("s", proc="d"))) == "session_locked"
        assert outcome((yield from world.settle("complete", lock))) == "ok"
        yield from world.sleep(2 * SECOND)
        assert outcome((yield from world.renew_session("s"))) == "lock_lost"

    world.do(scene())


@pytest.mark.parametrize("keeps", [0.0, 1.0])
def test_a_kill_loses_the_locks_of_sessions_or_keeps_them(keeps: float) -> None:
    world = _world(freedoms=Freedoms(keep_locks=keeps))

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        yield from world.accept("s")
        yield from world.receive_in("s")
        yield from world.broker.faults.broker_kill()
        yield from world.broker.faults.broker_start()
        other = yield from world.accept("s", proc="d")
        assert _accepted(other) == ("session_locked" if keeps else "s")
        assert ids((yield from world.receive_in("s", proc="d"))) == ([] if keeps else ["a"])

    world.do(scene())


@pytest.mark.parametrize("parts", [0.0, 1.0])
def test_a_lost_front_end_closes_the_sessions_of_its_clients_or_does_not(parts: float) -> None:
    world = _world(freedoms=Freedoms(close_parted=parts), front_ends=1)

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        yield from world.accept("s")
        yield from world.receive_in("s")
        yield from world.broker.faults.frontend_lost("c")
        other = yield from world.accept("s", proc="d")
        assert _accepted(other) == ("s" if parts else "session_locked")
        if parts:
            assert (yield from world.receive_in("s", proc="d"))[2][0].delivery_count == 0

    world.do(scene())


def test_a_lock_that_had_run_out_when_its_client_was_cut_off_has_counted() -> None:
    world = _world(freedoms=Freedoms(close_parted=1.0), front_ends=1, lock_duration=5 * SECOND)

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        yield from world.accept("s")
        yield from world.receive_in("s")
        yield from world.sleep(6 * SECOND)
        yield from world.broker.faults.frontend_lost("c")
        yield from world.accept("s", proc="d")
        assert (yield from world.receive_in("s", proc="d"))[2][0].delivery_count == 1

    world.do(scene())


def test_a_session_of_a_partition_that_is_down_is_neither_accepted_nor_the_next() -> None:
    world = _world()

    def scene() -> Steps[None]:
        yield from _send(world, "a")
        home = world.broker.partitions.index(world.broker.partition_for("s"))
        yield from world.broker.faults.partition_down(home)
        assert outcome((yield from world.accept("s"))) == "unavailable"
        assert outcome((yield from world.accept(None))) == "timeout"
        yield from world.broker.faults.partition_up(home)
        assert _accepted((yield from world.accept(None))) == "s"

    world.do(scene())


def _state(answer: Answer) -> str:
    """The state that an answer shows, or the kind of error."""
    return str(answer[2][0].state) if answer[2] else outcome(answer)


def test_the_state_of_a_session_is_the_last_one_written_whoever_holds_it() -> None:
    world = _world(lock_duration=5 * SECOND)

    def scene() -> Steps[None]:
        yield from world.accept("s")
        assert _state((yield from world.noted("s"))) == ""
        assert outcome((yield from world.note("s", "one"))) == "ok"
        yield from world.note("s", "two")
        yield from world.accept("t")
        assert _state((yield from world.noted("t"))) == ""
        yield from world.close("s")
        yield from world.accept("s", proc="d")
        assert _state((yield from world.noted("s", proc="d"))) == "two"
        yield from world.sleep(6 * SECOND)
        yield from world.accept("s")
        assert _state((yield from world.noted("s"))) == "two"
        yield from world.note("s", "")
        assert _state((yield from world.noted("s"))) == ""

    world.do(scene())


def test_only_the_holder_reads_and_writes_the_state() -> None:
    world = _world(lock_duration=5 * SECOND)

    def scene() -> Steps[None]:
        assert outcome((yield from world.note("s", "none"))) == "lock_lost"
        yield from world.accept("s")
        yield from world.note("s", "mine")
        assert _state((yield from world.noted("s", proc="d"))) == "lock_lost"
        assert outcome((yield from world.note("s", "other", proc="d"))) == "lock_lost"
        yield from world.sleep(6 * SECOND)
        assert outcome((yield from world.note("s", "late"))) == "lock_lost"
        yield from world.accept("s", proc="d")
        assert _state((yield from world.noted("s", proc="d"))) == "mine"

    world.do(scene())


@pytest.mark.parametrize("durable", [False, True])
def test_the_state_outlives_a_kill(durable: bool, tmp_path: Path) -> None:
    world = _world(folder=tmp_path if durable else None)

    def scene() -> Steps[None]:
        yield from world.accept("s")
        yield from world.note("s", "kept")
        yield from world.broker.faults.broker_kill()
        yield from world.broker.faults.broker_start()
        yield from world.accept("s", proc="d")
        assert _state((yield from world.noted("s", proc="d"))) == "kept"

    world.do(scene())


def test_the_state_is_in_the_files_that_are_opened_again(tmp_path: Path) -> None:
    def written(world: World) -> Steps[None]:
        yield from world.accept("s")
        yield from world.note("s", "kept")

    def found(world: World) -> Steps[None]:
        yield from world.accept("s")
        assert _state((yield from world.noted("s"))) == "kept"

    for scene in (written, found):
        world = _world(folder=tmp_path)
        world.do(scene(world))
        assert isinstance(world.broker, DurableBroker)
        world.broker.close()


def test_an_entity_without_sessions_has_none() -> None:
    world = World(1, **FLAT)

    def scene() -> Steps[None]:
        assert outcome((yield from world.accept("s"))) == "invalid_operation"
        yield from world.send(Post("a"))
        assert ids((yield from world.receive())) == ["a"]

    world.do(scene())


@pytest.mark.parametrize("partitions", [1, 4])
def test_a_transaction_sends_to_one_session_and_nothing_without(partitions: int) -> None:
    world = _world(partitions=partitions)

    def scene() -> Steps[None]:
        yield from world.begin()
        for kind, post in (
            ("invalid_operation", Post("none")),
            ("invalid_operation", Post("key", partition_key="s")),
            ("invalid_operation", Post("both", session_id="s", partition_key="t")),
            ("ok", Post("a", session_id="s", partition_key="s")),
            *(("invalid_operation", Post(name, session_id=name)) for name in "tuvw"),
            ("ok", Post("b", session_id="s")),
        ):
            assert outcome((yield from world.send(post, txn="t"))) == kind
        batch = Post("c", session_id="s"), Post("d")
        assert outcome((yield from world.send(*batch, txn="t"))) == "invalid_operation"
        assert outcome((yield from world.commit())) == "ok"
        yield from world.accept("s")
        assert ids((yield from world.receive_in("s", 5))) == ["a", "b"]

    world.do(scene())


def test_without_partitions_a_transaction_sends_to_any_sessions() -> None:
    world = _world(**FLAT)

    def scene() -> Steps[None]:
        yield from world.begin()
        for name in "st":
            assert outcome((yield from world.send(Post(name, session_id=name), txn="t"))) == "ok"
        assert outcome((yield from world.send(Post("none"), txn="t"))) == "invalid_operation"
        assert outcome((yield from world.commit())) == "ok"
        assert _accepted((yield from world.accept("t"))) == "t"
        assert ids((yield from world.receive_in("t", 5))) == ["t"]

    world.do(scene())
