"""Of a sample of the frozen histories screens, judge and blame say what they said."""

from __future__ import annotations

from itertools import islice

import pytest
from benchmarks.parity.opinions import Difference, differences, opinions_of
from benchmarks.parity.store import packed_histories, read_opinions

from partq.conformance.history.codec import loads

EACH, PARTS = 10, 6
"""One of so many histories is looked at; they lie in the order of their kinds."""


def test_something_is_frozen_of_each_history() -> None:
    assert [name for name, _ in packed_histories()] == list(read_opinions())


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_what_was_said_is_said(part: int) -> None:
    frozen = read_opinions()
    found: list[Difference] = []
    for name, lines in islice(packed_histories(), part * EACH, None, EACH * PARTS):
        found += differences(name, frozen[name], opinions_of(loads(lines)))
    assert not found, "python -m benchmarks.parity check shows all of it"
