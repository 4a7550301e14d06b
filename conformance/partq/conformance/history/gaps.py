"""Records that are missing from a history, by their numbers."""

from __future__ import annotations

from itertools import islice
from typing import Final

from partq.conformance.history.record import History

SHOWN: Final = 5
"""How many missing record numbers are named."""


def missing_records(history: History) -> str:
    """Which record numbers are missing, in words: what a deleted line did seems to be the broker's doing.
    Empty if none is."""
    numbers = {record.i for record in history.records}
    span = range(min(numbers, default=0), max(numbers, default=-1) + 1)
    missing = span.stop - span.start - len(numbers)  # a sys.maxsize of them is too many for len()
    if not missing:
        return ""
    first = ", ".join(map(str, islice((i for i in span if i not in numbers), SHOWN)))
    more = f" and {missing - SHOWN:,} more" if missing > SHOWN else ""
    return f"no record {first}{more}: if lines were deleted, the verdict is not the broker's"
