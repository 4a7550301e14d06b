"""Limits of what a worker's adapter may take: time for a trace, and processes that it leaves. No Spark here.

Its memory is limited by Spark (``spark.executor.pyspark.memory``). Native code that never returns is not
stopped.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from partq.conformance.adapters.questions import within

T = TypeVar("T")

CHILDREN: Final = 50
"""Processes that an adapter may have at the end of a trace."""


class TraceTimeout(BaseException):
    """A trace takes too long. No `Exception`, so that few catch it."""


class TooMany(Exception):
    """An adapter leaves too many processes. The text says so in one line."""


def each_within(seconds: float, results: Iterator[T]) -> Iterator[T]:
    """The results. `TraceTimeout` is raised amid the making of one that takes longer than so many seconds; 0:
    no limit."""
    while True:
        with within(seconds, TraceTimeout(f"no end after {seconds:g} s (--trace-timeout)")):
            try:
                result = next(results)
            except StopIteration:
                return
        yield result


def check_children(doing: str) -> None:
    """Raises `TooMany` where more than `CHILDREN` of this process's run, which is a worker's, after ending
    them. Where the system does not say (it does on Linux), all is well."""
    running = _children()
    if len(running) <= CHILDREN:
        return
    for child in running:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    raise TooMany(f"the adapter leaves {len(running)} processes running, after {doing}")


def _children() -> list[int]:
    """This process's, if the system says; whether there are any is asked first, which takes no time."""
    with suppress(OSError, AttributeError):  # there are none; there is no `waitid`
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        files = Path("/proc/self/task").glob("*/children")
        return [int(child) for file in files for child in file.read_text().split()]
    return []
