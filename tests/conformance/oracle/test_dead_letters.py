"""What the reader of dead letters makes of a history, and what it declines."""

from __future__ import annotations

import pytest

from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import Judged, judge

SET_ASIDE = """
    p send m1
    c receive 1 -> m1#1 lock=l
    c dead_letter l reason=poison
"""
EMPTY = """
    env drained
    env drained dead
"""


@pytest.mark.parametrize(
    ("meanwhile", "status", "reason"),
    [
        ("c receive 1 dead -> unknown timeout", Judged.REJECTED, ""),
        ("c receive 1 dead delete -> unknown timeout", Judged.ACCEPTED, ""),
        ("c receive 1 dead -> m1#1 lock=d\nc dead_letter d", Judged.UNKNOWN, "are dead-lettered"),
    ],
)
def test_a_dead_letter_is_lost_where_that_can_be_told(meanwhile: str, status: Judged, reason: str) -> None:
    found = judge(history(f"{SET_ASIDE}\n{meanwhile}\n{EMPTY}", profile="azure-flat"))
    assert found.status is status and reason in found.reason
