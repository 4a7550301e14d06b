"""What an adapter does without end is ended, and said in one line that names the trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from partq.conformance.adapters.reference import Reference
from partq.conformance.frontends.campaign import work
from partq.conformance.frontends.campaign.limits import TraceTimeout, each_within
from partq.conformance.frontends.campaign.plan import Chunk
from partq.conformance.frontends.campaign.work import ChunkFailed, do_chunk
from partq.conformance.frontends.cli.app import main

CHILDREN_FILE = Path(f"/proc/self/task/{os.getpid()}/children")
CHUNK = Chunk("mine:Mine", "azure-flat", 10, 4)


def endless(caught: bool) -> Iterator[int]:
    yield 1
    while True:
        try:
            while True:
                pass
        except TraceTimeout:
            if not caught:
                raise
            caught = False


@pytest.mark.parametrize("caught", [False, True])
def test_what_takes_too_long_is_ended_be_it_caught_once(caught: bool) -> None:
    each = each_within(0.05, endless(caught))
    assert next(each) == 1
    with pytest.raises(TraceTimeout, match=r"no end after 0\.05 s \(--trace-timeout\)"):
        next(each)


def test_without_a_limit_all_is_answered() -> None:
    assert list(each_within(0, iter("abc"))) == list(each_within(60, iter("abc"))) == ["a", "b", "c"]


class Mine(Reference):
    """The third trace does something that it must not."""

    begun = 0

    def stage(self, program, on_event):  # type: ignore[no-untyped-def]
        Mine.begun += 1
        if Mine.begun == 3:
            self.third()
        return super().stage(program, on_event)

    def third(self) -> None: ...


class Endless(Mine):
    def third(self) -> None:
        while True:
            pass


class Interrupting(Mine):
    def third(self) -> None:
        raise KeyboardInterrupt


class Hungry(Mine):
    def third(self) -> None:
        raise MemoryError


@pytest.mark.parametrize(
    ("broker", "told"),
    [
        (Endless, "Endless raised TraceTimeout: no end after 0.5 s (--trace-timeout)"),
        (Interrupting, "Interrupting raised KeyboardInterrupt"),
        (Hungry, "Hungry raised MemoryError"),
    ],
)
def test_the_trace_and_the_line_of_code_are_named(
    broker: type[Mine], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "open_broker", lambda name: broker())
    monkeypatch.setattr(Mine, "begun", 0)
    failed = do_chunk(CHUNK, 7, 2, limit=0.5)
    assert isinstance(failed, ChunkFailed)
    assert str(failed).startswith(f"a chunk failed: {told}")
    assert f"({__file__}:" in str(failed)
    assert str(failed).endswith(
        ", in trace 12; that trace alone: "
        "partq fuzz mine:Mine --trace 12 --seed 7 --profile azure-flat --length 2"
    )


def test_a_trace_alone_has_the_same_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "endless_alone.py").write_text(
        "from partq.conformance.adapters.reference import Reference\n\n\n"
        "class Mine(Reference):\n    def stage(self, program, on_event):\n        while True: pass\n"
    )
    monkeypatch.chdir(tmp_path)
    alone = ("fuzz", "endless_alone:Mine", "--trace", "3", "--profile", "azure-flat")
    assert main([*alone, "--trace-timeout", "0.5"]) == 2
    told = "partq: error: Mine raised TraceTimeout: no end after 0.5 s (--trace-timeout) ("
    assert capsys.readouterr().err.startswith(told)


LEAVING = """
import os
import signal
import subprocess
import sys
from partq.conformance.frontends.campaign import limits
limits.CHILDREN, children = 2, []
try:
    for _ in range(3):
        limits.check_children("trace 6")
        children.append(subprocess.Popen(["sleep", "600"]))
    limits.check_children("trace 7")
except limits.TooMany as error:
    print(error, *[child.wait(10) for child in children])
"""


@pytest.mark.skipif(not CHILDREN_FILE.exists(), reason="the system does not say what children there are")
def test_processes_that_are_left_are_counted_and_ended() -> None:
    """In a process of its own, as a worker is: this one has others."""
    ran = subprocess.run([sys.executable, "-c", LEAVING], capture_output=True, text=True, check=True)
    assert ran.stdout == "the adapter leaves 3 processes running, after trace 7 -9 -9 -9\n"


BOMB = """
import os
import resource
import signal
from partq.conformance.adapters.reference import Reference
from partq.conformance.frontends.campaign import work
from partq.conformance.frontends.campaign.plan import Chunk

tokens, ends = os.pipe()
os.write(ends, bytes(200))  # no more than so many, even if the limit were none
os.close(ends)

class Mine(Reference):
    def stage(self, program, on_event):
        first = os.getpid()
        try:
            while os.getuid() and os.read(tokens, 1):
                os.fork()
        finally:
            if os.getpid() != first:
                signal.alarm(60)
                signal.pause()
        return super().stage(program, on_event)

def failure():
    return work.do_chunk(Chunk("mine:Mine", "azure-flat", 10, 4), 7, 2)

work.open_broker = lambda name: Mine()
assert not isinstance(failure(), work.ChunkFailed)  # as root it does nothing; all is imported now
os.setgroups([])
os.setgid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (50, 50))
os.setuid(65534)
print(failure(), flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="only root can become a user of none")
def test_processes_that_start_processes_end_at_the_limit_of_the_system() -> None:
    """Under a limit that is set before, for a user who has no other processes: never without."""
    with subprocess.Popen(
        [sys.executable, "-c", BOMB], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as first:
        try:
            assert first.stdout is not None
            line = first.stdout.readline()
        finally:
            os.killpg(first.pid, signal.SIGKILL)
    assert line.startswith("a chunk failed: Mine raised BlockingIOError: ")
    assert ", in trace 10; " in line
