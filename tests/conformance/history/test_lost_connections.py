"""What a history says of connections that may have ended: a disconnect of unknown outcome, or none."""

from __future__ import annotations

import pytest

from partq.conformance.history.lost_connections import with_lost_connections
from partq.conformance.history.notation import history

BOUND = "p1 bind f1 @1-2\n"
LOST = "p1 receive 1 flow=f1 -> error connection_lost @10-20\n"


def _read(text: str) -> list[tuple[str, str]]:
    """Each record's operation and outcome, as a history of these is read."""
    records = history(text, profile="solace").records
    return [(record.op, str(record.outcome)) for record in with_lost_connections(records)]


def test_a_connection_that_ended_by_itself_may_be_gone() -> None:
    assert _read(BOUND + LOST) == [("bind", "ok"), ("receive", "error"), ("disconnect", "unknown")]


@pytest.mark.parametrize(
    "fault", ["env broker_kill @5-15", "env broker_kill @5-", "env connection_lost p1 @5-15"]
)
def test_a_fault_that_was_under_way_before_the_operation_explains_it(fault: str) -> None:
    assert ("disconnect", "unknown") not in _read(f"{BOUND}{fault}\n{LOST}")


@pytest.mark.parametrize(
    "fault",
    [
        "env broker_kill @15-18",  # what the broker told in between may be of the connection's own end
        "env connection_lost p1 @15-18",
        "env connection_lost p2 @5-15",
        "env broker_kill @3-4",
    ],
)
def test_another_fault_or_one_that_began_later_does_not(fault: str) -> None:
    assert ("disconnect", "unknown") in _read(f"{BOUND}{fault}\n{LOST}")


@pytest.mark.parametrize(("served", "struck"), [("@21-30", True), ("@21-41", False), ("@19-30", False)])
def test_a_kill_may_come_after_what_was_served_meanwhile(served: str, struck: bool) -> None:
    told = f"{BOUND}env broker_kill @5-40\n{LOST}p2 send m1 {served}"
    assert (("disconnect", "unknown") in _read(told)) is struck


@pytest.mark.parametrize(
    ("error", "by_itself"), [("unavailable", False), ("unsupported", False), ("lock_lost", True)]
)
def test_so_it_may_after_what_was_refused_by_a_broker_that_runs(error: str, by_itself: bool) -> None:
    told = f"{BOUND}env broker_kill @5-40\n{LOST}p2 complete l -> error {error} @21-30"
    assert (("disconnect", "unknown") in _read(told)) is by_itself


@pytest.mark.parametrize("error", ["connection_lost", "timeout", "not_found"])
def test_a_disconnect_that_fails_leaves_open_whether_the_connection_is_gone(error: str) -> None:
    assert _read(f"{BOUND}p1 disconnect f1 -> error {error}") == [("bind", "ok"), ("disconnect", "unknown")]


def test_one_that_is_not_supported_did_nothing() -> None:
    assert _read(BOUND + "p1 disconnect f1 -> error unsupported")[-1] == ("disconnect", "error")
