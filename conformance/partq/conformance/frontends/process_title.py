"""The command line as other users of the machine see it (``ps``), without the secrets of URLs."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from partq.conformance.adapters.names import public_name

_STAT: Final = Path("/proc/self/stat")
_PLACE: Final = slice(45, 47)
"""Where the arguments begin and end, of the fields of ``stat`` after the program's name (proc(5): 48, 49)."""


def hide_secrets(arguments: Sequence[str] = sys.orig_argv) -> None:
    """Overwrite in memory the arguments that hold a secret. Where the system does not say where they are (it
    does on Linux), they stay."""
    secret = [argument for argument in arguments if public_name(argument) != argument]
    if not secret or not _STAT.exists():
        return
    begin, end = map(int, _STAT.read_text(encoding="utf-8").rpartition(")")[2].split()[_PLACE])
    shown = ctypes.string_at(begin, end - begin)
    for argument in secret:
        hidden = argument.encode(errors="surrogateescape")
        public = public_name(argument).encode(errors="surrogateescape")
        shown = shown.replace(hidden, public[: len(hidden)].ljust(len(hidden), b"*"))
    ctypes.memmove(begin, shown, len(shown))
