"""Scheduled messages: two numbers, one activation, and cancels that come in time, too late, or just then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from world import Post, World, ids, key_for, only, outcome

from partq.reference_impl.broker import SECOND, Parts, Shown
from partq.reference_impl.clock import Steps
from partq.reference_impl.freedoms import LATER, Freedoms
from partq.reference_impl.mutants.registry import MUTANTS
from partq.reference_impl.network import Answer

AT = 60 * SECOND
FLAT = {"partitions": 1, "partitioned": False, "counter_bits": 64}


def _world(seed: int = 1, **settings: Any) -> World:
    return World(seed, **{"partitions": 4, "eagerness": 0.0, **settings})


def _post(name: str, key: str | None = "k", at: int | None = AT) -> Post:
    return Post(name, partition_key=key, scheduled_at=at)


def _peeked(world: World) -> Steps[list[Shown]]:
    """All that a peek shows, partition by partition."""
    found: dict[int | None, Shown] = {}
    for _ in range(20):
        found |= {shown.seq: shown for shown in (yield from world.peek(number=0))[2]}
    return [found[number] for number in sorted(found, key=str)]


def _states(world: World) -> Steps[list[tuple[str, str | None]]]:
    return [(shown.id, shown.state) for shown in (yield from _peeked(world))]


def _received(world: World) -> Steps[list[str]]:
    """All that can be received now, by name."""
    found: list[str] = []
    while names := ids((yield from world.receive(9, delete=True, timeout=0))):
        found += names
    return sorted(found)


def _outcomes(*operations: Steps[Answer]) -> Steps[list[str]]:
    log = []
    for operation in operations:
        log.append(outcome((yield from operation)))
    return log


@pytest.mark.parametrize("settings", [{}, FLAT])
@pytest.mark.parametrize("how", ["send", "schedule"])
def test_a_message_has_one_number_while_it_is_scheduled_and_the_next_one_from_its_time_on(
    how: str, settings: dict[str, Any]
) -> None:
    world = _world(**settings)

    def scene() -> Steps[list[Any]]:
        answer = yield from getattr(world, how)(_post("m"))
        yield from world.send(_post("other", at=None))
        early = ids((yield from world.receive(9, delete=True)))
        (waiting,) = yield from _peeked(world)
        late = only((yield from world.receive(9, timeout=2 * AT)))
        return [answer, early, waiting, late, (yield from _states(world))]

    answer, early, waiting, late, states = world.do(scene())
    assert [shown.seq for shown in answer[2]] == ([waiting.seq] if how == "schedule" else [])
    assert early == ["other"]
    assert (waiting.state, waiting.enqueued_at, waiting.lock) == ("scheduled", 0, None)
    assert (late.id, late.seq, late.enqueued_at) == ("m", waiting.seq + 2, AT)
    assert states == [("m", "active")]


def test_each_message_of_a_batch_is_scheduled_by_itself_even_a_twin() -> None:
    world = _world()

    def scene() -> Steps[list[Any]]:
        answer = yield from world.schedule(_post("a"), _post("a"), _post("b", at=AT + SECOND))
        yield from world.send(_post("now", at=None), _post("c"))
        states = yield from _states(world)
        yield from world.until(AT + SECOND // 2)
        early = yield from _received(world)
        yield from world.until(AT + 2 * SECOND)
        return [answer, states, early, (yield from _received(world))]

    answer, states, early, late = world.do(scene())
    numbers = [shown.seq for shown in answer[2]]
    assert (ids(answer), numbers) == (["a", "a", "b"], list(range(numbers[0], numbers[0] + 3)))
    assert [name for name, state in states if state == "scheduled"] == ["a", "a", "b", "c"]
    assert ("now", "active") in states
    assert (early, late) == (["a", "a", "c", "now"], ["b"])


def test_what_is_scheduled_in_the_past_is_activated_at_once_under_a_further_number() -> None:
    world = _world()

    def scene() -> Steps[list[Any]]:
        yield from world.until(AT)
        answer = yield from world.schedule(_post("m", at=SECOND))
        return [only(answer).seq, only((yield from world.receive())), world.clock.now]

    number, shown, now = world.do(scene())
    assert (shown.seq, shown.enqueued_at, now) == (number + 1, AT, AT)


def test_an_activation_before_the_answer_does_not_change_what_it_says() -> None:
    for seed in range(20):
        world = _world(seed, first_name=7)
        key = key_for(world.broker, 0)
        answers = world.run(*(world.schedule(_post(name, key, at=0), proc=name) for name in "abcd"))
        numbers = [(only(answer).seq or 0) & 0xFFFF for answer in answers]
        activated = [stored.number & 0xFFFF for stored in world.broker.partitions[0].store.live()]
        assert sorted(numbers + activated) == list(range(1, 9))


@pytest.mark.parametrize("how", ["send", "schedule"])
def test_what_is_cancelled_in_time_is_gone_for_good(how: str) -> None:
    world = _world()

    def scene() -> Steps[list[Any]]:
        yield from getattr(world, how)(_post("m"))
        (waiting,) = yield from _peeked(world)
        number = waiting.seq or 0
        log = yield from _outcomes(world.cancel(number), world.cancel(number))
        return [*log, (yield from _states(world)), ids((yield from world.receive(timeout=2 * AT)))]

    assert world.do(scene()) == ["ok", "not_found", [], []]
    assert world.broker.is_empty()


def test_an_activated_message_is_not_cancelled_by_either_number() -> None:
    world = _world()

    def scene() -> Steps[list[Any]]:
        number = only((yield from world.schedule(_post("m")))).seq
        yield from world.until(AT + SECOND)
        (shown,) = yield from _peeked(world)
        log = yield from _outcomes(world.cancel(number), world.cancel(shown.seq or 0))
        return [*log, ids((yield from world.receive()))]

    assert world.do(scene()) == ["not_found", "not_found", ["m"]]


def test_numbers_that_nothing_is_scheduled_under_are_not_found() -> None:
    world = _world()

    def scene() -> Steps[list[str]]:
        yield from world.send(_post("m", at=None))
        (active,) = yield from _peeked(world)
        assert active.seq is not None
        numbers = (active.seq, active.seq + 1, active.seq + (9 << 48), 0)
        return (yield from _outcomes(*map(world.cancel, numbers)))

    assert world.do(scene()) == ["not_found"] * 4


def test_a_schedule_needs_a_time_and_a_queue_that_schedules() -> None:
    assert outcome(_world().do(_world().schedule(_post("m", at=None)))) == "invalid_operation"
    solace = World(flows=True, without=frozenset({"SCH-1"}))
    assert outcome(solace.do(solace.schedule(_post("m")))) == "unsupported"
    assert outcome(solace.do(solace.cancel(1))) == "unsupported"
    plain = _world(without=frozenset({"SCH-1"}))

    def scene() -> Steps[list[str]]:
        yield from plain.send(_post("m"))
        return ids((yield from plain.receive(timeout=0)))

    assert plain.do(scene()) == ["m"]


# Faults.


def test_a_keyed_message_is_scheduled_in_its_home_and_waits_there_while_that_is_down() -> None:
    world = _world()
    key = key_for(world.broker, 2)

    def scene() -> Steps[list[Any]]:
        number = only((yield from world.schedule(_post("m", key)))).seq
        other = only((yield from world.schedule(_post("x", key_for(world.broker, 1))))).seq
        yield from world.broker.faults.partition_down(2)
        refused = outcome((yield from world.schedule(_post("n", key))))
        log = [number >> 48, outcome((yield from world.cancel(number))), refused]
        log.append(outcome((yield from world.cancel(other))))
        yield from world.until(2 * AT)
        log.append(ids((yield from world.receive(9, timeout=0))))
        yield from world.broker.faults.partition_up(2)
        shown = only((yield from world.receive(9, timeout=SECOND)))
        return [*log, shown.seq - number, (shown.enqueued_at or 0) >= 2 * AT]

    home, down, refused, up, *rest = world.do(scene())
    assert (home, down, up) == (3, "unavailable", "ok")
    assert refused in ("unavailable", "timeout")
    assert rest == [[], 1, True]


@pytest.mark.parametrize("started", [AT - 10 * SECOND, AT + 10 * SECOND])
def test_what_is_scheduled_outlives_a_kill_and_front_ends(started: int) -> None:
    world = _world(lock_duration=SECOND)

    def scene() -> Steps[list[Any]]:
        number = only((yield from world.schedule(_post("m")))).seq
        yield from world.broker.faults.frontend_lost("c")
        yield from world.broker.faults.broker_kill()
        dead = outcome((yield from world.cancel(number)))
        yield from world.until(started)
        yield from world.broker.faults.broker_start()
        before = ids((yield from world.receive(timeout=0)))
        shown = only((yield from world.receive(timeout=2 * AT)))
        return [dead, before if started < AT else [], shown.seq - number, world.clock.now]

    assert world.do(scene())[:3] == ["unavailable", [], 1]


def test_no_lost_lock_frees_what_is_scheduled() -> None:
    world = _world(freedoms=Freedoms(lose_locks=1.0))

    def scene() -> Steps[list[str]]:
        yield from world.send(_post("m"))
        for index in range(4):
            yield from world.broker.faults.partition_down(index)
            yield from world.broker.faults.partition_up(index)
        return ids((yield from world.receive(timeout=SECOND)))

    assert world.do(scene()) == []


# Transactions.


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("how", ["send", "schedule"])
@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_what_a_transaction_schedules_shows_after_the_commit_or_never(
    ending: str, how: str, late: bool
) -> None:
    world = _world()

    def scene() -> Steps[list[Any]]:
        yield from world.begin()
        yield from getattr(world, how)(_post("m"), txn="t")
        before = yield from _states(world)
        yield from world.until(AT + SECOND if late else SECOND)
        early = ids((yield from world.receive(timeout=0)))
        log = [before, early, outcome((yield from getattr(world, ending)()))]
        after = yield from _states(world)
        return [*log, after if not late else None, ids((yield from world.receive(timeout=2 * AT)))]

    committed = ending == "commit"
    states = [("m", "scheduled")] if committed else []
    assert world.do(scene()) == [[], [], "ok", None if late else states, ["m"] if committed else []]


def test_a_transaction_numbers_what_it_schedules_at_once_and_in_order() -> None:
    world = _world()

    def scene() -> Steps[list[Any]]:
        yield from world.begin()
        yield from world.send(_post("a", at=None), txn="t")
        answer = yield from world.schedule(_post("b"), txn="t")
        yield from world.send(_post("c", at=None), txn="t")
        hidden = outcome((yield from world.cancel(only(answer).seq)))
        yield from world.commit()
        return [only(answer).seq, hidden, [(one.id, one.seq) for one in (yield from _peeked(world))]]

    number, hidden, shown = world.do(scene())
    assert hidden == "not_found"
    assert shown == [("a", number - 1), ("b", number), ("c", number + 1)]


def test_a_transaction_schedules_and_cancels_in_one_partition_with_one_key() -> None:
    world = _world()
    keys = [key_for(world.broker, index) for index in range(2)]

    def scene() -> Steps[list[str]]:
        numbers = []
        for key in keys:
            numbers.append(only((yield from world.schedule(_post(f"in-{key}", key)))).seq)
        yield from world.begin()
        log = yield from _outcomes(
            world.schedule(_post("x", None), txn="t"),
            world.schedule(_post("a", keys[0]), txn="t"),
            world.schedule(_post("y", keys[1]), txn="t"),
            world.cancel(numbers[1], txn="t"),
            world.cancel(numbers[0], txn="t"),
            world.cancel(numbers[0], txn="t"),
            world.commit(),
        )
        return [*log, *(one.id for one in (yield from _peeked(world)))]

    refused = "invalid_operation"
    expected = [refused, "ok", refused, refused, "ok", "ok", "ok", "a", f"in-{keys[1]}"]
    assert world.do(scene()) == expected


def test_what_was_committed_is_found_at_once_however_late_commits_show() -> None:
    for seed in range(20):
        world = _world(seed, freedoms=Freedoms(commit_lag=1.0, number_early=0.5, settle_elsewhere=1.0))

        def scene(world: World = world) -> Steps[list[str]]:
            number = only((yield from world.schedule(_post("m", key_for(world.broker, 0))))).seq
            yield from world.begin()
            yield from world.cancel(number, txn="t")
            away = outcome((yield from world.schedule(_post("y", key_for(world.broker, 1)), txn="t")))
            number = only((yield from world.schedule(_post("n", key_for(world.broker, 0)), txn="t"))).seq
            return [away, *(yield from _outcomes(world.commit(), world.cancel(number)))]

        assert world.do(scene()) == ["invalid_operation", "ok", "ok"]


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_cancel_takes_effect_with_the_commit(ending: str) -> None:
    world = _world()

    def scene() -> Steps[list[Any]]:
        number = only((yield from world.schedule(_post("m")))).seq
        yield from world.begin()
        log: list[Any] = [outcome((yield from world.cancel(number, txn="t"))), (yield from _states(world))]
        log.append(outcome((yield from getattr(world, ending)())))
        return [*log, ids((yield from world.receive(timeout=2 * AT)))]

    back = ["m"] if ending == "rollback" else []
    assert world.do(scene()) == ["ok", [("m", "scheduled")], "ok", back]


@pytest.mark.parametrize("first", ["the time", "a cancel"])
def test_a_commit_is_refused_whole_where_something_else_was_first(first: str) -> None:
    world = _world()

    def scene() -> Steps[list[Any]]:
        number = only((yield from world.schedule(_post("m")))).seq
        yield from world.begin()
        yield from world.cancel(number, txn="t")
        yield from world.send(_post("a", at=None), txn="t")
        if first == "a cancel":
            yield from world.cancel(number, proc="other")
        else:
            yield from world.until(AT + SECOND)
        return [outcome((yield from world.commit())), ids((yield from world.receive(9)))]

    assert world.do(scene()) == ["not_found", ["m"] if first == "the time" else []]


# A cancel that comes upon the activation (SCH-5).


def _race(seed: int) -> tuple[str, ...]:
    """Two clients cancel a message within its last second, each with what it hears; and what is received."""
    world = _world(seed, freedoms=Freedoms(race_cancel=0.5, activate_late=0.5))

    heard: dict[str, str] = {}

    def cancelled(proc: str, number: int, after: int) -> Steps[None]:
        yield from world.sleep(after)
        heard[proc] = outcome((yield from world.cancel(number, proc=proc)))

    def scene() -> Steps[list[str]]:
        shown = only((yield from world.schedule(_post("m"))))
        yield from world.until(AT - SECOND // 2)
        for after, proc in enumerate("pq"):
            world.clock.spawn(cancelled(proc, shown.seq, after * SECOND // 4))
        yield from world.until(AT + 9 * SECOND)
        received = yield from world.receive(9)
        assert all(one.seq == shown.seq + 1 and one.enqueued_at >= AT for one in received[2])
        return ids(received)

    received = world.do(scene())
    return heard["p"], heard["q"], *received


def test_of_a_race_at_its_time_a_message_comes_out_once_or_not_at_all() -> None:
    ok, void = "ok", "not_found"
    gone = {(ok, void), (void, ok)}
    there = {(*answers, "m") for answers in ((ok, ok), (ok, void), (void, ok), (void, void))}
    assert {_race(seed) for seed in range(150)} == gone | there


def test_a_cancel_long_before_the_time_is_never_outrun() -> None:
    for seed in range(20):
        world = _world(seed, freedoms=Freedoms(race_cancel=1.0))

        def scene(world: World = world) -> Steps[list[Any]]:
            number = only((yield from world.schedule(_post("m")))).seq
            answer = outcome((yield from world.cancel(number)))
            return [answer, world.clock.now, ids((yield from world.receive(timeout=2 * AT)))]

        assert world.do(scene()) == ["ok", 0, []]


def _committed(seed: int) -> tuple[str, tuple[str, ...]]:
    """A commit at the message's time cancels it."""
    world = _world(seed, freedoms=Freedoms(race_cancel=0.5, activate_late=0.5))

    def scene() -> Steps[tuple[str, tuple[str, ...]]]:
        number = only((yield from world.schedule(_post("m")))).seq
        yield from world.begin()
        yield from world.cancel(number, txn="t")
        yield from world.until(AT)
        ended = outcome((yield from world.commit()))
        return ended, tuple(ids((yield from world.receive(timeout=9 * SECOND))))

    return world.do(scene())  # type: ignore[no-any-return]


def test_a_commit_races_the_activation_too() -> None:
    assert {_committed(seed) for seed in range(60)} == {("ok", ()), ("ok", ("m",)), ("not_found", ("m",))}


def test_freedoms_that_came_later_leave_the_other_draws_alone() -> None:
    earlier = replace(Freedoms.campaign(), **dict.fromkeys(LATER, 0.0))
    for seed in range(20):
        drawn: list[list[Any]] = []
        for table in (Freedoms.campaign(), earlier):
            world = World(seed)
            sample = table.sample(world.clock.random, 0.25)
            drawn.append([replace(sample, **dict.fromkeys(LATER, 0.0)), world.clock.random()])
        assert drawn[0] == drawn[1]


class _Crowd:
    """Clients who schedule, cancel and receive amid faults, and what became of each message."""

    def __init__(self, seed: int) -> None:
        self.world = _world(seed, freedoms=replace(Freedoms.campaign(), busy=0.0, answer_nothing=0.0))
        self.random = Random(seed)
        self.due: dict[str, int] = {}
        self.numbers: list[tuple[str, int]] = []
        self.cancelled: dict[str, int] = {}
        self.received: list[str] = []
        self.unsure = False

    def client(self, proc: str) -> Steps[None]:
        for turn in range(12):
            yield from self.world.sleep(self.random.randrange(SECOND))
            act = self.random.choice([self.scheduled, self.cancel, self.receive, self.commit])
            yield from act(proc, f"{proc}{turn}")

    def scheduled(self, proc: str, name: str, txn: str | None = None) -> Steps[None]:
        at = max(0, self.world.clock.now + self.random.randrange(-SECOND, 6 * SECOND))
        answer = yield from self.world.schedule(_post(name, at=at), proc=proc, txn=txn)
        if answer[0] == "ok":
            self.due[name] = at
            self.numbers.append((name, only(answer).seq or 0))
        self.unsure |= answer[0] == "unknown"

    def cancel(self, proc: str, _: str) -> Steps[None]:
        if self.numbers:
            name, number = self.random.choice(self.numbers)
            answer = yield from self.world.cancel(number, proc=proc)
            self.unsure |= answer[0] == "unknown"
            if answer[0] == "ok":
                assert name not in self.cancelled or self.world.clock.now >= self.due[name]
                self.cancelled.setdefault(name, self.world.clock.now)

    def receive(self, proc: str, _: str) -> Steps[None]:
        answer = yield from self.world.receive(9, proc=proc, delete=True, timeout=SECOND)
        self.unsure |= answer[0] == "unknown"
        for name in ids(answer):
            assert self.due.get(name, 0) <= self.world.clock.now, "before its time"
            assert self.cancelled.get(name, self.due.get(name, 0)) >= self.due.get(name, 0), (
                "cancelled in time"
            )
            self.received.append(name)

    def commit(self, proc: str, name: str) -> Steps[None]:
        yield from self.world.begin(name)
        yield from self.scheduled(proc, name, txn=name)
        answer = yield from self.world.commit(name)
        if answer[0] != "ok":
            self.due.pop(name, None)
            self.numbers = [one for one in self.numbers if one[0] != name]

    def trouble(self) -> Steps[None]:
        faults = self.world.broker.faults
        for _ in range(3):
            yield from self.world.sleep(3 * SECOND)
            yield from faults.partition_down(self.random.randrange(4))
            yield from faults.broker_kill()
            yield from self.world.sleep(self.random.randrange(SECOND))
            yield from faults.broker_start()
            for index in range(4):
                yield from faults.partition_up(index)


@pytest.mark.parametrize("seed", range(60))
def test_amid_faults_every_message_is_activated_once_and_only_in_its_time(seed: int) -> None:
    crowd = _Crowd(seed)
    crowd.world.run(crowd.client("p"), crowd.client("q"), crowd.client("r"), crowd.trouble())
    for _ in range(60):
        crowd.world.do(crowd.receive("p", ""))
    assert len(set(crowd.received)) == len(crowd.received)
    if not crowd.unsure:
        assert {*crowd.due} - {*crowd.cancelled} <= {*crowd.received}
        assert {*crowd.received} <= {*crowd.due}


# Defects.


SLOTS = ("timetable", "partition", "front_end")


FAMILY = ("partq.reference_impl.mutants.scheduling", "partq.reference_impl.mutants.held_out.scheduling")


@pytest.fixture(scope="module")
def defective() -> dict[str, Parts]:
    """The parts of a broker with each of the defects in scheduling."""
    return {
        name: mutant.parts
        for name, mutant in MUTANTS.items()
        if any(getattr(mutant.parts, slot).__module__ in FAMILY for slot in SLOTS)
    }


def _life(world: World) -> Steps[dict[str, Any]]:
    """What a message goes through that is scheduled, peeked, and received, with others beside it."""
    log: dict[str, Any] = {}
    number = only((yield from world.schedule(_post("m")))).seq
    yield from world.send(_post("s"))
    log["peeked"] = yield from _states(world)
    log["numbers"] = [shown.seq - number for shown in (yield from _peeked(world))]
    yield from world.until(AT - SECOND)
    yield from world.send(_post("now", at=None))
    log["early"] = sorted(ids((yield from world.receive(9, delete=True, timeout=0))))
    yield from world.send(_post("last", at=None))
    yield from world.until(AT + SECOND)
    log["again"] = outcome((yield from world.cancel(number)))
    late = (yield from world.receive(9, delete=True, timeout=SECOND))[2]
    log["late"] = sorted(shown.id for shown in late)
    log["last"] = late[0].id if late else None
    log["appended"] = sorted((shown.seq or 0) - number for shown in late)
    log["times"] = [shown.enqueued_at >= AT - SECOND for shown in late]
    log["more"] = ids((yield from world.receive(9, delete=True, timeout=AT)))
    return log


def _cancelled(world: World) -> Steps[list[Any]]:
    """A cancel in time, with a restart after it."""
    number = only((yield from world.schedule(_post("m")))).seq
    answer = outcome((yield from world.cancel(number)))
    yield from world.broker.faults.broker_kill()
    yield from world.broker.faults.broker_start()
    return [answer, ids((yield from world.receive(timeout=2 * AT)))]


def _barely(world: World) -> Steps[list[Any]]:
    """A cancel five seconds before the time."""
    number = only((yield from world.schedule(_post("m")))).seq
    yield from world.until(AT - 5 * SECOND)
    answer = outcome((yield from world.cancel(number)))
    yield from world.until(2 * AT)
    return [answer, (yield from _received(world))]


def _outlived(world: World) -> Steps[list[str]]:
    """A time that comes while the broker is down."""
    yield from world.schedule(_post("m"))
    yield from world.broker.faults.broker_kill()
    yield from world.until(2 * AT)
    yield from world.broker.faults.broker_start()
    return ids((yield from world.receive(timeout=SECOND)))


def _undone(world: World) -> Steps[list[str]]:
    """A schedule and a cancel in a transaction that is rolled back."""
    number = only((yield from world.schedule(_post("kept")))).seq
    yield from world.begin()
    yield from world.cancel(number, txn="t")
    yield from world.schedule(_post("undone"), txn="t")
    yield from world.rollback()
    yield from world.until(2 * AT)
    return (yield from _received(world))


SOUND: dict[str, Any] = {
    "peeked": [("m", "scheduled"), ("s", "scheduled")],
    "numbers": [0, 1],
    "early": ["now"],
    "again": "not_found",
    "late": ["last", "m", "s"],
    "last": "last",
    "appended": [3, 4, 5],
    "times": [True, True, True],
    "more": [],
    "cancelled": ["ok", []],
    "barely": ["ok", []],
    "outlived": ["m"],
    "undone": ["kept"],
}
"""What a sound broker does in these scenes."""

WRONG: dict[str, dict[str, Any]] = {
    "activated-early": {"early": ["m", "now", "s"]},
    "time-of-a-send-ignored": {"early": ["now", "s"], "peeked": [("m", "scheduled"), ("s", "active")]},
    "never-activated": {"late": ["last"], "outlived": [], "undone": []},
    "missed-time-never-made-up": {"outlived": []},
    "scheduled-not-peeked": {"peeked": []},
    "schedule-answers-the-next-number": {"numbers": [-1, 0]},
    "cancel-ignored": {"cancelled": ["ok", ["m"]]},
    "cancels-of-the-last-seconds-ignored": {"barely": ["ok", ["m"]]},
    "cancelled-back-after-restart": {"cancelled": ["ok", ["m"]]},
    "activation-keeps-the-number": {"appended": [0, 1, 3]},
    "activation-keeps-the-time": {"times": [True, False, False]},
    "activated-number-still-cancels": {"again": "ok"},
    "activated-number-deletes": {"again": "ok", "late": ["last", "s"]},
    "activated-twice": {"late": ["last", "m", "m", "s", "s"]},
    "schedule-recurs": {"more": ["m", "s"]},
    "activated-ahead": {"last": "m"},
    "scheduled-called-active": {"peeked": [("m", "active"), ("s", "active")]},
    "restart-loses-scheduled": {"outlived": []},
    "rolled-back-schedule-activated": {"undone": ["kept", "undone"]},
    "cancels-before-commit": {"undone": []},
}
"""What shows each defect."""


def _seen(parts: Parts | None) -> dict[str, Any]:
    def played(steps: Callable[[World], Steps[Any]]) -> Any:
        world = World(1, parts)
        return world.do(steps(world))

    scenes = {"cancelled": _cancelled, "barely": _barely, "outlived": _outlived, "undone": _undone}
    return {**played(_life), **{name: played(steps) for name, steps in scenes.items()}}


def test_a_sound_broker_does_none_of_this() -> None:
    assert _seen(None) == SOUND


def test_every_defect_is_shown(defective: dict[str, Parts]) -> None:
    assert set(defective) == set(WRONG)
    for name, parts in defective.items():
        seen = _seen(parts)
        assert {what: seen[what] for what in WRONG[name]} == WRONG[name], name
        assert any(SOUND[what] != wrong for what, wrong in WRONG[name].items()), name
