"""Actions on threads of their own, so that somebody can watch, or several be done at once. No Spark here.

The threads are daemons: what hangs does not hold the process up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, as_completed, wait
from contextlib import suppress
from functools import partial
from typing import Final, Generic, TypeVar

T = TypeVar("T")

POLL: Final = 0.2
"""Seconds between two looks at whether an action has ended."""


class Job(Generic[T]):
    """An action, begun."""

    def __init__(self, action: Callable[[], T]) -> None:
        self.future: Future[T] = Future()
        threading.Thread(target=self._run, args=(action,), daemon=True).start()

    def ended(self, seconds: float) -> bool:
        """Whether it has ended, after waiting for at most that long."""
        return bool(wait([self.future], seconds).done)

    def result(self) -> T:
        """What it answered, once it has ended. Raises what it raised."""
        while not self.ended(POLL):
            pass
        return self.future.result()

    def _run(self, action: Callable[[], T]) -> None:
        try:
            self.future.set_result(action())
        except BaseException as error:
            self.future.set_exception(error)


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
    with suppress(TimeoutError):
        for ended in as_completed([job.future for job in jobs], seconds):
            yield ended.result()
