"""Programs whose next step depends on what happened so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from partq.conformance.history import History
from partq.conformance.workload.program import Step

Guide: TypeAlias = Callable[[History], Step | None]
"""Shown the history so far, the next step; None where there is no more. What it raises ends the run."""


def guided(guide: Guide, so_far: Callable[[], History]) -> Iterator[Step]:
    """The steps that a guide gives, each after the one before it was done."""
    while (step := guide(so_far())) is not None:
        yield step
