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
        (21 * SECOND, ["0s", "5s", "10s", "15s", "20s"], ["0s", "21s"]),
        (SECOND + SECOND // 5, ["0s", "0.2s", "0.4s", "0.6s", "0.8s", "1s", "1.2s"], ["0s", "1.2s"]),
        (34_560_000, ["0ms", "5ms", "10ms", "15ms", "20ms", "25ms", "30ms"], ["0ms", "34.55ms"]),
        (4_200, ["0µs", "1µs", "2µs", "3µs", "4µs"], ["0µs", "4.2µs"]),
        (7_200 * SECOND, [f"{n},000s" if n else "0s" for n in range(8)], ["0s", "7,200s"]),
    ],
)
def test_ticks_are_round_and_in_the_unit_of_the_span(span: int, ticks: list[str], moments: list[str]) -> None:
    assert labels(0, span) == (ticks, moments)


def test_a_part_of_a_history_has_the_part_of_the_scale_that_it_covers() -> None:
    assert labels(301 * SECOND, 313 * SECOND, most_ticks=4) == (["305s", "310s"], ["301s", "313s"])


def test_rows_of_one_time_are_one_moment_until_something_is_left_out() -> None:
    scale = time_scale([0, 1, 2, 5 * SECOND + 3, 5 * SECOND + 4, None, 5 * SECOND + 5, 9 * SECOND], 8)
    assert scale is not None
    assert scale.moments == (
        Moment(0, 2, 0, "0s"),
        Moment(3, 4, 5 * SECOND + 3, "5s"),
        Moment(6, 6, 5 * SECOND + 5, "5s"),
        Moment(7, 7, 9 * SECOND, "9s"),
    )


@pytest.mark.parametrize("times", [(), (None,), (7,), tuple(range(40))])
def test_where_no_time_passes_there_is_no_scale(times: tuple[int | None, ...]) -> None:
    assert time_scale(times, 8) is None


def test_times_in_words_have_one_unit() -> None:
    assert elapsed([0, 3, 12 * SECOND + 5_000_000, 30 * SECOND]) == ["0s", "0s", "12s", "30s"]
    assert elapsed([0, 7_000_000, SECOND]) == ["0s", "0.007s", "1s"]
    assert elapsed(range(3)) == ["0s"] * 3, "of a simulation, where 1 ns is no time"
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
