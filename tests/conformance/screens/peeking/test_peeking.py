"""Peeking: what is told of an answer that hides a message, or shows one that is gone."""

from __future__ import annotations

import pytest
from inspections import inspected

from corpus import corpus
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.peeking.answers import SCREEN
from partq.conformance.screens.registry import ALL


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a locked message is hidden", "older and newer messages of one partition, but not message 'm2'"),
        (
            "the oldest is hidden while it is locked",
            "shows newer messages of one partition, but not message 'm1'",
        ),
    ],
)
def test_what_hides_a_locked_message_is_told_as_the_answer_was(name: str, shown: str) -> None:
    entry = corpus()[f"peeking/bad: {name}"]
    (finding,) = inspect(entry.history).findings["PEEK-7"]
    assert shown in finding.detail


def test_of_several_messages_that_are_gone_the_first_in_the_answer_is_named() -> None:
    sends = "\n".join(f"p1 send m{n}" for n in range(1, 10))
    shown = ", ".join(f"m{n}#{n}" for n in range(1, 10))
    inspection = inspected(f"{sends}\np2 receive 9 delete -> {shown}\np1 peek 9 -> {shown}", "azure-flat")
    assert "message 'm1' was peeked after its removal" in inspection.open["PEEK-1"]


def test_the_screen_is_in_the_suite() -> None:
    assert SCREEN in ALL
    assert SCREEN.blind_spots
    assert set(SCREEN.needs) == set(SCREEN.requirements)
