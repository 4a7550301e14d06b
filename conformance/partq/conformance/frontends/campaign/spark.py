"""Spreading a campaign's chunks over Spark.

One task does one chunk, or a lane that may end early, and writes its files; a task that dies is done again,
to the same bytes. Spark is spoken to on threads of their own, so that the caller's thread only waits, and an
interrupt ends just that.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from partq.conformance.frontends.campaign import jvm
from partq.conformance.frontends.campaign.plan import Plan, Task
from partq.conformance.frontends.campaign.store import CampaignError, write_chunk
from partq.conformance.frontends.campaign.work import ChunkFailed, do_task

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.accumulators import AccumulatorParam

POLL: Final = 0.25
"""Seconds between looks at the progress."""

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Told (traces done, violations so far) now and then, the first time as the work begins."""


def execute(master: str, plan: Plan, tasks: Sequence[Task], out: Path, progress: Progress) -> None:
    """Do these tasks of the plan on that master, which is opened and closed. Raises `CampaignError` where
    Spark does not start, or a chunk can't be done."""
    opening = _Job(lambda: jvm.open_context(master))
    try:
        context = opening.result()
        spread(context, plan, tasks, out, progress)
    finally:
        with _uninterrupted():
            _Job(lambda: jvm.close(opening.result())).ended(2 * jvm.ENDING)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Nobody gets impatient meanwhile: `timeout` sends its signal twice."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def spread(context: SparkContext, plan: Plan, tasks: Sequence[Task], out: Path, progress: Progress) -> None:
    """Do these tasks of the plan on an open context. Raises `CampaignError` where a chunk can't be done."""
    folder = str(out.resolve())
    traces, violations = context.accumulator(0), context.accumulator(0)
    failure = context.accumulator("", _first_text())
    seed, length, exact = plan.seed, plan.length, plan.exact

    def do(task: Task) -> None:
        for result in do_task(task, seed, length, exact):
            if isinstance(result, ChunkFailed):
                failure.add(str(result))
                return
            write_chunk(Path(folder), result)
            traces.add(len(result.verdicts))
            violations.add(result.findings)

    job = _Job(lambda: context.parallelize(tasks, len(tasks)).foreach(do))
    progress(0, 0)
    while not job.ended(POLL) and not failure.value:
        progress(traces.value, violations.value)
    if failure.value:
        raise CampaignError(f"a chunk failed: {failure.value}")
    try:
        job.result()
    except Exception as error:
        raise CampaignError(_failure_text(error, context)) from error
    progress(traces.value, violations.value)


def _first_text() -> AccumulatorParam[str]:
    """For an accumulator that keeps one of the texts added to it."""
    from pyspark.accumulators import AccumulatorParam

    class FirstText(AccumulatorParam[str]):
        def zero(self, value: str) -> str:
            return ""

        def addInPlace(self, value1: str, value2: str) -> str:
            return value1 or value2

    return FirstText()


class _Job(Generic[T]):
    """An action on a thread of its own, so that the caller can watch."""

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


def _failure_text(error: Exception, context: SparkContext) -> str:
    """What of the chunks, or of Spark itself, failed for good."""
    text = str(error)
    found = re.search(rf"\b{ChunkFailed.__name__}: (.+)", text)
    if found or any(sign in text for sign in _FAILED):
        return f"a chunk failed {jvm.RETRIES} times: {found[1] if found else jvm.cause(error)}"
    if jvm.stopped(context):
        return f"Spark stopped: {context.master} does not answer, or not any more"
    return f"Spark failed: {jvm.cause(error)}"


_FAILED: Final = ("most recent failure", "PYTHON_EXCEPTION")
"""What Spark says when a task has failed too often."""
