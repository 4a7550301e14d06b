"""Peeking: what an answer, a walk or a lifetime shows by itself, and what is left to the judge."""

from __future__ import annotations

import pytest
from inspections import inspected

from partq.conformance.screens.peeking import SCREEN
from partq.conformance.screens.registry import ALL

FLAT = "azure-flat"

SENDS = "p1 send m1\np1 send m2\np1 send m3"


def test_of_several_messages_that_are_passed_over_one_is_named() -> None:
    inspection = inspected(f"{SENDS}\np2 peek 2 from=0 -> m2#2\np3 receive 1 delete -> m1#1", FLAT)
    (finding,) = inspection.findings["PEEK-1"]
    assert finding.witness == (0, 3, 4) and "was not shown it, but newer ones" in finding.detail


def test_a_walk_begins_after_what_it_has_shown() -> None:
    walk = f"{SENDS}\np2 peek 1 -> m1#1\np2 peek 1 -> m3#3\np3 receive 3 delete -> m1#1, m2#2, m3#3"
    (finding,) = inspected(walk, FLAT).findings["PEEK-1"]
    assert "'m2'" in finding.detail


@pytest.mark.parametrize(
    "between", ["env frontend_lost", "env broker_kill\nenv broker_start", "p2 disconnect\np2 reconnect"]
)
def test_a_fault_that_may_put_the_cursor_back_excuses_it(between: str) -> None:
    text = f"{SENDS}\np2 peek 2 -> m1#1, m2#2\n{between}\np2 peek 2 -> m1#1, m2#2"
    assert not inspected(text, FLAT).findings


def test_a_peek_with_a_start_of_its_own_and_another_client_see_it_again() -> None:
    text = f"{SENDS}\np2 peek 2 -> m1#1, m2#2\np2 peek 2 from=0 -> m1#1, m2#2\np3 peek 1 -> m1#1"
    assert not inspected(text, FLAT).findings


def test_what_a_peek_leaves_out_is_left_to_the_judge() -> None:
    inspection = inspected(f"{SENDS}\np2 peek 2 -> m2#2, m3#3", FLAT)
    assert not inspection.suspect and inspection.exercised["PEEK-1"] == 1


def test_the_screen_is_in_the_suite() -> None:
    assert SCREEN in ALL
    assert SCREEN.blind_spots
