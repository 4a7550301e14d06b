"""Calls on an adapter outside of a run: how it is made, and what it says of itself.

Each is asked on a thread of its own, so that one that never returns ends the command and not the user's
patience, and whatever it raises, `SystemExit` included, is an error of the adapter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from traceback import format_exception_only
from typing import TypeVar

from partq.conformance.adapters.raised import place

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds that a call may take."""


class NoAnswer(Exception):
    """The adapter raised, or did not return in time. The text says what and where, in one line."""


def answer(call: Callable[[], T]) -> T:
    """What the call returns. Raises `NoAnswer`."""
    returned: list[T] = []
    raised: list[BaseException] = []

    def ask() -> None:
        try:
            returned.append(call())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=ask, name="partq-question", daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if raised:
        raise NoAnswer(_words(raised[0])) from raised[0]
    if not returned:
        raise NoAnswer(f"did not return within {PATIENCE:g} s")
    return returned[0]


def _words(error: BaseException) -> str:
    return f"{' '.join(''.join(format_exception_only(error)).split())}{place(error, ours=1)}"
