"""Which records are missing from a history."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from partq.conformance.history.gaps import missing_records
from partq.conformance.history.notation import history

SENDS = history("\n".join(f"p1 send m{n}" for n in range(12)), "azure-premium")


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (range(12), ""),
        (range(3, 12), ""),
        ((), ""),
        ((0, 2, 3), "no record 1: "),
        ((0, 9), "no record 1, 2, 3, 4, 5 and 3 more: "),
    ],
)
def test_missing_numbers_are_named_and_many_counted(kept: range, said: str) -> None:
    records = tuple(SENDS.records[i] for i in kept)
    found = missing_records(replace(SENDS, records=records))
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_a_huge_gap_is_counted_at_once() -> None:
    """Two records as far apart as numbers go."""
    import msgspec

    last = msgspec.structs.replace(SENDS.records[1], i=sys.maxsize)
    found = missing_records(replace(SENDS, records=(SENDS.records[0], last)))
    assert f"and {sys.maxsize - 1 - 5:,} more" in found
