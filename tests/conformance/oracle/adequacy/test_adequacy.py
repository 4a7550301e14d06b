"""Screens against the judge, over all histories of every scope; and that no bad screen gets through."""

from __future__ import annotations

from typing import Final, NamedTuple

import pytest
from adequacy.comparison import Comparison, Scope, Slot, compare
from adequacy.scopes import DELIVERY, SCOPES

from partq.conformance.facts.index import Facts
from partq.conformance.history import History
from partq.conformance.screens.protocol import Report, Screen
from partq.conformance.screens.registry import ALL


class Counts(NamedTuple):
    """What a scope comes to. ``suspected``: by the screens, of those that the judge rejects, at the least. A
    change here is to be explained."""

    compared: int
    rejected: int
    suspected: int


COUNTS: Final = {
    "routing": Counts(28800, 17846, 14366),
    "delivery": Counts(13920, 12928, 10406),
    "deletion": Counts(11520, 9950, 9910),
    "expiry": Counts(4680, 4364, 3362),
    "peek": Counts(14040, 10688, 4766),
    "flat peek": Counts(9360, 8294, 5244),
    "transactions": Counts(12800, 9672, 7034),
    "isolation": Counts(8160, 7028, 6894),
    "answers": Counts(800, 640, 548),
    "times": Counts(120, 92, 84),
    "outage": Counts(648, 52, 52),
    "assignment": Counts(5616, 5240, 5096),
    "move": Counts(888, 784, 760),
    "handoff": Counts(1688, 1295, 1253),
    "loss": Counts(1548, 1377, 1248),
    "standby": Counts(1539, 1377, 1371),
}


def compared(scope: Scope, part: int = 0, of: int = 1) -> Comparison:
    return compare(scope.histories(part, of), ALL, scope.late)


def told(histories: list[History]) -> str:
    """The first of them, for a failure to be read."""
    return "\n".join(str(record) for history in histories[:1] for record in history.records)


@pytest.mark.slow
@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: scope.name)
def test_screens_suspect_only_what_the_judge_rejects(scope: Scope) -> None:
    found = compared(scope)
    assert not found.false_alarms, told(found.false_alarms)
    assert found.undecided == 0
    counts = COUNTS[scope.name]
    assert (found.compared, found.rejected) == counts[:2]
    assert found.suspected >= counts.suspected


def test_the_scopes_are_large_and_not_one_sided() -> None:
    assert COUNTS.keys() == {scope.name for scope in SCOPES}
    assert sum(counts.compared for counts in COUNTS.values()) >= 100_000
    for counts in COUNTS.values():
        assert counts.compared - counts.rejected >= counts.compared // 30, "nearly all is wrong"
        assert counts.suspected >= counts.rejected // 4, "the screens see too little"


def without(name: str) -> tuple[Screen, ...]:
    return tuple(screen for screen in ALL if screen.name != name)


def test_a_screen_made_blind_is_caught() -> None:
    blind, seeing = (compare(DELIVERY.histories(0, 20), some) for some in (without("delivery"), ALL))
    assert blind.suspected < seeing.suspected


def test_a_screen_made_too_strict_is_caught() -> None:
    """RCV-5 is a freedom: one that takes an empty answer for a loss is wrong."""

    def no_empty_answer(facts: Facts) -> Report:
        report = Report()
        for record in facts.receives:
            if not record.messages and record.outcome == "ok":
                report.find("RCV-5", "empty", (record,), "it is empty")
        return report

    strict = Screen("strict", ("RCV-5",), no_empty_answer)
    assert compare(expiry().histories(0, 20), (*ALL, strict)).false_alarms


def expiry() -> Scope:
    return next(scope for scope in SCOPES if scope.name == "expiry")


def test_a_scope_is_every_choice_under_every_overlap() -> None:
    scope = Scope(
        "small",
        "azure-flat",
        "",
        (
            Slot(("p1 send m1", "p1 send m1 -> unknown timeout")),
            Slot(("", "p2 receive 1 -> nothing"), after=7, overlaps=False),
            Slot(("p2 receive 1 delete -> m1#1",), overlaps=True),
        ),
    )
    found = list(scope.histories())
    # With the middle slot empty the last may overlap the first; else p2 would overlap itself.
    assert [len(history.records) for history in found] == [2, 2, 3, 2, 2, 3]
    assert [_overlaps(history) for history in found] == [False, True, False, False, True, False]
    assert [history.records[-1].call for history in found][:3] == [407, 407, 507]


def _overlaps(history: History) -> bool:
    before, last = history.records[-2:]
    return before.ret is not None and before.ret > last.call


def test_shares_make_up_the_scope() -> None:
    whole = [history.records for history in expiry().histories()]
    shares = [history.records for part in range(4) for history in expiry().histories(part, 4)]
    assert sorted(map(str, whole)) == sorted(map(str, shares))
