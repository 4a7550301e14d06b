"""Spark's Java side: whether it can be started here, its start, what it says meanwhile, and its end.

What a campaign does with Spark is `spark`'s business.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.jobs import Job, as_ended

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

JAVA: Final = 17
"""The oldest Java that Spark runs on."""

MAX_FAILURES: Final = "spark.task.maxFailures"
"""How often a chunk is tried before the campaign gives up."""

UNNAMED: Final = "pyspark-shell"
"""How Spark calls an application that nobody named."""

OPTIONS: Final = "SPARK_SUBMIT_OPTS"
"""Java's options in the environment, which come before those of ``spark.driver.extraJavaOptions``."""

NO_BAR: Final = ("spark.ui.showConsoleProgress", "false")
"""Spark's shells have it unless told at once; it would spoil our own."""

WORKER: Final = 2 * 2**30
"""Bytes of addresses that a local worker may have at least: some 20 times what it needs."""

ANSWERING: Final = 15.0
"""Seconds that a master has to take a connection, and then to answer `QUESTION`."""

NOBODY: Final = "nothing listens there"
"""Why an address is no master's: nothing takes a connection, or its name is not found in time."""

_FILE: Final = b"/files/partq"
QUESTION: Final = struct.pack(">qBi", 13 + len(_FILE), 6, len(_FILE)) + _FILE
"""A request for a file that no master has, as Spark writes it: length, kind (`StreamRequest`), name."""

ENDING: Final = 5.0
"""Seconds that Spark gets to stop, and Java to end."""

QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
"""Java's quick compiler alone, on one machine: Python does nearly all the work there, and with the other one
a campaign of 50 traces takes twice the processor time. With as much room for what is compiled as both have:
in what one alone gets, 48 MB, Java stops compiling after a minute of queries, and says so."""

UNASKED: Final = re.compile(
    r"(?:WARNING: Using incubator modules: jdk\.incubator\.vector|(?:Current|Setting) mem limits.*)?\s*"
)
"""What Java says of an option that Spark's launcher always gives it, and workers of their limit; there is no
option against either."""


FULL: Final = "No space left on device"
"""What a full disk says, somewhere in what Spark says."""

ERROR: Final = re.compile(
    r"(?:Error|Exception|Exit|Interrupt): (?!.*(?:Error|Exception|Exit|Interrupt): )(.+)"
)
"""Where a line names an error: what the last one named says."""

T = TypeVar("T")


def check(master: str) -> None:
    """Raises `CampaignError` where this machine has nothing to run Spark with, or nothing listens at the
    master's addresses, or no standalone master answers there, which Spark would try for minutes. All are
    asked at once, so that it takes no longer for many."""
    if submitted():
        return
    if problem := java_problem():
        raise CampaignError(problem)
    if addresses := _ADDRESS.findall(master):
        asked = partial(_silence, standalone=master.startswith("spark:"))
        why = NOBODY
        for why in as_ended([Job(partial(asked, *one)) for one in addresses], 2 * ANSWERING):
            if not why:
                return
        raise CampaignError(f"{master} does not answer: {why}")


_ADDRESS: Final = re.compile(r"(?<=[/,])([^/,:]+):(\d+)(?=,|$)")
"""A host and port in ``spark://one:7077,two:7077``."""


def _silence(host: str, port: str, standalone: bool) -> str:
    """Why that is no master's address; empty where it may be: one that wants encryption only hangs up, and
    others than standalone ones are not asked."""
    try:
        there = socket.create_connection((host, int(port)), ANSWERING)
    except (OSError, OverflowError):
        return NOBODY
    with there, suppress(ConnectionError):
        if not standalone:
            return ""
        there.sendall(QUESTION)
        with suppress(TimeoutError):
            if not there.recv(4096).startswith(b"HTTP/"):
                return ""
        return "what listens there is no Spark master"
    return ""


def submitted() -> bool:
    """Whether this process was started by `spark-submit`, whose Java and settings are taken then."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


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
        return f"cannot find out the version of {java}: {advice}"
    return None if int(found[1]) >= JAVA else f"{java} is Java {found[1]}, too old: {advice}"


def open_session(master: str) -> SparkSession:
    """A session on that master, or on that of `spark-submit`. The user's settings are kept. Local workers are
    of this interpreter, others of ``PYSPARK_PYTHON``, unless given of one at the same place. Raises
    `CampaignError` where Spark does not start or the master does not answer."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    local = master.startswith("local") and not submitted()
    _choose_python(local)
    hush()
    said, gateway = JavaOutput(), None
    logging_of_java = Path(__file__).with_name("log4j2.properties")
    quiet = f"-Dlog4j2.configurationFile={logging_of_java.as_uri()}"
    try:
        with _options(f"{quiet} {QUICK}" if local else quiet):
            chosen = SparkConf().setMaster(master).set(*NO_BAR)
            gateway = said.by(lambda end: launch_gateway(chosen, {"stderr": end}))  # type: ignore[no-untyped-call]
        context = SparkContext(conf=_completed(SparkConf(_jvm=gateway.jvm)), gateway=gateway)
    except Exception as error:
        why = cause(error)  # as Java says it, which is asked while it is there
        if gateway is not None:
            _end_java(gateway)
        raise CampaignError(f"Spark does not start on {master}: {said.reason() or why}") from error
    try:
        session = SparkSession(context)
    except Exception as error:
        _end_java(gateway)
        raise CampaignError(f"Spark stopped: {master} does not answer") from error
    said.pass_on()
    if not submitted():
        context.setLogLevel("OFF")
    # A worker that ends amid its report would be a traceback on standard error; the job reports its end.
    context._accumulatorServer.handle_error = lambda *request: None  # type: ignore[method-assign]
    return session


def _choose_python(local: bool) -> None:
    """Workers on this machine are of this interpreter, for it has what the command needs."""
    there = os.environ.get("PYSPARK_PYTHON", sys.executable)
    if local and there != sys.executable:
        print(
            f"partq: PYSPARK_PYTHON={there} is for clusters: local workers are of this Python",
            file=sys.stderr,
        )
    os.environ["PYSPARK_PYTHON"] = sys.executable if local else there
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


@contextmanager
def _options(ours: str) -> Iterator[None]:
    """Options for the Java that is started inside: before those of the user, who so has the last word."""
    before = os.environ.get(OPTIONS)
    os.environ[OPTIONS] = f"{ours} {before or ''}".strip()
    try:
        yield
    finally:
        os.environ.pop(OPTIONS)
        if before is not None:
            os.environ[OPTIONS] = before


def _completed(conf: SparkConf) -> SparkConf:
    """The user's settings, and ours where there is none."""
    master = conf.get("spark.master") or ""
    if conf.get("spark.app.name") in (None, UNNAMED):
        conf.setAppName("partq")
    for name, value in (_SETTINGS | (_local() if master.startswith("local") else {})).items():
        conf.setIfMissing(name, value)
    return conf.setMaster(_with_retries(master, conf.get(MAX_FAILURES)))


def hush() -> None:
    """Keep what Py4J logs off standard error: whatever it meets it raises, too. Some of it is logged to the
    root logger, which would print a traceback."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(lambda record: Path(record.pathname).parent.name != "py4j")


def errors() -> tuple[type[Exception], ...]:
    """What PySpark raises where Spark fails."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    return Py4JError, PySparkException


def cause(error: Exception) -> str:
    """What a Spark error says at last in its first line that names an error, or its first line. A full
    disk comes before all."""
    text = str(error).strip()
    if FULL in text:
        return FULL
    if found := ERROR.search(text):
        return found[1]
    return text.partition("\n")[0] or type(error).__name__


def speculates(session: SparkSession) -> bool:
    """Whether Spark may run a task twice at once."""
    return session.sparkContext.getConf().get("spark.speculation") == "true"


def stopped(context: SparkContext) -> bool:
    """Whether Spark has stopped by itself."""
    try:
        return bool(context._jsc.sc().isStopped())
    except Exception:
        return True


def death(session: SparkSession) -> str:
    """Why Java has ended by itself; empty where it has not. One that is about to is waited for."""
    if not stopped(session.sparkContext):
        return ""
    gateway: Any = session.sparkContext._gateway
    java: subprocess.Popen[bytes] | None = gateway.proc
    if java is None:  # it is spark-submit's, and ends this process, too
        return ""
    try:
        return _DEATHS.get(code := java.wait(ENDING), f"Spark's Java ended with exit code {code}")
    except subprocess.TimeoutExpired:
        return ""


_DEATHS: Final = {
    52: "Spark's Java ran out of memory: give it more with the environment's SPARK_DRIVER_MEMORY, such as 4g",
    -signal.SIGKILL: "Spark's Java was killed, as a machine does whose memory is full",
}
"""By its exit code, as Spark has them."""


def close(session: SparkSession) -> None:
    """End it and its Java, which takes what is running along. Raises nothing."""
    gateway = session.sparkContext._gateway
    with suppress(Exception):
        session.stop()
    _end_java(gateway)


def _end_java(gateway: Any) -> None:
    """PySpark keeps the way to its Java for the next context; as that Java ends here, so must its memory of
    it."""
    from pyspark import SparkContext

    java: subprocess.Popen[bytes] | None = gateway.proc
    if java is None:  # it is spark-submit's
        return
    SparkContext._gateway = SparkContext._jvm = None
    with suppress(OSError, subprocess.TimeoutExpired):
        if java.stdin is not None:
            java.stdin.close()  # what it takes for the end of its parent
        java.wait(ENDING)


class JavaOutput:
    """What Java and the workers say on standard error: kept until `pass_on`, then passed on, but for what is
    `UNASKED`."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._passing = False
        self._changes = threading.Lock()

    def by(self, start: Callable[[int], T]) -> T:
        """Whatever writes to the descriptor that ``start`` is given; what that answers."""
        reading, writing = os.pipe()
        self._reader = threading.Thread(target=self._read, args=(reading,), daemon=True)
        self._reader.start()
        try:
            return start(writing)
        finally:
            os.close(writing)

    def reason(self) -> str:
        """What it said of why it ended, if it did so."""
        self._reader.join(ENDING)
        return next((found[1] for line in self._lines if (found := ERROR.search(line))), "")

    def pass_on(self) -> None:
        """From now on say what it says, and what it has said."""
        with self._changes:
            self._passing = True
            sys.stderr.writelines(self._lines)

    def _read(self, reading: int) -> None:
        with open(reading, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                with self._changes:
                    if UNASKED.fullmatch(line):
                        continue
                    if self._passing:
                        sys.stderr.write(line)
                        sys.stderr.flush()
                    else:
                        self._lines.append(line)


def _with_retries(master: str, retries: object) -> str:
    """Local masters try a failed task only once by default: ``local[2]`` -> ``local[2,4]``."""
    if master == "local":
        return f"local[1,{retries}]"
    return re.sub(r"^local\[(\d+|\*)\]$", rf"local[\1,{retries}]", master)


def master(session: SparkSession) -> str:
    """The session's master as a user gives it."""
    return re.sub(r"^local\[([^,]+),.*", r"local[\1]", str(session.sparkContext.master))


_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    MAX_FAILURES: "4",
    "spark.sql.shuffle.partitions": "16",  # sums are few rows
    # By columns 4,096 rows are read at once; a violation bears its program, which may have a megabyte.
    "spark.sql.parquet.enableVectorizedReader": "false",
}
"""What is set unless the user does."""


def _local() -> dict[str, str]:
    """And on local masters: no address of this machine, and of its memory half for all workers together."""
    share = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // (2 * (os.cpu_count() or 1))
    memory = {"spark.executor.pyspark.memory": f"{max(share, WORKER) // 2**20}m"}
    return memory | {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
