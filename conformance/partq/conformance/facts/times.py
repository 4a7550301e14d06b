"""Times in the texts of findings: exact, for two of them may be a nanosecond apart, and with a unit."""

from __future__ import annotations

from typing import Final

from partq.conformance.facts.index import FOREVER

_UNITS: Final = ((9, "s"), (6, "ms"), (3, "µs"))
"""Digits after which the unit begins."""


def exact(ns: int) -> str:
    """An instant, or a length of time, of so many ns, in the greatest unit that it fills: ``1.00057 s``."""
    if ns >= FOREVER:
        return "the end"
    for digits, unit in _UNITS:
        whole, rest = divmod(abs(ns), 10**digits)
        if whole:
            decimals = f".{rest:0{digits}}".rstrip("0").rstrip(".")
            return f"{'-' if ns < 0 else ''}{whole}{decimals} {unit}"
    return f"{ns} ns"
