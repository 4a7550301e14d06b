"""The checkers, one property family a file. `ALL` is the whole suite, in the catalogue's order."""

from __future__ import annotations

from typing import Final

from . import flow_order, flows, ownership, rebalancing
from .protocol import Checker, Report

ALL: Final[tuple[Checker, ...]] = (
    ownership.CHECKER,
    flows.CHECKER,
    flow_order.CHECKER,
    rebalancing.CHECKER,
)

__all__ = ["ALL", "Checker", "Report"]
