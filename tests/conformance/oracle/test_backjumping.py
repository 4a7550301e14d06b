"""Where a search that is stuck goes back to, and what it may say then."""

from __future__ import annotations

from collections.abc import Iterator
from time import thread_time
from typing import Any, NamedTuple

import pytest

from partq.conformance.history.notation import history
from partq.conformance.oracle.backjumping import Level, conflict_of, jump_back
from partq.conformance.oracle.guidance import Guide
from partq.conformance.oracle.reading import Reading
from partq.conformance.oracle.search import Found, Outcome, Search
from partq.model.state import Txn


class Point(NamedTuple):
    """A node whose state is a word: its letters are what choices made of it."""

    state: Any


def levels(way: str, choices: dict[int, str]) -> tuple[list[Level[Point]], list[int | None]]:
    """The way, letter by letter, with the other letters that might have come at each level."""

    def others(depth: int) -> Iterator[tuple[int | None, Point]]:
        return iter([(9, Point(way[:depth] + letter)) for letter in choices.get(depth, "")])

    return [Level(Point(way[:depth]), others(depth)) for depth in range(len(way) + 1)], [*range(len(way))]


def vowels(state: Any) -> str:
    return "".join(letter for letter in state if letter in "aeiou")


def jumped(way: str, choices: dict[int, str]) -> str | None:
    trail, placed = levels(way, choices)
    choice = jump_back(trail, placed, vowels, lambda node: False, set(), lambda: False)
    assert choice is None or (len(trail) == len(placed) + 1 == len(choice[1].state))
    return choice and choice[1].state


def test_back_to_the_last_choice_that_changes_what_is_in_conflict() -> None:
    assert jumped("batch", {1: "e", 3: "k", 4: "s"}) == "be"


def test_a_choice_that_leaves_it_for_later_comes_second() -> None:
    assert jumped("batch", {0: "i", 1: "l"}) == "i"
    assert jumped("batch", {1: "l"}) == "bl"


def test_nowhere_to_go_back_to() -> None:
    trail, placed = levels("batch", {3: "k"})
    assert jump_back(trail, placed, vowels, lambda node: False, set(), lambda: False) is None
    assert len(trail) == 6 and next(trail[3].choices) == (9, Point("batk"))


def test_the_same_is_not_tried_twice() -> None:
    tried: set[tuple[int, object]] = set()
    for state in ("be", "bi", None):
        trail, placed = levels("batch", {1: "eei"})
        choice = jump_back(trail, placed, vowels, lambda node: False, tried, lambda: False)
        assert (choice and choice[1].state) == state


def searched(text: str, patience: int | None) -> Found:
    given = history(text, "azure-flat")
    question = Reading(given).entities[0].question()
    guidance = Guide(question.known(False)).guidance()
    return Search(question.effects, guidance, thread_time() + 5, patience=patience).run(question.start)


@pytest.mark.parametrize(
    ("patience", "outcome"),
    [(None, Outcome.REJECTED), (0, Outcome.GAVE_UP), (1, Outcome.GAVE_UP), (99, Outcome.REJECTED)],
)
def test_after_a_jump_only_an_acceptance_counts(patience: int | None, outcome: Outcome) -> None:
    lost = "p send m1\np send m2\np receive 1 -> unknown timeout\np peek 2 -> m1#1, m2#2\nenv drained"
    assert searched(lost, patience).outcome is outcome


def test_a_send_that_its_transaction_does_not_wait_for_goes_back_to_the_end_of_that() -> None:
    text = (
        "q begin t @2-3\nq send m2 key=a txn=t -> unknown timeout @4-5\np send m1 key=b @5-6\n"
        "q commit t @10-30\nr receive 1 delete -> m2#0 @40-41"
    )
    question = Reading(history(text, "azure-premium")).entities[0].question()
    send = next(effect for effect in question.effects if effect.action.messages)
    conflict = conflict_of(question.start, send, 50, {})
    opened = Txn("t", "q")
    assert conflict(question.start) is None
    assert conflict(question.start._replace(txns=(opened,))) == opened
