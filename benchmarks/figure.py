"""One measured figure beside the bar it has to reach."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """``measured`` and ``bar`` in words with units; ``value`` is what was compared."""

    what: str
    measured: str
    bar: str
    value: float
    met: bool


def timed(action: Callable[[], object]) -> float:
    """Seconds the action takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began
