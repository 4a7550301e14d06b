"""Times in the texts of findings."""

from __future__ import annotations

import pytest

from partq.conformance.facts.index import FOREVER
from partq.conformance.facts.times import exact


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (57, "57 ns"),
        (1_500, "1.5 µs"),
        (30_000_000, "30 ms"),
        (1_001_735_387, "1.001735387 s"),
        (90_000_000_000, "90 s"),
        (-5_000_000_001, "-5.000000001 s"),
        (1_732_214_423_123_456_789, "1732214423.123456789 s"),
        (FOREVER, "the end"),
    ],
)
def test_no_digit_is_lost(ns: int, text: str) -> None:
    assert exact(ns) == text
