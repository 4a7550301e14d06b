"""Screens against the judge, over all histories of every scope; and that no bad screen gets through."""

from __future__ import annotations

from typing import Final, NamedTuple

import pytest
from adequacy.blind_spots import BLIND_SPOTS
from adequacy.comparison import BlindSpot, Comparison, Scope, Slot, compare
from adequacy.scopes import DELIVERY, SCOPES

from partq.conformance.facts.index import Facts
from partq.conformance.history import History, notation
from partq.conformance.screens.protocol import Report, Screen
from partq.conformance.screens.registry import ALL


class Counts(NamedTuple):
    """What a scope comes to. At the most: ``open``, rejected by the judge and left open by the screens, and
    ``blind``, in a blind spot. A change here is to be explained."""

    compared: int
    rejected: int
    open: int
    blind: int


COUNTS: Final = {
    "routing": Counts(28800, 17846, 96, 504),
    "delivery": Counts(13920, 12928, 0, 0),
    "deletion": Counts(11520, 9950, 0, 10),
    "expiry": Counts(4680, 4364, 0, 0),
    "peek": Counts(14040, 10688, 0, 2090),
    "flat peek": Counts(9360, 8294, 0, 1408),
    "transactions": Counts(12800, 9681, 0, 321),
    "isolation": Counts(8160, 7028, 0, 174),
    "answers": Counts(800, 640, 0, 0),
    "times": Counts(120, 92, 0, 0),
    "outage": Counts(648, 52, 0, 0),
    "assignment": Counts(5616, 5240, 144, 0),
    "move": Counts(888, 784, 0, 24),
    "handoff": Counts(1688, 1295, 0, 42),
    "loss": Counts(1548, 1377, 0, 0),
    "standby": Counts(1539, 1377, 0, 0),
}


def compared(scope: Scope, part: int = 0, of: int = 1) -> Comparison:
    return compare(scope.histories(part, of), ALL, BLIND_SPOTS, scope.late)


def told(histories: list[History]) -> str:
    """The first of them, for a failure to be read."""
    return "\n".join(str(record) for history in histories[:1] for record in history.records)


@pytest.mark.slow
@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: scope.name)
def test_screens_reject_what_the_judge_rejects(scope: Scope) -> None:
    found = compared(scope)
    assert not found.false_alarms, told(found.false_alarms)
    assert not found.missed, told(found.missed)
    assert found.undecided == 0
    counts = COUNTS[scope.name]
    assert (found.compared, found.rejected) == counts[:2]
    assert found.left_open <= counts.open and found.blind.total() <= counts.blind


def test_the_scopes_are_large_and_not_one_sided() -> None:
    assert COUNTS.keys() == {scope.name for scope in SCOPES}
    assert sum(counts.compared for counts in COUNTS.values()) >= 100_000
    for counts in COUNTS.values():
        assert counts.compared - counts.rejected >= counts.compared // 30, "nearly all is wrong"
        assert counts.open + counts.blind <= counts.rejected // 5, "the screens see too little"


def without(name: str) -> tuple[Screen, ...]:
    return tuple(screen for screen in ALL if screen.name != name)


def test_a_screen_made_blind_is_caught() -> None:
    found = compare(DELIVERY.histories(0, 20), without("delivery"), BLIND_SPOTS)
    assert found.missed and not found.agreed


def test_a_screen_made_too_strict_is_caught() -> None:
    """RCV-5 is a freedom: one that takes an empty answer for a loss is wrong."""

    def no_empty_answer(facts: Facts) -> Report:
        report = Report()
        for record in facts.receives:
            if not record.messages and record.outcome == "ok":
                report.find("RCV-5", "empty", "An empty answer", (record,), "it is empty", "messages")
        return report

    strict = Screen("strict", ("RCV-5",), no_empty_answer)
    found = compare(expiry().histories(0, 20), (*ALL, strict), BLIND_SPOTS)
    assert found.false_alarms and not found.agreed


def expiry() -> Scope:
    return next(scope for scope in SCOPES if scope.name == "expiry")


@pytest.mark.parametrize("spot", BLIND_SPOTS, ids=lambda spot: spot.name)
def test_blind_spots_have_a_reason_and_are_narrow(spot: BlindSpot) -> None:
    assert len(spot.reason) > 20
    plain = notation.history("p1 send m1\np2 receive 1 -> m1#1 lock=l1 count=0\np2 complete l1", "azure-flat")
    assert not spot.covers(plain)


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
