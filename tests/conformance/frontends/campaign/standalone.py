"""A standalone Spark cluster of this machine, and a Python that has what partq needs and not partq itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyspark

HOME = Path(pyspark.__path__[0])


class Daemon:
    """A process of Spark's, begun when it has said something."""

    def __init__(self, folder: Path, kind: str, *options: str, until: str) -> None:
        environment = {**os.environ, "SPARK_HOME": str(HOME)}
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


class Cluster(NamedTuple):
    """A master's URL, and its two workers of one core each."""

    master: str
    workers: list[Daemon]


@contextmanager
def cluster_in(folder: Path) -> Iterator[Cluster]:
    """A cluster that works in that folder. Its workers go by two host names, as Spark starts no second
    attempt of a task on the host that has the first."""
    started: list[Daemon] = []
    try:
        options = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        started.append(Daemon(folder, "master.Master", *options, until=r"Starting Spark master at (\S+)"))
        master = started[0].said[1]
        for host in ("127.0.0.1", "127.0.0.2"):
            options = ("-c", "1", "-m", "1g", "-d", str(folder / host), "--webui-port", "0", "--host", host)
            started.append(Daemon(folder, "worker.Worker", *options, master, until="Successfully registered"))
        yield Cluster(master, started[1:])
    finally:
        for daemon in reversed(started):
            daemon.kill()


def python_without_partq(folder: Path) -> str:
    """A Python in that folder with all packages of this one but partq."""
    venv.create(folder, symlinks=True)
    (there,) = folder.glob("lib/python*/site-packages")
    for package in HOME.parent.iterdir():
        if "partq" not in package.name:
            (there / package.name).symlink_to(package)
    python = str(folder / "bin" / "python")
    assert knows(python, "pyspark")
    assert not knows(python, "partq")
    return python


def knows(python: str, module: str) -> bool:
    """Whether that Python can import the module."""
    command = [python, "-c", f"import sys, importlib.util as u; sys.exit(u.find_spec({module!r}) is None)"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, cwd="/", env=environment, check=False).returncode == 0
