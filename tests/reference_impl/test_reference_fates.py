"""Whatever clients and faults do at once, a message that was accepted has one fate: completed, expired, or
still there, in the queue, deferred, or in the dead-letter queue."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from world import Post, World, ids, outcome

from partq.reference_impl.broker import SECOND, Parts, Shown
from partq.reference_impl.clock import Steps
from partq.reference_impl.freedoms import Freedoms
from partq.reference_impl.mutants.registry import MUTANTS

ACTIONS = ("complete", "abandon", "defer", "dead_letter")
KEYS = ("k0", "k1", "k2")


class Fates:
    """Clients at work on a broker, and what is known of each message: ``sent``, ``done``, or ``doubtful``."""

    def __init__(self, seed: int, parts: Parts | None, **settings: Any) -> None:
        self.random = Random(seed)
        settings |= {"partitions": 2, "max_delivery_count": 2, "freedoms": Freedoms.campaign()}
        self.world = World(seed, parts, **settings)
        self.sent: set[str] = set()
        self.done: set[str] = set()
        self.doubtful: set[str] = set()
        self.seen: set[int] = set()

    def client(self, proc: str) -> Steps[None]:
        held: dict[str, Shown] = {}
        for turn in range(14):
            yield from self.world.sleep(self.random.randrange(20 * SECOND))
            if self.random.random() < 0.4:
                yield from self.send(proc, f"{proc}{turn}")
            elif held and self.random.random() < 0.6:
                yield from self.settle(proc, [held.pop(self.random.choice([*held]))])
            else:
                held |= {shown.lock: shown for shown in (yield from self.take(proc)) if shown.lock}

    def send(self, proc: str, name: str) -> Steps[None]:
        ttl = 60 * SECOND if self.random.random() < 0.2 else None
        post = Post(name, partition_key=self.random.choice(KEYS), ttl=ttl)
        sent = outcome((yield from self.world.send(post, proc=proc)))
        (self.sent if sent == "ok" and ttl is None else self.doubtful).add(name)

    def take(self, proc: str) -> Steps[list[Shown]]:
        if self.seen and self.random.random() < 0.4:
            return list(
                (yield from self.world.receive_deferred(self.random.choice(sorted(self.seen)), proc=proc))[2]
            )
        dead = self.random.random() < 0.3
        return list((yield from self.world.receive(2, proc=proc, dead_letters=dead))[2])

    def settle(self, proc: str, found: list[Shown]) -> Steps[None]:
        action, locks = self.random.choice(ACTIONS), [shown.lock or "" for shown in found]
        txn = f"t{locks[0]}" if self.random.random() < 0.3 else None
        if txn is not None:
            yield from self.world._call(proc, "begin", txn)
        ended = outcome((yield from self.world.settle(action, *locks, proc=proc, txn=txn)))
        if txn is not None:
            end = outcome(
                (yield from self.world._call(proc, self.random.choice(("commit", "rollback")), txn))
            )
            self.doubtful |= {shown.id for shown in found if action == "complete" and end != "not_found"}
        elif action == "complete":
            fate = {"ok": self.done, "lock_lost": set()}.get(ended, self.doubtful)
            fate |= {shown.id for shown in found}
        self.seen |= {shown.seq for shown in found if action == "defer" and shown.seq is not None}

    def trouble(self) -> Steps[None]:
        faults = self.world.broker.faults
        for _ in range(3):
            yield from self.world.sleep(self.random.randrange(60 * SECOND))
            index = self.random.randrange(2)
            kill = self.random.random() < 0.5
            yield from faults.broker_kill() if kill else faults.partition_down(index)
            yield from self.world.sleep(self.random.randrange(10 * SECOND))
            yield from faults.broker_start() if kill else faults.partition_up(index)

    def left(self) -> Steps[list[str]]:
        """What can be taken at the end, each message as often as it comes."""
        found: list[str] = []
        for _ in range(60):
            yield from self.world.sleep(35 * SECOND)
            for dead in (False, True):
                found += ids((yield from self.world.receive(9, delete=True, dead_letters=dead)))
            for shown in (yield from self.world.peek(number=0))[2]:
                if shown.state == "deferred":
                    for again in (yield from self.world.receive_deferred(shown.seq))[2]:
                        if outcome((yield from self.world.settle("complete", again.lock))) == "ok":
                            found.append(again.id)
        return found


def wrong(seed: int, parts: Parts | None = None) -> list[set[str]]:
    """Of what happens with this seed: what was found though it was completed, or never sent; what was found
    twice; what was lost."""
    fates = Fates(seed, parts, dead_letters_expired=seed % 2 == 0)
    fates.world.run(*map(fates.client, "abc"), fates.trouble())
    found = fates.world.do(fates.left())
    sure = set(found) - fates.doubtful
    twice = {name for name in sure if found.count(name) > 1}
    return [sure - (fates.sent - fates.done), twice, fates.sent - fates.done - fates.doubtful - sure]


@pytest.mark.parametrize("seed", range(60))
def test_a_message_has_one_fate(seed: int) -> None:
    assert wrong(seed) == [set(), set(), set()]


DEFECTS = ("dead-letter-lost", "kill-loses-dead-letters", "deferred-lost-on-expiry", "kill-loses-deferred")


@pytest.mark.parametrize("name", [*DEFECTS, "dead-letter-stays-too"])
def test_a_defect_is_noticed(name: str) -> None:
    assert any(any(wrong(seed, MUTANTS[name].parts)) for seed in range(60))
