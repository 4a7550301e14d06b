"""What is said of what the judge did."""

from __future__ import annotations

import pytest

from partq.conformance.verdict.exit_codes import Exit
from partq.conformance.verdict.judging import Judging, added


@pytest.mark.parametrize(
    ("judging", "code", "said"),
    [
        (Judging(undecided=1, why="spent"), Exit.INCONCLUSIVE, "judge, 1 history: gave up on 1 (spent)"),
        (Judging(9, 1), Exit.CONFORMANT, "the judge decided 9 of 10 histories"),
        (Judging(7, undecided=3, why="spent"), Exit.INCONCLUSIVE, "the judge decided 7 of 10 histories"),
    ],
)
def test_a_conclusion_says_what_was_not_decided(judging: Judging, code: int, said: str) -> None:
    assert judging.besides(Exit.INCONCLUSIVE) == [(code, said)]


def test_where_all_was_decided_there_is_nothing_to_say() -> None:
    assert Judging(9).besides(Exit.INCONCLUSIVE) == []


def test_the_reason_names_its_history() -> None:
    assert Judging(undecided=1, why="spent").of("same-key").why == "same-key: spent"
    assert Judging(1).of("same-key") == Judging(1)


def test_counts_add_up_and_the_first_reason_stays() -> None:
    several = [Judging(2), Judging(undecided=1, why="first"), Judging(not_modelled=1, why="second")]
    assert added(several) == Judging(2, 0, 1, 1, "first")
