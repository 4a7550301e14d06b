"""Actions on threads of their own, so that somebody can watch, or several be done at once. No Spark here.

The threads are daemons: what hangs does not hold the process up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, Generic, TypeVar

T = TypeVar("T")

POLL: Final = 0.2
"""Seconds between two looks at whether an action has ended."""


class Job(Generic[T]):
    """An action, begun."""

    def __init__(self, action: Callable[[], T]) -> None:
        self._action = action
        self._ended = threading.Event()
        self._came: list[T] = []
        self._error: Exception | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def ended(self, seconds: float) -> bool:
        """Whether it has ended, after waiting for at most that long."""
        return self._ended.wait(seconds)

    def result(self) -> T:
        """What it answered, once it has ended. Raises what it raised."""
        while not self._ended.wait(POLL):
            pass
        if self._error is not None:
            raise self._error
        return self._came[0]

    def _run(self) -> None:
        try:
            self._came.append(self._action())
        except Exception as error:
            self._error = error
        finally:
            self._ended.set()


def together(action: Callable[[str], T], names: Iterable[str]) -> dict[str, T]:
    """What the action answers for each of the names, done for all at once. Raises what one of them raised,
    once all have ended."""
    jobs = {name: Job(partial(action, name)) for name in names}
    for job in jobs.values():
        while not job.ended(POLL):
            pass
    return {name: job.result() for name, job in jobs.items()}


def as_ended(jobs: Iterable[Job[T]], seconds: float) -> Iterator[T]:
    """What each job answers, in the order in which they end, until so many seconds are over. Raises what one
    of them raised."""
    left, end = list(jobs), time.monotonic() + seconds
    while left and time.monotonic() < end:
        ended = [job for job in left if job.ended(0)]
        yield from (job.result() for job in ended)
        left = [job for job in left if job not in ended]
        if left:
            left[0].ended(POLL)
