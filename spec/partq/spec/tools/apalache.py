"""Apalache run on one command, and what it answers.

The program is the user's own (`toolbox.apalache`). What it is asked is `checking.manifest`'s business.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from partq.spec import MODULES

from .toolbox import apalache, ran

HEAP: Final = "-Xmx3g"
"""Java's heap, unless the user's ``JVM_ARGS`` says otherwise. Z3 takes its memory beside it."""


class Outcome(StrEnum):
    """How a command ended."""

    OK = "ok"
    COUNTEREXAMPLE = "counterexample"
    ERROR = "error"


_CODES: Final[Mapping[int, tuple[Outcome, str]]] = {
    0: (Outcome.OK, ""),
    12: (Outcome.COUNTEREXAMPLE, ""),
    75: (Outcome.ERROR, "cannot evaluate the specification"),
    120: (Outcome.ERROR, "type error"),
    150: (Outcome.ERROR, "parse error"),
    255: (Outcome.ERROR, "failed"),
}
"""Its exit codes (`ExitCodes.scala`): what each says, and of an error in which stage it is."""

_VERSION: Final = re.compile(r"^# APALACHE version: (\S+)", re.M)
_ERROR: Final = re.compile(r"^(.*?)\s+E@[\d:.]+$", re.M)


class Answer(NamedTuple):
    """What one command came to. ``error``: why there is no answer, in one line. ``version``: of Apalache, as
    it prints it; empty where it printed none."""

    outcome: Outcome
    error: str = ""
    version: str = ""


def run(words: Sequence[str], folder: Path, timeout: float | None = None, modules: Path = MODULES) -> Answer:
    """Run one command (``check``, ``simulate``, ``typecheck`` with its options and module) to its end.

    ``folder``: where its files go, counterexamples and traces among them. ``timeout``: seconds, after which
    it is an error. ``modules``: the folder in which modules are looked up beside the given one's own.

    Raises `ToolMissing`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        done = ran(command(words, folder), cwd=modules, env=environment(folder), timeout=timeout)
    except subprocess.TimeoutExpired:
        return Answer(Outcome.ERROR, f"Apalache did not end within {timeout:g} s")
    return read_answer(done.returncode, done.stdout + done.stderr)


def command(words: Sequence[str], folder: Path) -> list[str]:
    """The command line for one of its commands, whose files go to ``folder``. Raises `ToolMissing`."""
    return [apalache(), *words[:1], f"--run-dir={folder}", f"--out-dir={folder / 'runs'}", *words[1:]]


def environment(folder: Path) -> dict[str, str]:
    """The environment it runs in: temporary files in ``folder``, and a heap that leaves memory to others."""
    return {"JVM_ARGS": HEAP, **os.environ, "TMPDIR": str(folder)}


def read_answer(code: int, output: str) -> Answer:
    """What an exit code and all that was printed say."""
    outcome, stage = _CODES.get(code, (Outcome.ERROR, f"ended with exit code {code}"))
    said = _ERROR.findall(output) if outcome is Outcome.ERROR else []
    error = ": ".join(filter(None, (stage, said[0].strip() if said else "")))
    return Answer(outcome, error, version(output))


def version(output: str) -> str:
    """Apalache's version, as it prints it; empty where it printed none."""
    found = _VERSION.search(output)
    return found[1] if found else ""
