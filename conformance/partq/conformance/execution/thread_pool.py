"""Several tasks at once, on threads, because they mostly wait. Knows nothing of brokers or programs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from queue import SimpleQueue
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
    ends: SimpleQueue[tuple[int, T | None, BaseException | None]] = SimpleQueue()
    todo: SimpleQueue[tuple[int, Task[T]] | None] = SimpleQueue()
    workers = [_worker(todo, ends, stop, number) for number in range(min(jobs, len(tasks)))]
    for item in (*enumerate(tasks), *(None for _ in workers)):
        todo.put(item)
    try:
        for worker in workers:
            worker.start()
        for _ in tasks:
            number, result, error = ends.get()
            if error is not None:
                raise error
            yield number, result  # type: ignore[misc]  # a result where there is no error
    finally:
        stop.ask()
        for worker in workers:
            worker.join()


def _worker(
    todo: SimpleQueue[tuple[int, Task[T]] | None],
    ends: SimpleQueue[tuple[int, T | None, BaseException | None]],
    stop: Stop,
    number: int,
) -> threading.Thread:
    """A thread that does what is to be done until it is stopped or there is nothing more. Not started."""

    def work() -> None:
        while (item := todo.get()) is not None and not stop.asked:
            try:
                ends.put((item[0], item[1](stop), None))
            except BaseException as error:
                ends.put((item[0], None, error))

    return threading.Thread(target=work, name=f"partq-job-{number + 1}", daemon=True)
