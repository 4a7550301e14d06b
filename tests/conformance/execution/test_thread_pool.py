"""Several tasks at once. Nothing here sleeps: all wait for events."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from partq.conformance.execution.cancellation import Stop
from partq.conformance.execution.thread_pool import completed

PATIENT = 20.0
"""Seconds after which a test that waits for an event has failed."""


def until_stopped(ended: list[str], begun: threading.Event) -> Callable[[Stop], str]:
    """A task that ends only when it is stopped."""

    def task(stop: Stop) -> str:
        asked = threading.Event()
        with stop.heard(asked.set):
            begun.set()
            assert asked.wait(PATIENT)
        ended.append("stopped")
        raise RuntimeError("stopped")

    return task


def test_results_come_as_they_end_and_name_their_task() -> None:
    """The first task waits for the second one's end."""
    second = threading.Event()
    tasks: list[Callable[[Stop], object]] = [lambda stop: second.wait(PATIENT), lambda stop: "quick"]
    ending = completed(tasks, 2)
    assert next(ending) == (1, "quick")
    second.set()
    assert list(ending) == [(0, True)]


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_never_more_at_once_than_jobs_and_all_of_them(jobs: int) -> None:
    """Tasks meet in groups of as many as may run at once; one more would find the barrier broken."""
    meeting = threading.Barrier(jobs)
    turn, now, most = threading.Lock(), 0, 0

    def task(stop: Stop) -> None:
        nonlocal now, most
        with turn:
            now += 1
            most = max(most, now)
        meeting.wait(PATIENT)
        with turn:
            now -= 1

    assert sorted(number for number, _ in completed([task] * 6, jobs)) == list(range(6))
    assert most == jobs


def test_one_job_is_done_by_the_caller_in_order() -> None:
    tasks = [lambda stop: threading.current_thread()] * 3
    assert list(completed(tasks, 1)) == [(n, threading.current_thread()) for n in range(3)]


def test_what_a_task_raises_is_raised_and_stops_the_others() -> None:
    ended: list[str] = []
    begun = threading.Event()

    def failing(stop: Stop) -> str:
        assert begun.wait(PATIENT)
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        list(completed([until_stopped(ended, begun), failing], 2))
    assert ended == ["stopped"]


def test_closing_stops_what_is_under_way_and_begins_nothing_more() -> None:
    ended: list[str] = []
    begun, others = threading.Event(), list[int]()
    tasks = [lambda stop: "first", until_stopped(ended, begun), until_stopped(ended, threading.Event())]
    more: list[Callable[[Stop], str]] = [lambda stop: others.append(1) or "more"] * 3
    ending = completed([*tasks, *more], 2)
    assert next(ending) == (0, "first")
    assert begun.wait(PATIENT)
    ending.close()
    assert ended == ["stopped"] * 2
    assert others == []


def test_nothing_to_do_is_done_at_once() -> None:
    assert list(completed([], 4)) == []


def test_a_stop_is_heard_only_while_somebody_listens() -> None:
    heard: list[str] = []
    stop = Stop()
    with stop.heard(lambda: heard.append("early")):
        pass
    with stop.heard(lambda: heard.append("in time")):
        stop.ask()
    assert stop.asked
    assert heard == ["in time"]
