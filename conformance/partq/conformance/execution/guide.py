"""Programs whose next step depends on what happened so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from partq.conformance.history import History
from partq.conformance.workload.program import Step

Guide: TypeAlias = Callable[[History], Step | None]
"""Shown the history so far, the next step; None where there is no more. What it raises ends the run."""
