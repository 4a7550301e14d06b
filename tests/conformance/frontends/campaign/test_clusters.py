"""Campaigns on a standalone master whose workers have nothing but the archive of the code.

The workers go by two host names, as Spark starts no second attempt of a task on the host that has the first.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from campaign_commands import ARGS, digest, fuzz

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

HOME = Path(pyspark.__path__[0])


class Daemon:
    """A process of Spark's, begun when it has said something."""

    def __init__(self, folder: Path, kind: str, *options: str, until: str) -> None:
        environment = {**os.environ, "SPARK_HOME": str(HOME), "PYSPARK_PYTHON": sys.executable}
        environment.pop("PYTHONPATH", None)  # what a node has not
        self.process = subprocess.Popen(
            [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *options],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        lines = iter(self.process.stderr)
        self.said = next(found for line in lines if (found := re.search(until, line)))
        threading.Thread(target=lambda: all(True for _ in lines), daemon=True).start()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[Daemon]]]:
    """A master's URL, and its two workers of one core each."""
    started: list[Daemon] = []
    try:
        options = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        started.append(Daemon(tmp_path, "master.Master", *options, until=r"Starting Spark master at (\S+)"))
        master = started[0].said[1]
        for host in ("127.0.0.1", "127.0.0.2"):
            options = ("-c", "1", "-m", "1g", "-d", str(tmp_path / host), "--webui-port", "0", "--host", host)
            started.append(
                Daemon(tmp_path, "worker.Worker", *options, master, until="Successfully registered")
            )
        yield master, started[1:]
    finally:
        for daemon in reversed(started):
            daemon.kill()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the same campaign on this machine's own two cores."""
    folder = tmp_path_factory.mktemp("expected")
    return digest(fuzz(folder, "reference", *ARGS, "--out", "out", "--master", "local[2]"))


def test_a_cluster_needs_no_installation_and_comes_to_the_same(
    tmp_path: Path, cluster: tuple[str, list[Daemon]], expected: str
) -> None:
    master, _ = cluster
    done = fuzz(
        tmp_path, "reference", *ARGS, "--out", "out", "--master", master, PYSPARK_PYTHON=sys.executable
    )
    assert digest(done) == expected


def configured(folder: Path, **settings: str) -> str:
    """A ``SPARK_CONF_DIR`` with these settings, a dot for each ``__``."""
    conf = folder / "conf"
    conf.mkdir()
    lines = [f"spark.{name.replace('__', '.')} {value}\n" for name, value in settings.items()]
    (conf / "spark-defaults.conf").write_text("".join(lines))
    return str(conf)


MORTAL = """
import os, signal
from pathlib import Path
from partq.conformance.adapters.reference import Reference

class Mortal(Reference):
    def stage(self, program, on_event):
        mark = Path({mark!r})
        if program.steps and not mark.exists():
            mark.touch()
            os.kill({worker}, signal.SIGKILL)
        return super().stage(program, on_event)
"""


def test_a_worker_that_is_killed_is_done_without(tmp_path: Path, cluster: tuple[str, list[Daemon]]) -> None:
    master, workers = cluster
    text = MORTAL.format(mark=str(tmp_path / "died"), worker=workers[0].process.pid)
    (tmp_path / "deadly_cluster.py").write_text(text)
    run = ("deadly_cluster:Mortal", *ARGS, "--master")
    done = fuzz(tmp_path, *run, master, "--out", "out")
    assert (tmp_path / "died").exists()
    again = fuzz(tmp_path, *run, "local[2]", "--out", "again")
    assert digest(done) == digest(again)


SLOW = """
import os, time
from pathlib import Path
from partq.conformance.adapters.reference import Reference
from partq.conformance.workload.generator import trace_seed

class Slow(Reference):
    def stage(self, program, on_event):
        if program.seed == trace_seed(7, 519):
            attempts = Path({attempts!r})
            with attempts.open("a") as noted:
                noted.write(f"{{os.getpid()}}\\n")
            while len(attempts.read_text().splitlines()) < 2:
                time.sleep(0.05)
        return super().stage(program, on_event)
"""
"""Its last trace ends when it is run a second time."""


def test_a_task_that_is_done_twice_at_once_counts_once(
    tmp_path: Path, cluster: tuple[str, list[Daemon]]
) -> None:
    attempts = tmp_path / "attempts"
    (tmp_path / "slow_cluster.py").write_text(SLOW.format(attempts=str(attempts)))
    conf = configured(
        tmp_path,
        speculation="true",
        speculation__multiplier="1.01",
        speculation__minTaskRuntime="2s",
    )
    run = ("slow_cluster:Slow", *ARGS, "--master")
    done = fuzz(tmp_path, *run, cluster[0], "--out", "out", SPARK_CONF_DIR=conf)
    assert len(set(attempts.read_text().split())) == 2
    again = fuzz(tmp_path, *run, "local[2]", "--out", "again")
    assert digest(done) == digest(again)


OTHER = """
import sys
from pyspark import worker_util

class Other:
    version_info = (3, 1)

    def __getattr__(self, name):
        return getattr(sys, name)

worker_util.sys = Other()
"""
"""Lets a worker take itself for one of Python 3.1."""


def test_another_python_on_the_executors_is_one_line(
    tmp_path: Path, cluster: tuple[str, list[Daemon]]
) -> None:
    (tmp_path / "sitecustomize.py").write_text(OTHER)
    python = tmp_path / "python3.1"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    args = ("reference", *ARGS, "--out", "out", "--master")
    done = fuzz(tmp_path, *args, cluster[0], PYSPARK_PYTHON=str(python))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"partq: error: the executors have Python 3.1, this is Python 3.{sys.version_info.minor}: "
        "set PYSPARK_PYTHON to one of this minor version"
    )
    assert not (tmp_path / "out").exists()
