"""What belongs to the process that runs a command: its descriptors, crashes, and the processes it leaves.

Nothing here knows the commands. Who calls `app.main` with arguments keeps a process of their own as it is.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from partq.conformance.frontends.cli.streams import console
from partq.conformance.frontends.process_title import hide_secrets

MOMENT: Final = 2.0
"""Seconds that a process has to end when it is asked to."""

PERIOD: Final = 0.02
"""Seconds from one look at whether it has to the next."""

_MODES: Final = ("r", "w", "w")
"""How each standard descriptor is opened."""


@contextmanager
def own() -> Iterator[None]:
    """The process is ours meanwhile: its command line shows no secret, a crash of native code says where it
    was, and what is written to descriptor 1, by native code and other processes too, goes to standard
    error; what the encoding of standard output lacks is a question mark there. At the end what is left of
    the processes that were started is ended; a fork of this one writes no results."""
    hide_secrets()
    _open_what_is_closed()
    if not faulthandler.is_enabled():
        faulthandler.enable()
    sys.stdout.flush()
    sys.stdout = results = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors="replace")
    os.dup2(2, 1)
    os.register_at_fork(after_in_child=lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), results.fileno()))
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
    console.print(f"partq: ends what the adapter left running: {named}", markup=False, soft_wrap=True)
    for signal_, seconds in ((signal.SIGTERM, MOMENT), (signal.SIGKILL, MOMENT)):
        for number in _children().keys() & left.keys():
            with suppress(ProcessLookupError):
                os.kill(number, signal_)
        end = time.monotonic() + seconds
        while _children().keys() & left.keys() and time.monotonic() < end:
            time.sleep(PERIOD)


def _open_what_is_closed() -> None:
    """Open the null device for each standard descriptor that is closed: the next file opened would be it."""
    for number, (name, mode) in enumerate(zip(("stdin", "stdout", "stderr"), _MODES, strict=True)):
        if getattr(sys, name) is None:
            setattr(sys, name, _nowhere(number, mode))


def _nowhere(number: int, mode: str) -> IO[str]:
    """The null device, as that descriptor."""
    opened = os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return open(number, mode)
