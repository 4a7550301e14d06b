"""PEEK-6 where a peek and a receive overlap: which came first is not known."""

from __future__ import annotations

import pytest
from inspections import inspected, violated

SENT = "p1 send m1 key=a -> ok @1-2\n"


@pytest.mark.parametrize("counts", [(0, 0), (1, 0)])
def test_a_receive_that_overlaps_the_peek_may_have_been_first(counts: tuple[int, int]) -> None:
    """Received with count 0, abandoned, and then seen with count 1 by a peek that was called before."""
    peeked, received = counts
    overlap = f"""
        p2 peek 5 -> m1#1 count={peeked} @10-50
        p3 receive 1 -> m1#1 count={received} lock=l1 until=9000000000 @20-22
        p3 abandon l1 -> ok @30-32
    """
    assert violated(SENT + overlap, "azure-flat") == set()


def test_a_receive_after_the_peek_tells_on_it() -> None:
    apart = """
        p2 peek 5 -> m1#1 count=1 @10-12
        p3 receive 1 -> m1#1 count=0 lock=l1 until=9000000000 @20-22
    """
    assert violated(SENT + apart, "azure-flat") == {"PEEK-6"}


def test_of_two_peeks_that_overlap_the_later_called_may_have_been_first() -> None:
    """The long peek sees the count that an abandon raised after the short one was over."""
    overlap = """
        p2 peek 5 -> m1#1 count=1 @10-50
        p3 peek 5 -> m1#1 count=0 @12-14
        p4 receive 1 -> m1#1 count=0 lock=l1 until=9000000000 @20-22
        p4 abandon l1 -> ok @30-32
    """
    assert violated(SENT + overlap, "azure-flat") == set()


def test_a_failed_delivery_may_be_counted_when_the_message_is_delivered_again() -> None:
    """A peek in between shows the count as it was before."""
    given_up = """
        p3 receive 1 -> m1#1 count=0 lock=l1 until=9000000000 @10-12
        p3 abandon l1 -> ok @20-22
        p2 peek 5 -> m1#1 count=0 @30-32
        p3 receive 1 -> m1#1 count={count} lock=l2 until=9000000000 @40-42
    """
    assert violated(SENT + given_up.format(count=1), "azure-flat") == set()
    assert violated(SENT + given_up.format(count=2), "azure-flat") == {"PEEK-6"}


COUNTS = {
    "one that no lock explains": ("azure-flat", "p2 peek 5 -> m1#1 count={}", 1, 0),
    "one that no lock explains yet": ("azure-standard", "p2 peek 5 -> m1#1.1 count={}", 1, 0),
    "one that no lock explains, but one that nobody saw may": (
        "azure-standard",
        "env advance 40s\np2 peek 5 -> m1#1.1 count={}",
        2,
        1,
    ),
    "two, for one lock": (
        "azure-flat",
        "p3 receive 1 -> m1#1 count=0 lock=l1 until=9s\np3 abandon l1\np2 peek 5 -> m1#1 count={}",
        2,
        1,
    ),
    "one, though the lock still holds": (
        "azure-flat",
        "p3 receive 1 -> m1#1 count=0 lock=l1 until=9s\np2 peek 5 -> m1#1 count={}",
        1,
        0,
    ),
    "none, though one was shown": (
        "azure-flat",
        "p3 receive 1 -> m1#1 count=0 lock=l1 until=9s\np3 abandon l1\n"
        "p3 receive 1 -> m1#1 count=1 lock=l2 until=9s\np2 peek 5 -> m1#1 count={}",
        0,
        1,
    ),
    "less, by a receive, than a peek showed": (
        "azure-flat",
        "p3 receive 1 -> m1#1 count=0 lock=l1 until=9s\np4 receive 1 -> unknown timeout\nenv advance 40s\n"
        "p2 peek 5 -> m1#1 count=2\np3 receive 1 -> m1#1 count={} lock=l2 until=60s",
        1,
        2,
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_that_locks_do_not_explain(name: str) -> None:
    profile, text, wrong, right = COUNTS[name]
    assert inspected(SENT + text.format(wrong), profile).candidates.keys() >= {"RCV-9", "PEEK-6", "RCV-6"}
    inspection = inspected(SENT + text.format(right), profile)
    assert not inspection.candidates
    assert not inspection.findings


@pytest.mark.parametrize(("waits", "found"), [("1s", True), ("30s", False)])
def test_a_front_end_may_have_locked_it_unasked_after_a_peek(waits: str, found: bool) -> None:
    text = f"p1 send m1\np1 peek 1 -> m1#3.1\nenv advance {waits}\np1 receive 1 delete -> m1#3.1 count=1"
    assert ("PEEK-6" in inspected(text).candidates or "PEEK-6" in violated(text)) is found


def test_a_failed_delivery_may_be_counted_between_two_peeks() -> None:
    """RCV-9 does not say when. Where nobody ever held the message there is nothing to count."""
    given_up = """
        p3 receive 1 -> m1#1 count=0 lock=l1 until=9000000000 @10-12
        p3 abandon l1 -> ok @20-22
    """
    peeked = """
        p2 peek 5 -> m1#1 count=0 @30-32
        p4 peek 5 -> m1#1 count=1 @40-42
    """
    assert violated(SENT + given_up + peeked, "azure-flat") == set()
    assert violated(SENT + peeked, "azure-flat") == {"PEEK-6"}


def test_a_lock_of_a_front_end_that_a_kill_ended_may_be_counted_late() -> None:
    """The front end had fetched it for nobody; the peek after the kill shows the count of before."""
    restarted = "env broker_kill\nenv broker_start\n"
    shown = "q peek 1 -> m1#1.1 key=a count=0\nq receive 1 -> m1#1.1 key=a lock=l count={count}\n"
    sent = "p send m1 key=a\n"
    assert violated(sent + restarted + shown.format(count=1), "azure-standard") == set()
    assert violated(sent + restarted + shown.format(count=2), "azure-standard") == {"PEEK-6"}
    assert violated(sent + shown.format(count=1), "azure-standard") == {"PEEK-6"}
