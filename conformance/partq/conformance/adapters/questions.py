"""Calls on an adapter outside of a run: how it is made, and what it says of itself.

Each is asked on a thread of its own, so that one that never returns ends the command and not the user's
patience, and whatever it raises, `SystemExit` included, is an error of the adapter.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import extract_tb, format_exception_only
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds that a call may take."""


@contextmanager
def within(seconds: float, late: BaseException) -> Iterator[None]:
    """Raises ``late`` amid what is done inside where that takes longer, on the main thread; where it is
    caught in there, again every second. 0: no limit. Native code is not stopped."""
    if not seconds or threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(number: int, frame: object) -> None:
        raise late

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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
    return f"{' '.join(''.join(format_exception_only(error)).split())}{place(error)}"


def place(error: BaseException) -> str:
    """`` (file:line)`` of the innermost frame of an exception, to be put after a text; empty where there is
    none but of this module, by which adapters are called and limits of their time raised."""
    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename != __file__]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
