"""What belongs to the process that runs a command: its descriptors, crashes, and the processes it leaves.

Nothing here knows the commands. Who calls `app.main` with arguments keeps a process of their own as it is.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final

from partq.conformance.frontends.process_title import hide_secrets

_MODES: Final = ("r", "w", "w")
"""How each standard descriptor is opened."""


@contextmanager
def own() -> Iterator[None]:
    """The process is ours meanwhile: its command line shows no secret, a crash of native code says where it
    was, and what is written to descriptor 1, by native code and other processes too, goes to standard
    error."""
    hide_secrets()
    _open_what_is_closed()
    if not faulthandler.is_enabled():
        faulthandler.enable()
    sys.stdout.flush()
    sys.stdout = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout = sys.stderr


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
