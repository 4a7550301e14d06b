"""The checkers, one property family a file. `ALL` is the whole suite, in the catalogue's order."""

from __future__ import annotations

from typing import Final

from .protocol import Checker, Report

ALL: Final[tuple[Checker, ...]] = ()

__all__ = ["ALL", "Checker", "Report"]
