"""What a history shows of flows after a kill of the broker."""

from __future__ import annotations

import pytest

from partq.conformance.history.notation import history
from partq.conformance.oracle.roles import KILLS
from partq.conformance.oracle.taking_apart import effects_of

BEFORE = """
c1 bind f1 @1-2
c2 bind f2 @3-4
p send m1 @5-6
env broker_kill @10s
env broker_start @11s
"""


@pytest.mark.parametrize(
    ("after", "fates"),
    [
        ("", {}),
        ("c1 receive 1 flow=f1 -> m1", {"f1": True}),
        ("c1 receive 1 flow=f1 -> nothing", {}),
        ("c1 receive 1 flow=f1 -> error not_found", {"f1": False}),
        ("c1 receive 1 flow=f1 -> error unavailable", {}),
        ("c2 unbind f2 -> error not_found", {"f2": False}),
        ("c2 unbind f2", {"f2": None}),
        ("env assignment 0 f2 unbound", {"f2": False}),
        ("env assignment 0 f2 unassigned", {}),
        ("env assignment 0 f2 ready @20s", {"f2": True}),
        ("env assignment 0 f2 ready @11s", {}),  # it may tell of what was before
        ("env assignment 0 f2 unbound\nc1 receive 1 flow=f1 -> m1", {"f1": True, "f2": False}),
        ("env assignment 0 f1 unbound\nc1 receive 1 flow=f1 -> m1", {"f1": None}),  # a rule is broken
        ("c1 disconnect\nc1 receive 1 flow=f1 -> error not_found", {}),
        ("c2 disconnect\nc1 receive 1 flow=f1 -> error not_found", {"f1": False}),
        ("c1 unbind f1\nc1 receive 1 flow=f1 -> error not_found", {"f1": None}),
        ("c1 bind f1\nc1 receive 1 flow=f1 -> m1", {}),
        ("c3 bind f3\nc3 receive 1 flow=f3 -> m1", {}),
    ],
)
def test_what_is_certain_is_noted_at_the_kill(after: str, fates: dict[str, bool | None]) -> None:
    given = history(BEFORE + after, "solace", partitions=2)
    effects = effects_of(given.header, given.records, given.header.entities["q"])
    assert [dict(effect.action.fates) for effect in effects if effect.action.op == KILLS] == [fates]


def test_what_outlives_the_second_kill_outlived_the_first() -> None:
    second = "env broker_kill @20s\nenv broker_start @21s\n"
    second += "c1 receive 1 flow=f1 -> m1\nc2 unbind f2 -> error not_found"
    given = history(BEFORE + second, "solace", partitions=2)
    effects = effects_of(given.header, given.records, given.header.entities["q"])
    first, last = (dict(effect.action.fates) for effect in effects if effect.action.op == KILLS)
    assert (first, last) == ({"f1": True}, {"f1": True, "f2": False})
