"""Times as people read them, in findings and in witnesses alike."""

from __future__ import annotations

import pytest

from partq.conformance.history import time_text
from partq.conformance.history.notation_words import time
from partq.model.configuration import FOREVER


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0ns"),
        (57, "57ns"),
        (1_500, "1.5µs"),
        (30_000_000, "30ms"),
        (1_001_735_387, "1.001735387s"),
        (90_000_000_000, "90s"),
        (-5_000_000_001, "-5.000000001s"),
        (1_732_214_423_123_456_789, "1732214423.123456789s"),
        (FOREVER, "the end"),
    ],
)
def test_no_digit_is_lost(ns: int, text: str) -> None:
    assert time_text(ns) == text


@pytest.mark.parametrize("ns", [0, 57, 1_500, 30_000_000, 1_001_735_387])
def test_notation_reads_what_is_written(ns: int) -> None:
    assert time(time_text(ns)) == ns
