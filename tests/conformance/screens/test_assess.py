"""`inspect`: a screen that crashes or takes too long leaves its rows open; what it borrows it gives back."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import pytest

from partq.conformance.facts.index import Facts
from partq.conformance.history import Header, History, Record
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.protocol import Report, Screen

HISTORY = History(Header("azure-flat"), (Record(0, "a", "receive", "queue", 1, 2, {"max": 1}),))
QUIET = Screen("quiet", ("RCV-1",), lambda facts: Report())


@pytest.fixture
def timer() -> Iterator[Callable[[float], list[int]]]:
    """Sets a timer of the process, as a test runner does; gives the list that it adds to when it ends."""
    handler = signal.getsignal(signal.SIGALRM)
    before = signal.setitimer(signal.ITIMER_REAL, 0)
    ended: list[int] = []

    def start(seconds: float) -> list[int]:
        signal.signal(signal.SIGALRM, lambda signum, frame: ended.append(signum))
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return ended

    yield start
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, *before)


def endless(facts: Facts) -> Report:
    while True:
        pass


def crash(facts: Facts) -> Report:
    raise ZeroDivisionError("of the screen")


@pytest.mark.parametrize(
    ("check", "reason"),
    [(endless, "ScreenTimeout: no verdict within 0.01 s"), (crash, "ZeroDivisionError: of the screen")],
)
def test_screen_without_a_verdict(check: Callable[[Facts], Report], reason: str) -> None:
    inspection = inspect(HISTORY, (Screen("odd", ("RCV-1",), check), QUIET), limit=0.01)
    assert inspection.open == {"RCV-1": f"screen odd: {reason}"}


class Slow(dict[str, int]):
    """Takes 50 ms to be looked through."""

    def items(self) -> Any:
        end = monotonic() + 0.05
        while monotonic() < end:
            pass
        return super().items()


def test_the_time_after_a_screen_is_not_the_screen_s() -> None:
    report = Report(exercised=Slow({"RCV-1": 3}))
    inspection = inspect(HISTORY, (Screen("quick", ("RCV-1",), lambda facts: report), QUIET), limit=0.01)
    assert inspection.exercised == {"RCV-1": 3}
    assert not inspection.open


def test_timer_of_others_goes_on(timer: Callable[[float], list[int]]) -> None:
    ended = timer(1000)
    inspect(HISTORY, (QUIET,))
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    assert 900 < left <= 1000
    assert not ended


def test_timer_of_others_that_was_due_ends_at_once(timer: Callable[[float], list[int]]) -> None:
    ended = timer(0.005)
    inspect(HISTORY, (Screen("endless", ("RCV-1",), endless),), limit=0.02)
    while signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0):
        pass
    assert ended


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_is_as_before(enabled: bool) -> None:
    during: list[bool] = []

    def look(facts: Facts) -> Report:
        during.append(gc.isenabled())
        return Report()

    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        inspect(HISTORY, (Screen("looks", ("RCV-1",), look),))
        assert gc.isenabled() is enabled
        assert during == [False]
    finally:
        (gc.enable if before else gc.disable)()
