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


def timed(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds the action takes, by that clock."""
    began = clock()
    action()
    return clock() - began
