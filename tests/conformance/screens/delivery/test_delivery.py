"""Receiving and settling: good histories, bad ones with the one rule that owns them, freedoms and limits.

The line of a table: a history in the terse notation, and what the suite has to say of it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from inspections import inspected
from msgspec import structs

from partq.conformance.history.notation import history
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.delivery.delivery import SCREEN
from partq.conformance.screens.registry import ALL
from partq.model.profiles import SECOND

FLAT = "azure-flat"


def test_a_settlement_of_no_locks_says_nothing() -> None:
    read = history("p1 send m1\np1 complete l1 -> error lock_lost", FLAT)
    records = (read.records[0], structs.replace(read.records[1], args={"locks": ()}))
    inspection = inspect(replace(read, records=records), ALL)
    assert not inspection.findings and not inspection.open


def test_findings_of_one_cause_are_limited() -> None:
    sends = "\n".join(f"p1 send m{n}" for n in range(100))
    inspection = inspected(f"{sends}\np1 receive 9 delete -> nothing\nenv drained", FLAT)
    assert len(inspection.findings["RCV-2"]) == 20
    assert inspection.exercised["RCV-2"] == 100


@pytest.mark.parametrize(
    ("sent", "shown", "how"),
    [
        ("body=a", "body=b", "another body than p1 sent: 'b' instead of 'a'"),
        ("session=a", "session=b", "another session ID than p1 sent: 'b' instead of 'a'"),
        ("prop.x=1", "prop.x=2", "other properties than p1 sent: 'x' is '2' instead of '1'"),
        ("prop.x=1 prop.y=1", "prop.y=1", "other properties than p1 sent: 'x' is missing"),
        ("prop.x=1", "prop.a=1 prop.x=1", "other properties than p1 sent: 'a' was not sent"),
        ("body=" + "a" * 99, "body=b", f"'b' instead of '{'a' * 37}…'"),
    ],
)
def test_what_was_altered_is_named(sent: str, shown: str, how: str) -> None:
    found = inspected(f"p1 send m1 {sent}\np1 receive 1 -> m1#1 {shown}", FLAT).findings["RCV-1"]
    assert found[0].detail.endswith(f"{how}.")


def test_the_screen_is_in_the_suite() -> None:
    assert SCREEN in ALL
    assert SCREEN.blind_spots


@pytest.mark.parametrize(
    ("second", "times"),
    [
        ("q receive 1 -> nothing @2s-3s", 1),
        ("q receive 1 -> m1 lock=k @4s-6s", 1),
        ("q receive 1 -> nothing @4s-6s", 0),
        ("q receive 1 -> m1 lock=k @7s-8s", 0),
    ],
    ids=["over while it held", "waited for its end", "returned nothing after it", "called after it"],
)
def test_what_tries_whether_a_lock_excludes_others(second: str, times: int) -> None:
    text = f"p send m1 @1-2\np receive 1 -> m1 lock=l @3-4\n{second}"
    seen = history(text, "partitioned-queue", lock_duration=5 * SECOND)
    assert inspect(seen).exercised.get("RCV-6", 0) == times


def test_a_lost_message_is_shown_with_what_its_holder_did() -> None:
    text = "p send m1\np receive 1 -> m1 lock=l\np abandon l\nq receive 1 -> nothing\nenv drained"
    (finding,) = inspect(history(text, "partitioned-queue")).findings["RCV-2"]
    assert finding.witness == (0, 1, 2)
