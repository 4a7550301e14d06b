"""Two clocks, one code: who decides which step runs next, and what time it is.

The broker's parts are generators. They wait by yielding, and on nothing else: `HOP` (None) is a message's
way through the network, a number is "park me until then, or until somebody wakes me". `Simulation` picks
the next step by its seed and jumps over the time in which nothing can happen; `Live` drives the same
generators on asyncio and the wall clock. Nothing here knows what a message is.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable, Generator
from random import Random
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")

Wait = int | None
Steps = Generator[Wait, None, T]
"""A coroutine of the broker: what it yields are waits, what it returns is the result."""

HOP: Final = None
"""Yield this for one message between two parts: any other task may run first."""

FOREVER: Final = 2**63
"""Park until woken."""

STEPS: Final = 500_000
"""The limit of steps in one run: programs take some five for each operation. What gets nowhere is cut off."""


class Task:
    """One running coroutine: ``step`` resumes it, ``parked`` says that it waits for a time or a wake-up."""

    __slots__ = ("parked", "step", "steps", "ticket")

    def __init__(self, steps: Steps[Any]) -> None:
        self.steps = steps
        self.step: Callable[[None], Wait] = steps.send
        self.parked = False
        self.ticket = 0

    def fail_next(self, error: BaseException) -> None:
        """Let the next step begin with this exception, where the coroutine waits now."""

        def throw(_: None) -> Wait:
            self.step = self.steps.send
            return self.steps.throw(error)

        self.step = throw


class Clock(Protocol):
    """What the broker's parts are given: the time in ns, a random generator, and tasks."""

    random: Callable[[], float]
    current: Task

    @property
    def now(self) -> int:
        """Nanoseconds of the one clock."""

    def spawn(self, steps: Steps[Any]) -> Task:
        """Run a coroutine beside the others."""

    def wake(self, task: Task) -> None:
        """Resume a parked task before its time."""

    def interrupt(self, task: Task, error: BaseException) -> None:
        """Raise the error in a task, where it waits."""


class Simulation:
    """Virtual time, and a seed that decides every race.

    Among the tasks that can go on one is picked at random, at every single step. Time jumps to the next
    deadline only when no task can go on; whoever records events may move ``now`` on to tell them apart.
    """

    __slots__ = ("_ready", "_ticket", "_timers", "current", "now", "random")

    def __init__(self, seed: int, start: int = 0) -> None:
        self.now = start
        self.random = Random(seed).random
        self._ready: list[Task] = []
        self._timers: list[tuple[int, int, Task]] = []
        self._ticket = 0
        self.current: Task = Task(_nothing())

    def spawn(self, steps: Steps[Any]) -> Task:
        """Run a coroutine beside the others."""
        task = Task(steps)
        self._ready.append(task)
        return task

    def wake(self, task: Task) -> None:
        """Resume a parked task before its time."""
        if task.parked:
            task.parked = False
            self._ready.append(task)

    def interrupt(self, task: Task, error: BaseException) -> None:
        """Raise the error in a task, where it waits."""
        task.fail_next(error)
        self.wake(task)

    def run(self, steps: int = STEPS) -> bool:
        """Run until no task can go on by itself. False if the limit of steps came first."""
        ready, random = self._ready, self.random
        for _ in range(steps):
            if not ready and not self._jump():
                return True
            pick = int(random() * len(ready)) if len(ready) > 1 else 0
            task = self.current = ready[pick]
            try:
                wait = task.step(None)
            except StopIteration:
                wait = -1
            if wait is None:
                continue
            last = ready.pop()
            if last is not task:
                ready[pick] = last
            if wait >= 0:
                self._park(task, wait)
        return False

    def _park(self, task: Task, until: int) -> None:
        task.parked = True
        self._ticket += 1
        task.ticket = self._ticket
        if until < FOREVER:
            heapq.heappush(self._timers, (until, self._ticket, task))

    def _jump(self) -> bool:
        """Jump to the next deadline; False if there is none."""
        timers, ready = self._timers, self._ready
        while timers and (not ready or timers[0][0] <= self.now):
            until, ticket, task = heapq.heappop(timers)
            if task.parked and task.ticket == ticket:
                self.now = max(self.now, until)
                task.parked = False
                ready.append(task)
        return bool(ready)


def _nothing() -> Steps[None]:
    return
    yield


class Live:
    """The wall clock: the same tasks on a running asyncio loop.

    ``clock`` tells the time in ns. ``latency``: how long a hop takes at most, in seconds; each one takes as
    long as chance has it, so that races happen.
    """

    def __init__(
        self, clock: Callable[[], int] = time.monotonic_ns, seed: int | None = None, latency: float = 0.001
    ) -> None:
        self.random = Random(seed).random
        self.latency = latency
        self._clock = clock
        self.current: Task = Task(_nothing())
        self._wakers: dict[Task, asyncio.Event] = {}
        self._running: set[asyncio.Task[Any]] = set()

    @property
    def now(self) -> int:
        """Nanoseconds of the one clock."""
        return self._clock()

    def spawn(self, steps: Steps[Any]) -> Task:
        """Run a coroutine beside the others. Call it on the loop's thread."""
        task = Task(steps)
        self._keep(asyncio.ensure_future(self._drive(task)))
        return task

    async def finish(self, steps: Steps[T]) -> T:
        """Run a coroutine to its end and give its result, or raise its error."""
        return await self._drive(Task(steps))  # type: ignore[no-any-return]

    def wake(self, task: Task) -> None:
        """Resume a parked task before its time."""
        waker = self._wakers.get(task)
        if waker is not None:
            waker.set()

    def interrupt(self, task: Task, error: BaseException) -> None:
        """Raise the error in a task, where it waits."""
        task.fail_next(error)
        self.wake(task)

    def _keep(self, running: asyncio.Task[Any]) -> None:
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def _drive(self, task: Task) -> Any:
        waker = self._wakers[task] = asyncio.Event()
        try:
            while True:
                self.current = task
                wait = task.step(None)
                await self._wait(waker, wait)
        except StopIteration as stop:
            return stop.value
        finally:
            del self._wakers[task]

    async def _wait(self, waker: asyncio.Event, wait: Wait) -> None:
        if wait is None:
            await asyncio.sleep(self.random() * self.latency)
            return
        waker.clear()
        seconds = None if wait >= FOREVER else max(0.0, (wait - self.now) / 1e9)
        try:
            await asyncio.wait_for(waker.wait(), seconds)
        except TimeoutError:
            return
