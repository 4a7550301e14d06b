"""A broker whose messages outlive its process: killed at any instant, its files say what was answered."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from world import Post, World, ids, only, outcome

from partq.reference_impl import durable
from partq.reference_impl.broker import SECOND
from partq.reference_impl.clock import Steps
from partq.reference_impl.durable import DurableBroker, File
from partq.reference_impl.network import Answer, Connection

CLIENTS = 3
ROUNDS = 16
"""What each client does before it leaves."""

DIES_WITHIN = 2_300
"""Steps of SQLite's machine within which a process is killed; all clients together need more."""

KILLS = 25
"""Processes that a test kills."""


def opened(folder: Path, seed: int = 1) -> World:
    """The broker of these files, after all that a broker before it may have lived through."""
    start = 3600 * SECOND if any(folder.glob("*.db")) else 0
    return World(seed, folder=folder, start=start, partitions=2, salt=7, lock_duration=10 * SECOND)


def closed(world: World) -> None:
    assert isinstance(world.broker, DurableBroker)
    world.broker.close()


def files(world: World) -> list[File]:
    assert isinstance(world.broker, DurableBroker)
    return world.broker.files


def at_once(world: World, steps: Steps[Answer]) -> Answer:
    """The answer, before any timer ends."""
    answers: list[Answer] = []

    def kept() -> Steps[None]:
        answers.append((yield from steps))

    world.clock.spawn(kept())
    while not answers:
        world.clock.run(1)
    return answers[0]


def peeked(world: World, *, dead_letters: bool = False) -> list[Any]:
    """All that a new client sees, walking from the oldest on."""
    proc, shown = f"new {len(world.connections)}", []
    while more := at_once(world, world.peek(proc=proc, dead_letters=dead_letters))[2]:
        shown += more
    return shown


# One process after the other.


def test_what_was_answered_is_there_when_the_files_are_opened_again(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.do(first.send(Post("a", "body", "k", properties=(("colour", "blue"),)), Post("b", session_id="k")))
    token = only(first.do(first.receive())).lock
    closed(first)

    second = opened(tmp_path)
    a, b = peeked(second)
    assert (a.id, a.body, a.session_id, a.properties) == ("a", "body", "k", (("colour", "blue"),))
    assert (b.id, b.state) == ("b", "active")
    assert outcome(second.do(second.settle("complete", str(token)))) == "lock_lost"
    assert ids(second.do(second.receive(5))) == ["a", "b"]


def test_what_is_scheduled_or_deferred_or_dead_is_so_when_the_files_are_opened_again(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.do(first.send(Post("a", partition_key="k"), Post("b", partition_key="k")))
    a, b = first.do(first.receive(2))[2]
    first.do(first.settle("defer", a.lock))
    first.do(first.settle("dead_letter", b.lock, reason="spoilt"))
    c = only(at_once(first, first.schedule(Post("c", scheduled_at=7200 * SECOND))))
    closed(first)

    second = opened(tmp_path)
    shown = [(one.id, one.state) for one in peeked(second)]
    assert sorted(shown) == [("a", "deferred"), ("c", "scheduled")]
    assert outcome(at_once(second, second.cancel(c.seq or 0))) == "ok"
    assert ids(second.do(second.receive_deferred(a.seq))) == ["a"]
    assert [(one.id, one.reason) for one in peeked(second, dead_letters=True)] == [("b", "spoilt")]


def test_what_is_scheduled_comes_at_its_time_though_another_process_took_it(tmp_path: Path) -> None:
    first = opened(tmp_path)
    at_once(first, first.schedule(Post("a", scheduled_at=7200 * SECOND)))
    closed(first)

    second = opened(tmp_path)
    assert ids(second.do(second.receive(timeout=7200 * SECOND))) == ["a"]
    assert second.clock.now >= 7200 * SECOND


def test_a_lock_that_was_over_by_then_has_counted_one_that_was_not_is_lost(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.do(first.send(Post("a", partition_key="k"), Post("b", partition_key="k")))
    first.do(first.receive())
    closed(first)
    second = opened(tmp_path)
    assert [(one.id, one.delivery_count) for one in peeked(second)] == [("a", 1), ("b", 0)]


def test_names_of_locks_are_never_given_again(tmp_path: Path) -> None:
    tokens = []
    for _ in range(3):
        world = opened(tmp_path)
        world.do(world.send(Post("a")))
        tokens.append(only(world.do(world.receive())).lock)
        closed(world)
    assert len(set(tokens)) == 3


def test_two_brokers_at_once_are_refused(tmp_path: Path) -> None:
    world = opened(tmp_path)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        File(tmp_path / files(world)[0].path.name, *_pair(world), world.broker.config, outlives=False)


def _pair(world: World) -> tuple[Any, Any]:
    return world.broker.partitions[0], world.broker.dead_letters[0]


@pytest.mark.parametrize("way", ["start", "open"])
def test_a_broker_that_cannot_write_is_dead_and_has_not_said_ok(way: str, tmp_path: Path) -> None:
    world = opened(tmp_path)
    world.do(world.send(Post("a", partition_key="k")))
    for file in files(world):
        file.db.execute("PRAGMA query_only = ON")
    assert outcome(world.do(world.send(Post("b", partition_key="k")))) == "internal?"
    assert outcome(world.do(world.receive())) == "unavailable"
    for file in files(world):
        file.db.execute("PRAGMA query_only = OFF")
    if way == "start":
        world.do(world.broker.faults.broker_start())
    else:
        closed(world)
        world = opened(tmp_path)
    assert ids(world.do(world.receive(5, timeout=60 * SECOND))) == ["a"]


# Killed at any instant.


@dataclass
class Told:
    """What the clients of a killed process asked for and were told: IDs that were accepted, and deleted;
    of each operation that was not answered both; and each number's message."""

    accepted: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    unsure: list[tuple[set[str], set[str]]] = field(default_factory=list)
    numbers: dict[tuple[bool, int], str] = field(default_factory=dict)

    def note(self, shown: Sequence[tuple[str, int | None]], dead_letters: bool = False) -> None:
        """No number is another message's."""
        for name, number in shown:
            if number is not None:
                assert self.numbers.setdefault((dead_letters, number), name) == name

    @classmethod
    def read(cls, lines: Sequence[str]) -> Told:
        told, asked = cls(), {}
        for client, ins, outs, *answer in map(json.loads, lines):
            if not answer:
                asked[client] = set(ins), set(outs)
                continue
            ins, outs = asked.pop(client)
            told.note(answer[1])
            if answer[0] == "ok":
                told.accepted |= ins
                told.deleted |= outs
        told.unsure = list(asked.values())
        return told


class Client:
    """A client that writes down what it asks for before, and what it is told after."""

    def __init__(self, world: World, name: str, seed: int, tell: Callable[[str], None]) -> None:
        self.world = world
        self.name = name
        self.random = Random(f"{seed} {name}")
        self.tell = tell
        self.held: list[Any] = []
        self.posts = 0

    def live(self) -> Steps[None]:
        for _ in range(ROUNDS):
            yield from self.random.choice(
                [self.send, self.send, self.receive, self.settle, self.transact, self.schedule]
            )()

    def posts_of(self, key: str | None, number: int) -> list[Post]:
        self.posts += number
        names = [f"{self.name}-{n}" for n in range(self.posts - number, self.posts)]
        return [Post(name, "body", partition_key=key) for name in names]

    def ask(self, steps: Steps[Answer], ins: Sequence[Post] = (), outs: Sequence[Any] = ()) -> Steps[Answer]:
        effect = [one.id for one in ins], [one.id for one in outs]
        self.tell(json.dumps([self.name, *effect]))
        answer = yield from steps
        shown = [(one.id, one.seq) for one in answer[2]]
        self.tell(json.dumps([self.name, *effect, outcome(answer), shown]))
        return answer

    def send(self) -> Steps[None]:
        posts = self.posts_of(self.random.choice([None, "k0", "k1", "k2"]), self.random.randint(1, 3))
        yield from self.ask(self.world.send(*posts, proc=self.name), posts)

    def schedule(self) -> Steps[None]:
        (post,) = self.posts_of("k1", 1)
        post = Post(post.id, post.body, partition_key="k1", scheduled_at=self.world.clock.now + SECOND)
        yield from self.ask(self.world.schedule(post, proc=self.name), [post])

    def receive(self) -> Steps[None]:
        answer = yield from self.ask(self.world.receive(2, proc=self.name))
        self.held += answer[2]

    def settle(self) -> Steps[None]:
        how = self.random.choice(["complete", "abandon", "defer", "dead_letter"])
        if self.held:
            one = self.held.pop()
            outs = [one] if how == "complete" else []
            yield from self.ask(self.world.settle(how, one.lock, proc=self.name), outs=outs)

    def transact(self) -> Steps[None]:
        keyed = [one for one in self.held if one.partition_key is not None]
        if not keyed:
            return
        one, world, txn = keyed[-1], self.world, f"{self.name} {self.posts}"
        self.held.remove(one)
        posts = self.posts_of(one.partition_key, 2)
        yield from self.ask(world.begin(txn))
        yield from self.ask(world.send(*posts, proc=self.name, txn=txn))
        yield from self.ask(world.settle("complete", one.lock, proc=self.name, txn=txn))
        yield from self.ask(world.commit(txn), posts, [one])


def killed(folder: Path, seed: int) -> list[str]:
    """A process that serves the clients until it is killed amid a write, and the lines that they wrote."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _serve(folder, seed, writing)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        lines = pipe.read().splitlines()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    return lines


def _serve(folder: Path, seed: int, writing: int) -> None:
    steps = iter(range(Random(seed).randrange(DIES_WITHIN), -1, -1))

    def step() -> None:
        if next(steps) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        world = opened(folder, seed)
        for file in files(world):
            file.db.set_progress_handler(step, 1)
        tell = lambda line: os.write(writing, f"{line}\n".encode())  # noqa: E731
        world.run(*(Client(world, f"c{n}", seed, tell).live() for n in range(CLIENTS)))
    finally:
        os._exit(0)


def contradicted(folder: Path, seed: int) -> str:
    """Kill a process; what a broker that starts on its files shows against what clients were told."""
    told = Told.read(killed(folder, seed))
    world = opened(folder, seed)
    dead, alive = peeked(world, dead_letters=True), peeked(world)
    there = {one.id for one in (*dead, *alive)}
    maybe = set[str]().union(*(outs for _, outs in told.unsure))
    lost = told.accepted - told.deleted - maybe - there
    back = told.deleted & there
    torn = [
        (ins, outs)
        for ins, outs in told.unsure
        if len(
            {*(name in there for name in ins - told.deleted - maybe), *(name not in there for name in outs)}
        )
        > 1
    ]
    world.do(world.send(*(Post(f"new {n}") for n in range(4))))
    told.note([(one.id, one.seq) for one in (*alive, *peeked(world))])
    told.note([(one.id, one.seq) for one in dead], dead_letters=True)
    closed(world)
    return " ".join(
        f"{word} {found}" for word, found in [("lost", lost), ("back", back), ("torn", torn)] if found
    )


def contradictions(folder: Path, seeds: Sequence[int]) -> Iterator[str]:
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        yield contradicted(place, seed)


@pytest.mark.parametrize("block", range(10))
def test_a_process_killed_amid_a_write_has_lost_nothing_that_it_answered(block: int, tmp_path: Path) -> None:
    """No message lost or back, no half of a transaction, no number twice."""
    seeds = range(block * KILLS, (block + 1) * KILLS)
    assert [found for found in contradictions(tmp_path, seeds) if found] == []


def test_answers_before_the_write_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def call(self: Any, operation: Any) -> Steps[Answer]:
        answer = yield from Connection.call(self, operation)
        self.broker.clock.spawn(_later(self.broker))
        return answer

    monkeypatch.setattr(durable.Writing, "call", call)
    assert any("lost" in found for found in contradictions(tmp_path, range(KILLS)))


def _later(broker: DurableBroker) -> Steps[None]:
    for _ in range(20):
        yield None
    broker.has_written()


def test_writes_that_are_not_one_transaction_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def write(self: File) -> None:
        for one in self.kept:
            one.write(self.db)
            one.is_written()

    monkeypatch.setattr(File, "write", write)
    assert any("torn" in found for found in contradictions(tmp_path, range(2 * KILLS)))
