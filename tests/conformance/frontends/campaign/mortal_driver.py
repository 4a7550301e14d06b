"""``partq`` that is killed at a given instant, and its Java with it: ``python mortal_driver.py INSTANT …``.

An instant is ``before`` or ``after`` the n-th call of a step (``before Folder.create 1``), or as soon as a
file of that pattern is ``seen`` in the campaign's folder, which is ``out`` (``seen _staging/wave=0/part-*``).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from itertools import count
from pathlib import Path
from typing import Any, Final

from partq.conformance.frontends.campaign.files import Folder
from partq.conformance.frontends.campaign.store import Store
from partq.conformance.frontends.cli.app import main

STEPS: Final = {"Folder": Folder, "Store": Store}


def die() -> None:
    """End the group of processes, as a machine that goes down does."""
    os.killpg(0, signal.SIGKILL)


def die_at(side: str, step: str, call: int) -> None:
    """Die before or after that call of the step."""
    owner, _, name = step.partition(".")
    inner, calls = getattr(STEPS[owner], name), count(1)

    def mortal(*arguments: Any) -> Any:
        now = next(calls) == call
        if now and side == "before":
            die()
        result = inner(*arguments)
        if now and side == "after":
            die()
        return result

    setattr(STEPS[owner], name, mortal)


def die_on_sight(pattern: str) -> None:
    """Die as soon as there is such a file."""

    def watch() -> None:
        pause = threading.Event()
        while not any(Path("out").glob(pattern)):
            pause.wait(0.001)
        die()

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    how, what, *call = sys.argv[1].split()
    if how == "seen":
        die_on_sight(what)
    else:
        die_at(how, what, int(call[0]))
    sys.exit(main(sys.argv[2:]))
