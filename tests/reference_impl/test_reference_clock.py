"""The scheduler: what is random, what is not, and what time does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from partq.reference_impl.clock import FOREVER, HOP, Live, Simulation, Steps, Task


def _walk(name: str, trace: list[str], hops: int) -> Steps[None]:
    for n in range(hops):
        trace.append(f"{name}{n}")
        yield HOP


def _interleaving(seed: int) -> str:
    clock, trace = Simulation(seed), []
    for name in "abc":
        clock.spawn(_walk(name, trace, 4))
    clock.run()
    return " ".join(trace)


def test_a_seed_decides_the_order_and_other_seeds_find_other_orders() -> None:
    assert _interleaving(3) == _interleaving(3)
    assert len({_interleaving(seed) for seed in range(50)}) > 40


def test_every_interleaving_of_two_short_tasks_is_reachable() -> None:
    def order(seed: int) -> tuple[str, ...]:
        clock, trace = Simulation(seed), []
        clock.spawn(_walk("a", trace, 2))
        clock.spawn(_walk("b", trace, 2))
        clock.run()
        return tuple(trace)

    assert len({order(seed) for seed in range(200)}) == 6


def test_time_stands_while_somebody_can_go_on_and_jumps_otherwise() -> None:
    clock, seen = Simulation(1), []

    def sleeper(ns: int) -> Steps[None]:
        yield clock.now + ns
        seen.append((ns, clock.now))

    clock.spawn(sleeper(500))
    clock.spawn(sleeper(20))
    clock.spawn(_walk("x", [], 100))
    clock.run()
    assert seen == [(20, 20), (500, 500)]


def test_waking_comes_before_the_deadline_and_the_old_deadline_is_forgotten() -> None:
    clock, seen = Simulation(1), []

    def sleeper() -> Steps[None]:
        yield 1000
        seen.append(clock.now)
        yield FOREVER
        seen.append(clock.now)

    task = clock.spawn(sleeper())

    def waker() -> Steps[None]:
        yield 10
        clock.wake(task)
        yield 2000
        clock.wake(task)

    clock.spawn(waker())
    clock.run()
    assert seen == [10, 2000]


def test_waking_a_task_that_can_go_on_anyway_changes_nothing() -> None:
    clock, trace = Simulation(1), []
    task = clock.spawn(_walk("a", trace, 3))
    clock.wake(task)
    clock.wake(task)
    clock.run()
    assert trace == ["a0", "a1", "a2"]


def _victim(log: list[str], wait: Any) -> Steps[None]:
    try:
        yield wait
        log.append("done")
    except RuntimeError:
        log.append("hit")
        yield HOP
        log.append("went on")


@pytest.mark.parametrize("wait", [50, FOREVER])
def test_an_interrupt_strikes_where_the_task_waits_and_only_once(wait: int) -> None:
    clock, log = Simulation(1), []
    task = clock.spawn(_victim(log, wait))

    def striker() -> Steps[None]:
        while not task.parked:
            yield HOP
        clock.interrupt(task, RuntimeError())

    clock.spawn(striker())
    clock.run()
    assert log == ["hit", "went on"]


def test_an_interrupt_strikes_a_task_that_was_about_to_go_on() -> None:
    clock, log = Simulation(1), []
    task = clock.spawn(_victim(log, HOP))
    task.step(None)
    clock.interrupt(task, RuntimeError())
    clock.run()
    assert log == ["hit", "went on"]


def test_the_wall_clock_drives_the_same_coroutines() -> None:
    log: list[str] = []

    async def scene() -> str:
        clock = Live(seed=1, latency=0)

        def main() -> Steps[str]:
            victim: Task = clock.spawn(_victim(log, FOREVER))
            sleeper = clock.spawn(_walk("w", log, 2))
            for _ in range(5):
                yield HOP
            clock.interrupt(victim, RuntimeError())
            clock.wake(sleeper)
            before = clock.now
            yield before + 2_000_000
            assert clock.now >= before + 2_000_000
            return "over"

        return await clock.finish(main())

    assert asyncio.run(scene()) == "over"
    assert log == ["w0", "w1", "hit", "went on"]


def test_who_never_rests_is_cut_off() -> None:
    clock = Simulation(1)

    def spins() -> Steps[None]:
        while True:
            yield HOP

    def ticks() -> Steps[None]:
        while True:
            yield clock.now + 1

    for restless in (spins(), ticks()):
        clock = Simulation(1)
        clock.spawn(restless)
        assert clock.run(steps=1000) is False
    assert Simulation(1).run(steps=1) is True
