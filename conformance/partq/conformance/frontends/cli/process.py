"""What belongs to the process that runs a command: its last word, its descriptors, crashes, and the processes
it leaves.

Nothing here knows the commands. Who calls `app.main` with arguments keeps a process of their own as it is.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from partq.conformance.frontends.cli.streams import note
from partq.conformance.frontends.process_title import hide_secrets
from partq.conformance.verdict import Exit

MOMENT: Final = 2.0
"""Seconds that a process has to end when it is asked to."""

PERIOD: Final = 0.02
"""Seconds from one look at whether it has to the next."""

AT_ONCE: Final = 0.5
"""Seconds within which two interrupts are one."""

_PASSED_ON: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_PARENT_DEATH: Final = 1
"""The option of prctl(2) that asks for a signal at the parent's end."""


def answered(command: Callable[[], int]) -> int:
    """The exit code that the command answers. It is done by a child of this process, which waits for its
    answer: whatever ends the child before, with whatever exit code (an adapter's `os._exit`, at its import
    even), the command did not end."""
    hide_secrets()
    _open_what_is_closed()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)  # who else has the other end, does not matter
    parent = os.getpid()
    child = os.fork()
    if child:
        os.close(writing)
        return _outcome(_ended(child), reading)
    _end_with(parent)
    _take_one_interrupt_for_two()
    _not_in_forks(writing)
    code = command()
    os.write(writing, bytes([code]))
    return code


def _ended(child: int) -> int:
    """The child's status, once it has ended. Signals that this process gets are the child's."""

    def pass_on(number: int, frame: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, number)

    for number in _PASSED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    return os.waitpid(child, 0)[1]


def _outcome(status: int, reading: int) -> int:
    with suppress(BlockingIOError):
        if word := os.read(reading, 1):
            return word[0]
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        with suppress(OSError):  # nobody handles SIGKILL
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    told = f"something that it called, such as the adapter, ended the process (exit code {code})"
    note(f"partq: error: the command did not end: {told}")
    return Exit.BAD_INPUT


def _end_with(parent: int) -> None:
    """End when the parent is killed, where the system can do so (Linux can)."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(Exit.BAD_INPUT)


def _take_one_interrupt_for_two() -> None:
    """A terminal sends one to both processes, and the parent passes its own on."""
    last = -MOMENT

    def interrupted(number: int, frame: object) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before >= AT_ONCE:
            raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupted)


def _not_in_forks(descriptor: int) -> None:
    """What a fork of this process writes there is lost."""
    os.register_at_fork(
        after_in_child=lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor, inheritable=False)
    )


@contextmanager
def own() -> Iterator[None]:
    """The process is ours meanwhile: a crash of native code says where it was, and what is written to
    descriptor 1, by native code and other processes too, goes to standard error; what the encoding of
    standard output lacks is a question mark there. At the end what is left of the processes that were started
    is ended; a fork of this one writes no results."""
    if not faulthandler.is_enabled():
        faulthandler.enable()
    sys.stdout.flush()
    sys.stdout = results = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors="replace")
    os.dup2(2, 1)
    _not_in_forks(results.fileno())
    try:
        yield
    finally:
        sys.stdout = sys.stderr
        _end_children()


def _children() -> dict[int, str]:
    """The processes that this one started and that still run in its process group, by number, with their
    names. One that is meant to outlive the command has a session of its own. None where the system does not
    say (it does on Linux)."""
    found, mine = {}, (str(os.getpid()), str(os.getpgrp()))
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            about, _, rest = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")
            state, parent, group = rest.split()[:3]
            if (parent, group) == mine and state != "Z":
                number, _, name = about.partition(" (")
                found[int(number)] = name
    return found


def _end_children() -> None:
    """End the processes that an adapter left, which would hold what they inherited, such as a pipe."""
    left = _children()
    if not left:
        return
    named = ", ".join(f"{name} ({number})" for number, name in left.items())
    note(f"partq: ends what the adapter left running: {named}")
    for signal_, seconds in ((signal.SIGTERM, MOMENT), (signal.SIGKILL, MOMENT)):
        for number in _children().keys() & left.keys():
            with suppress(ProcessLookupError):
                os.kill(number, signal_)
        end = time.monotonic() + seconds
        while _children().keys() & left.keys() and time.monotonic() < end:
            time.sleep(PERIOD)


def _open_what_is_closed() -> None:
    """Open the null device for each standard descriptor that is closed: the next file opened would be it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_WRONLY if number else os.O_RDONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))
