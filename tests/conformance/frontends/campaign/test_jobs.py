"""Actions at once: what they answer, and that a failure waits for the others."""

from __future__ import annotations

import threading

import pytest

from partq.conformance.frontends.campaign.jobs import Job, as_ended, together


def test_what_is_done_together_is_answered_by_name_in_order() -> None:
    meeting = threading.Barrier(3, timeout=10)

    def meet(name: str) -> str:
        meeting.wait()  # all three are under way at once, or this raises
        return name.upper()

    assert together(meet, "abc") == {"a": "A", "b": "B", "c": "C"}
    assert [*together(meet, "cab")] == ["c", "a", "b"]


def test_a_failure_is_raised_once_the_others_have_ended() -> None:
    failed, done = threading.Event(), []

    def do(name: str) -> None:
        if name == "bad":
            failed.set()
            raise ValueError("no such table")
        failed.wait(10)
        done.append(name)

    with pytest.raises(ValueError, match="no such table"):
        together(do, ("bad", "one", "two"))
    assert sorted(done) == ["one", "two"]


def test_a_job_that_hangs_does_not_hold_the_process_up() -> None:
    before = set(threading.enumerate())
    job = Job(threading.Event().wait)
    assert not job.ended(0.01)
    assert [thread.daemon for thread in set(threading.enumerate()) - before] == [True]


def test_jobs_answer_as_they_end_and_one_that_hangs_does_not() -> None:
    hanging = Job(threading.Event().wait)
    waited_for = threading.Event()
    waiting, quick = Job(lambda: waited_for.wait(10)), Job(lambda: "quick")
    answers = as_ended([hanging, waiting, quick], 1.0)
    assert next(answers) == "quick"
    waited_for.set()
    assert [*answers] == [True]
