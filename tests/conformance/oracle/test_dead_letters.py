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


def test_what_is_peeked_where_it_was_came_to_the_dead_letters_later() -> None:
    ids = [f"m{n}#7.{n}" for n in range(1, 7)]
    locked = ", ".join(f"{id} lock=l{id}" for id in ids)
    sends = "\n".join(f"p send m{n} key=k" for n in range(1, 7))
    peek = f"c peek 6 from=0 -> {', '.join(ids)}"
    shown = f"c receive 6 dead delete -> {', '.join(ids)}"
    fault = "env partition_down 7\nenv partition_up 7"
    text = "\n".join((sends, f"c receive 6 -> {locked}", fault, peek, "env advance 40s", peek, shown, EMPTY))

    found = judge(history(text, profile="azure-standard", max_delivery_count=1), nodes=40)

    assert found.status is Judged.ACCEPTED
