"""Several tasks at once, on threads, because they mostly wait. Knows nothing of brokers or programs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from partq.conformance.execution.cancellation import Stop

T = TypeVar("T")
Task = Callable[[Stop], T]
"""Something to be done that ends soon, by an exception, when the `Stop` is asked."""


def completed(tasks: Sequence[Task[T]], jobs: int) -> Generator[tuple[int, T], None, None]:
    """Each task's number and result as it ends, at most so many at once, begun in the order given.

    What a task raises is raised here, and the others are stopped; so they are when the iterator is closed,
    which waits until they have ended. One job is done by the caller's own thread.
    """
    stop = Stop()
    if jobs == 1:
        for number, task in enumerate(tasks):
            yield number, task(stop)
        return
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="partq-job")
    try:
        numbers = {pool.submit(task, stop): number for number, task in enumerate(tasks)}
        for ended in as_completed(numbers):
            yield numbers[ended], ended.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        stop.ask()
        pool.shutdown()
