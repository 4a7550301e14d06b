"""Campaigns on a standalone cluster, whose workers have nothing but the archive of the code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from campaign_commands import ARGS, dies_at, digest, fuzz
from standalone import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark"), pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the same campaign on this machine's own two cores."""
    folder = tmp_path_factory.mktemp("expected")
    return digest(fuzz(folder, "reference", *ARGS, "--out", "out", "--master", "local[2]"))


def test_a_cluster_needs_no_installation_and_comes_to_the_same(
    tmp_path: Path, cluster: Cluster, bare_python: str, expected: str
) -> None:
    on_it = ("--master", cluster.master, "--out", "out")
    assert digest(fuzz(tmp_path, "reference", *ARGS, *on_it, PYSPARK_PYTHON=bare_python)) == expected


INSTANTS = (
    "seen _staging/wave=0/_temporary/0/task_*",  # amid the first wave: workers go on without a driver
    "before Folder.create 2",  # all tables of it are there, the manifest is not
)
"""When sessions are killed, one after the other, each begun with `--resume`; `test_kills` has more."""


def test_a_campaign_that_is_killed_twice_comes_to_the_same_end(
    tmp_path: Path, cluster: Cluster, bare_python: str, expected: str
) -> None:
    again = ("reference", *ARGS, "--wave", "500", "--master", cluster.master, "--out", "out", "--resume")
    for instant in INSTANTS:
        dies_at(instant, tmp_path, *again, PYSPARK_PYTHON=bare_python)
    assert digest(fuzz(tmp_path, *again, PYSPARK_PYTHON=bare_python)) == expected


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


def test_a_worker_that_is_killed_is_done_without(tmp_path: Path, cluster: Cluster) -> None:
    text = MORTAL.format(mark=str(tmp_path / "died"), worker=cluster.workers[0].process.pid)
    (tmp_path / "deadly_cluster.py").write_text(text)
    run = ("deadly_cluster:Mortal", *ARGS, "--master")
    done = fuzz(tmp_path, *run, cluster.master, "--out", "out")
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


def test_a_task_that_is_done_twice_at_once_counts_once(tmp_path: Path, cluster: Cluster) -> None:
    attempts = tmp_path / "attempts"
    (tmp_path / "slow_cluster.py").write_text(SLOW.format(attempts=str(attempts)))
    conf = configured(
        tmp_path,
        speculation="true",
        speculation__multiplier="1.01",
        speculation__minTaskRuntime="2s",
    )
    run = ("slow_cluster:Slow", *ARGS, "--trace-timeout", "0", "--master")
    done = fuzz(tmp_path, *run, cluster.master, "--out", "out", SPARK_CONF_DIR=conf)
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


def test_another_python_on_the_executors_is_one_line(tmp_path: Path, cluster: Cluster) -> None:
    (tmp_path / "sitecustomize.py").write_text(OTHER)
    python = tmp_path / "python3.1"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    args = ("reference", *ARGS, "--out", "out", "--master")
    done = fuzz(tmp_path, *args, cluster.master, PYSPARK_PYTHON=str(python))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"partq: error: the executors have Python 3.1, this is Python 3.{sys.version_info.minor}: "
        "set PYSPARK_PYTHON to one of this minor version"
    )
    assert not (tmp_path / "out").exists()
