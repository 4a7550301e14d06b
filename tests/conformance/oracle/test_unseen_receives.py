"""What a receive of unknown outcome may have taken, and what it may not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.oracle import unseen_receives
from partq.conformance.oracle.judge import Judged, judge
from partq.model.machine import explain

RESTART = "env broker_kill\nenv broker_start\n"


def told(profile: str, text: str) -> History:
    return history(text, profile, partitions=1 if profile == "azure-flat" else 2)


def many(messages: int, taken: int) -> History:
    """Some of the locks that a kill may have ended had been given again, unseen, when the next kill came: the
    last ones, as their counts show."""
    ids = [f"m{n}" for n in range(messages)]
    locks = ", ".join(f"{id} lock=l{id} count=0" for id in ids)
    shown = ", ".join(f"{id} count={2 if id in ids[-taken:] else 1}" for id in ids)
    sends = "".join(f"p send {id}\n" for id in ids)
    return told(
        "azure-flat",
        f"{sends}q receive {messages} -> {locks}\n{RESTART}q receive {taken} -> unknown timeout\n{RESTART}"
        f"q receive {messages} delete -> {shown}",
    )


@pytest.mark.parametrize("nodes", [50, 500, 1_500])
def test_where_there_are_too_many_sets_it_is_unknown(nodes: int) -> None:
    found = judge(many(16, taken=5), seconds=60.0, nodes=nodes)
    assert found.status is Judged.UNKNOWN and found.kind == "over the budget"


def test_answers_that_cannot_be_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a batch of forty no message is gone, and one from its middle is peeked first."""
    tried = 0

    def explained(*args: Any) -> Iterator[Any]:
        nonlocal tried
        tried += 1
        return explain(*args)

    monkeypatch.setattr(unseen_receives, "explain", explained)
    sends = f"p send_batch {', '.join(f'm{n}' for n in range(40))}\n"
    given = told("azure-flat", f"{sends}q receive 40 -> unknown\nr peek 5 from=0 -> m20")
    assert judge(given, seconds=60.0, nodes=300).status is Judged.UNKNOWN and tried < 3_000


def test_every_set_is_tried_in_the_end() -> None:
    assert judge(many(7, taken=3), seconds=60.0).status is Judged.ACCEPTED


def test_what_came_back_marked_was_taken_at_once_behind_what_came_before_it() -> None:
    """One node for all that an unseen receive took, not one for each message."""
    sends = "".join(f"p send m{n} key=k\n" for n in range(8))
    again = ", ".join(f"m{n} redelivered=yes" for n in range(8))
    given = told(
        "solace",
        f"p bind f\n{sends}env advance 60s\np receive 1 flow=f -> m0 lock=l\n"
        f"{RESTART}p bind g\nenv advance 60s\np receive 8 flow=g -> unknown connection_lost\n"
        f"{RESTART}p bind h\nenv advance 60s\np receive 8 flow=h -> {again}",
    )
    found = judge(given, seconds=60.0)
    assert found.status is Judged.ACCEPTED and found.visited <= len(given)


def test_what_it_took_was_stored_in_the_order_in_which_it_came_back() -> None:
    """With flows a message keeps its place, so that a batch of which nothing was seen is numbered at once."""
    ids = ["m3", "m5", "m1", "m4", "m0", "m2"]
    given = told(
        "solace",
        f"p bind f\nenv advance 60s\np send_batch {', '.join(f'{id} key=k' for id in sorted(ids))}\n"
        f"p receive 6 flow=f -> unknown connection_lost\n{RESTART}p bind g\nenv advance 60s\n"
        f"p receive 6 flow=g -> {', '.join(f'{id} redelivered=yes' for id in ids)}",
    )
    found = judge(given, seconds=60.0)
    assert found.status is Judged.ACCEPTED and found.visited < 40
