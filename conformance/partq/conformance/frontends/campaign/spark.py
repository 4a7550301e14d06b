"""A campaign's traces on Spark: the session, and the job that does the units of a wave.

Spark is spoken to on threads of their own, so that the caller's thread only waits, and an interrupt ends just
that. Tasks write nothing: their rows go through Spark's own writer.
"""

from __future__ import annotations

import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from partq.conformance.frontends.campaign import archive, jvm
from partq.conformance.frontends.campaign.archive import Code
from partq.conformance.frontends.campaign.errors import CampaignError, SparkFailed
from partq.conformance.frontends.campaign.jobs import POLL, Job
from partq.conformance.frontends.campaign.plan import Plan
from partq.conformance.frontends.campaign.tables import STAGED, batches
from partq.conformance.frontends.campaign.work import ChunkFailed, do_unit
from partq.conformance.history import collector

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.accumulators import Accumulator, AccumulatorParam
    from pyspark.sql import SparkSession

TASKS: Final = 8
"""Tasks of a wave for each of Spark's cores, if it has as many units: a lost one costs little."""

SHORT: Final = 400
"""Tasks that a wave may have on however few cores, so that its progress shows."""

A = TypeVar("A")
T = TypeVar("T")


def is_local(master: str) -> bool:
    """Whether its workers are processes here, which import what is here."""
    return re.match(r"local(\[|$)", master) is not None


@contextmanager
def session(master: str, code: Code | None = None) -> Iterator[SparkSession]:
    """A session on that master, whose executors get the code, unless they are local. Raises `CampaignError`
    where Spark does not start."""
    with tempfile.TemporaryDirectory() as folder:
        opening = Job(lambda: _open(master, Path(folder), code or {}))
        try:
            yield opening.result()
        finally:
            with uninterrupted():
                Job(lambda: jvm.close(opening.result())).ended(2 * jvm.ENDING)


def _open(master: str, folder: Path, code: Code) -> SparkSession:
    """``folder``: where the archive of the code may lie, from which executors fetch it as they begin."""
    opened = jvm.open_session(master)
    if not is_local(jvm.master(opened)):
        opened.sparkContext.addPyFile(str(archive.write(code, folder / "partq.zip")))
    return opened


@contextmanager
def uninterrupted() -> Iterator[None]:
    """An interrupt inside is lost: an end takes seconds, and `timeout` sends its signal twice."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def watched(session: SparkSession, group: str, action: Callable[[], T], look: Callable[[], None]) -> T:
    """What the action answers, done on a thread of its own; ``look`` is called now and then meanwhile. What
    that raises, or an interrupt, cancels that group's jobs, also those to come. Raises `SparkFailed`."""
    job = Job(action)
    try:
        while not job.ended(POLL):
            look()
    except BaseException:
        with uninterrupted(), suppress(Exception):
            session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(group)
            job.ended(jvm.ENDING)
        raise
    try:
        return job.result()
    except Exception as error:
        if told := jvm.death(session):
            raise SparkFailed(told) from error
        if isinstance(error, jvm.errors()):
            raise SparkFailed(f"Spark failed: {jvm.cause(error)}") from error
        raise


def each(
    session: SparkSession, work: Callable[[A], T], several: Sequence[A], done: Accumulator[int]
) -> list[T]:
    """What ``work`` makes of each, in order, a task for each, which is counted when it is ``done``."""

    def counted(one: A) -> T:
        made = work(one)
        done.add(1)
        return made

    return session.sparkContext.parallelize(several, max(1, len(several))).map(counted).collect()


def wait_for_tasks(session: SparkSession) -> None:
    """Wait until no executor runs a task, `jvm.ENDING` seconds at the most: those of a job that failed write
    on until they hear of it."""
    tracker, end = session.sparkContext._jsc.sc().statusTracker(), time.monotonic() + jvm.ENDING
    while any(one.numRunningTasks() for one in tracker.getExecutorInfos()) and time.monotonic() < end:
        time.sleep(POLL)


class Tally:
    """What tasks report as they end, for display alone: one that is done again counts twice. ``failure``: why
    a chunk can't be done, or empty; ``lost``: the same of one whose broker was lost."""

    def __init__(self, session: SparkSession) -> None:
        context = session.sparkContext
        self.traces: Accumulator[int] = context.accumulator(0)
        self.violations: Accumulator[int] = context.accumulator(0)
        self.failure: Accumulator[str] = context.accumulator("", _first_text())
        self.lost: Accumulator[str] = context.accumulator("", _first_text())

    def check(self) -> None:
        """Raises `CampaignError` where a chunk can't be done."""
        if self.failure.value:
            raise CampaignError(self.failure.value)


def run_wave(
    session: SparkSession, plan: Plan, units: range, place: str, tally: Tally, tasks: int | None = None
) -> None:
    """Do these units of the plan and store their rows there, as columns `STAGED`; where a broker was lost,
    ``tally.lost`` says so, and units are missing. ``tasks``: at most so many at once. Raises `CampaignError`
    where a chunk can't be done."""
    tasks = min(len(units), tasks or max(SHORT, TASKS * session.sparkContext.defaultParallelism))
    done = partial(_do, plan, tally.traces, tally.violations, {False: tally.failure, True: tally.lost})
    ranges = session.range(units.start, units.stop, 1, tasks)
    try:
        ranges.mapInArrow(done, STAGED).write.mode("overwrite").parquet(place)
    except Exception as error:
        tally.check()
        if jvm.FULL in str(error):
            raise CampaignError(f"{place} can't be written: {jvm.FULL}") from error
        raise _failure(error, session) from error
    tally.check()


def _do(
    plan: Plan,
    traces: Accumulator[int],
    violations: Accumulator[int],
    failures: Mapping[bool, Accumulator[str]],
    units: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """One task: its units, by number, as batches of rows. ``failures``: where to report one, by whether the
    broker was lost."""
    plan.make_profiles_known()
    collector.leave_out()
    for batch in units:
        for index in batch.column(0).to_pylist():
            for result in do_unit(plan.unit(index), plan.seed, plan.length, plan.exact, plan.trace_timeout):
                if isinstance(result, ChunkFailed):
                    failures[result.lost].add(str(result))
                    return
                traces.add(len(result.verdicts))
                violations.add(result.findings)
                yield from batches(index, result.rows())


def _first_text() -> AccumulatorParam[str]:
    """For an accumulator that keeps one of the texts added to it."""
    from pyspark.accumulators import AccumulatorParam

    class FirstText(AccumulatorParam[str]):
        def zero(self, value: str) -> str:
            return ""

        def addInPlace(self, value1: str, value2: str) -> str:
            return value1 or value2

    return FirstText()


def _failure(error: Exception, session: SparkSession) -> CampaignError:
    """What of the chunks, or of Spark itself, failed for good."""
    text = str(error)
    if found := _VERSIONS.search(text):
        return CampaignError(
            f"the executors have Python {found[1]}, this is Python {found[2]}: set PYSPARK_PYTHON to one of "
            "this minor version"
        )
    if any(sign in text for sign in _FAILED):
        times = session.sparkContext.getConf().get(jvm.MAX_FAILURES)
        return CampaignError(f"a chunk failed {times} times: {jvm.cause(error)}")
    if jvm.stopped(session.sparkContext):
        return SparkFailed(f"Spark stopped: {session.sparkContext.master} does not answer, or not any more")
    return SparkFailed(f"Spark failed: {jvm.cause(error)}")


_VERSIONS: Final = re.compile(r"PYTHON_VERSION_MISMATCH\D*([\d.]+\d)\D*([\d.]+\d)")
"""What Spark says of executors with another Python."""

_FAILED: Final = ("most recent failure", "PYTHON_EXCEPTION")
"""What Spark says when a task has failed too often."""
