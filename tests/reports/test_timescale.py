"""The time scale of a diagram: round ticks, and the moments that rows belong to."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partq.reports.timescale import Moment, elapsed, time_scale

SECOND = 10**9


def labels(*times: int | None, most_ticks: int = 8) -> tuple[list[str], list[str]]:
    """Of the ticks and of the moments."""
    scale = time_scale(times, most_ticks)
    assert scale is not None
    return [tick.label for tick in scale.ticks], [moment.label for moment in scale.moments]


@pytest.mark.parametrize(
    ("span", "ticks", "moments"),
    [
        (21 * SECOND, ["0 s", "5 s", "10 s", "15 s", "20 s"], ["0 s", "21 s"]),
        (SECOND + SECOND // 5, ["0 s", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1 s", "1.2 s"], ["0 s", "1.2 s"]),
        (34_560_000, ["0 ms", "5 ms", "10 ms", "15 ms", "20 ms", "25 ms", "30 ms"], ["0 ms", "34.55 ms"]),
        (4_200, ["0 µs", "1 µs", "2 µs", "3 µs", "4 µs"], ["0 µs", "4.2 µs"]),
        (7_200 * SECOND, [f"{n},000 s" if n else "0 s" for n in range(8)], ["0 s", "7,200 s"]),
    ],
)
def test_ticks_are_round_and_in_the_unit_of_the_span(span: int, ticks: list[str], moments: list[str]) -> None:
    assert labels(0, span) == (ticks, moments)


def test_a_part_of_a_history_has_the_part_of_the_scale_that_it_covers() -> None:
    assert labels(301 * SECOND, 313 * SECOND, most_ticks=4) == (["305 s", "310 s"], ["301 s", "313 s"])


def test_rows_of_one_time_are_one_moment_until_something_is_left_out() -> None:
    scale = time_scale([0, 1, 2, 5 * SECOND + 3, 5 * SECOND + 4, None, 5 * SECOND + 5, 9 * SECOND], 8)
    assert scale is not None
    assert scale.moments == (
        Moment(0, 2, 0, "0 s"),
        Moment(3, 4, 5 * SECOND + 3, "5 s"),
        Moment(6, 6, 5 * SECOND + 5, "5 s"),
        Moment(7, 7, 9 * SECOND, "9 s"),
    )


@pytest.mark.parametrize("times", [(), (None,), (7,), tuple(range(40))])
def test_where_no_time_passes_there_is_no_scale(times: tuple[int | None, ...]) -> None:
    assert time_scale(times, 8) is None


def test_times_in_words_have_one_unit() -> None:
    assert elapsed([0, 3, 12 * SECOND + 5_000_000, 30 * SECOND]) == ["0 s", "0 s", "12 s", "30 s"]
    assert elapsed([0, 7_000_000, SECOND]) == ["0 s", "0.007 s", "1 s"]
    assert elapsed(range(3)) == ["0 s"] * 3, "of a simulation, where 1 ns is no time"
    assert elapsed([]) == []


@given(st.lists(st.integers(0, 2**62), min_size=2, max_size=30).map(sorted), st.integers(2, 40))
def test_ticks_are_few_even_and_within_and_every_row_has_a_moment(times: list[int], most: int) -> None:
    scale = time_scale(times, most)
    if scale is None:
        return
    assert len(scale.ticks) <= most + 1
    assert len({after.time - before.time for before, after in pairwise(scale.ticks)}) <= 1
    assert all(scale.start <= tick.time <= scale.end for tick in scale.ticks)
    assert len({tick.label for tick in scale.ticks}) == len(scale.ticks)
    assert [row for m in scale.moments for row in range(m.first, m.last + 1)] == list(range(len(times)))
    assert len(scale.moments) >= 2
