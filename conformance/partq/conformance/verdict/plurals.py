"""Numbers with their nouns, for terminal and pages alike."""

from __future__ import annotations


def plural(number: int, noun: str, nouns: str | None = None) -> str:
    """The number and its noun: ``1 trace``, ``2,000 traces``."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"
