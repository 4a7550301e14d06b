"""Numbers: which partitions' can be relied upon, and what is told of a gap."""

from __future__ import annotations

import pytest

from corpus import corpus
from partq.conformance.evaluation.decision import EVERY, NONE, Exactness, check_history
from partq.conformance.facts.index import facts_of
from partq.conformance.history.notation import history
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.sequencing.numbering import Sequencing
from partq.conformance.verdict import Status


@pytest.mark.parametrize("exact", [EVERY, NONE])
@pytest.mark.parametrize(
    ("shown", "told", "status"),
    [
        (("m1", "m1#1.1", "m1#1.1"), 1, Status.PASS),
        (("m1#1.1", "m1", "m1#1.1"), 1, Status.PASS),
        (("m1", "m1#1.1", "m1#1.2"), 1, Status.VIOLATED),
        (("m1", "m1#1.1", "m1"), 0, Status.NOT_EXERCISED),
        (("m1", "m1", "m1"), 0, Status.NOT_EXERCISED),
    ],
)
def test_only_numbers_that_are_shown_are_compared(
    shown: tuple[str, str, str], told: int, status: Status, exact: Exactness
) -> None:
    """SEQ-6 is exercised by two appearances with a number, wherever the one without stands among them."""
    peeked, received, again = shown
    text = (
        f"p send m1\nq peek 1 -> {peeked}\nq receive 1 -> {received} lock=l\nq abandon l\n"
        f"q receive 1 delete -> {again} redelivered=yes"
    )
    verdicts = check_history(history(text, "azure-premium"), exact)
    assert (verdicts["SEQ-6"].status, verdicts["SEQ-6"].exercised) == (status, told)
    assert [id for id, one in verdicts.items() if one.findings or one.candidates] == (
        ["SEQ-6"] if status is Status.VIOLATED else []
    )


def test_which_partitions_can_not_be_relied_upon() -> None:
    text = "p1 send a\np1 send b\np1 send c\np1 send d\np1 receive 9 -> b#3.1, a#3.2, c#4.1, d#4.2"
    (facts,) = facts_of(history(text))
    assert facts.derive(Sequencing).wrong == {3}


GAPS: dict[str, tuple[str, set[str]]] = {
    "a gap": (
        "missing numbers of partition 3: 1, between 'm2' (counter 2) and 'm3' (counter 4)",
        {"m2", "m3"},
    ),
    "two holes, flat": (
        "missing numbers: 3, 2 of them between 'm3' (counter 4) and 'm4' (counter 7)",
        {"m3", "m4"},
    ),
    "a gap before the first": (
        "missing numbers of partition 3: 1, before 'm1' (counter 2), where they begin",
        {"m1"},
    ),
    "a gap wider than explained": (
        "missing numbers of partition 3: 2, between 'm1' (counter 1) and 'm3' (counter 4)",
        {"m1", "m3"},
    ),
}


@pytest.mark.parametrize("name", GAPS)
def test_a_gap_is_told_with_the_messages_beside_it_and_their_sends(name: str) -> None:
    detail, beside = GAPS[name]
    given = corpus()[f"sequencing/bad: {name}"].history
    (finding,) = inspect(given).findings["SEQ-4"]
    explained = int(name == "a gap wider than explained")
    unseen = "rejected, unknown, rolled back or never seen"
    assert finding.detail == f"{detail}; messages that were {unseen} explain at most {explained} of them"
    records = given.records
    sends = [records[i].args["messages"][0].id for i in finding.witness if records[i].op == "send"]
    assert set(sends) == beside
    assert {records[i].op for i in finding.witness} == {"send", "receive"}
