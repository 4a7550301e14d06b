"""Spreading a campaign's chunks over Spark. The only place that talks to pyspark.

One task does one chunk and writes its files; a task that dies is done again, to the same bytes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .plan import Chunk, Plan
from .store import CampaignError, write_chunk
from .work import run_chunk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA: Final = 17
"""The oldest Java that Spark runs on."""

RETRIES: Final = 4
"""How often a chunk is tried before the campaign gives up."""

POLL: Final = 0.25
"""Seconds between looks at the progress."""

Progress = Callable[[int, int], None]
"""Told (traces done, violations so far) now and then."""


def java_problem() -> str | None:
    """One line that says what is wrong with this machine's Java, or None if it will do."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    advice = f"install a Java runtime {JAVA} or newer (Debian, Ubuntu: openjdk-{JAVA}-jre-headless)"
    if java is None:
        return f"no Java found{' under JAVA_HOME=' + home if home else ''}: {advice}"
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', printed)
    if found is None:
        return f"cannot tell the version of {java}: {advice}"
    return None if int(found[1]) >= JAVA else f"{java} is Java {found[1]}, too old: {advice}"


def open_session(master: str) -> SparkSession:
    """A session on that master, quiet, with this interpreter for its workers. Raises `CampaignError` where
    Java or Spark is missing or the master does not answer."""
    problem = java_problem()
    if problem:
        raise CampaignError(problem)
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise CampaignError("pyspark is not installed: pip install 'partq[spark]'") from None
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName("partq").master(_with_retries(master))
    for name, value in _settings(master).items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        first = str(error).strip().splitlines()[0]
        raise CampaignError(f"Spark does not start on {master}: {first}") from error
    session.sparkContext.setLogLevel("OFF")
    return session


def _with_retries(master: str) -> str:
    """Local masters try a failed task only once unless told otherwise: ``local[2]`` -> ``local[2,4]``."""
    if master == "local":
        return f"local[1,{RETRIES}]"
    return re.sub(r"^local\[([^,\]]+)\]$", rf"local[\1,{RETRIES}]", master)


def _settings(master: str) -> dict[str, str]:
    quiet = Path(__file__).with_name("log4j2.properties")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.task.maxFailures": str(RETRIES),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={quiet.as_uri()}",
    }
    if master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def execute(
    session: SparkSession, plan: Plan, chunks: Sequence[Chunk], out: Path, progress: Progress
) -> None:
    """Do these chunks of the plan on the executors. Raises `CampaignError` where one keeps failing."""
    if not chunks:
        return
    context = session.sparkContext
    traces, violations = context.accumulator(0), context.accumulator(0)
    folder, seed, length, todo = str(out.resolve()), plan.seed, plan.length, tuple(chunks)

    def do(chunk: Chunk) -> None:
        result = run_chunk(chunk, seed, length)
        write_chunk(Path(folder), result)
        traces.add(len(result.verdicts))
        violations.add(result.findings)

    job = _Job(lambda: context.parallelize(todo, len(todo)).foreach(do))
    while not job.wait(POLL):
        progress(traces.value, violations.value)
    progress(traces.value, violations.value)
    if job.error is not None:
        raise CampaignError(f"a chunk failed {RETRIES} times: {_cause(job.error)}") from job.error


class _Job:
    """An action on a thread of its own, so that the caller can watch."""

    def __init__(self, action: Callable[[], Any]) -> None:
        self._action = action
        self._ended = threading.Event()
        self.error: Exception | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, after waiting for at most that long."""
        return self._ended.wait(seconds)

    def _run(self) -> None:
        try:
            self._action()
        except Exception as error:
            self.error = error
        finally:
            self._ended.set()


def _cause(error: Exception) -> str:
    """The last line of the Python traceback inside a Spark error, or its first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"^[\w.]+(Error|Exception|Exit|Interrupt)\b", line)]
    return (named or lines or [type(error).__name__])[0]
