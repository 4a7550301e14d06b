"""The checkers, one property family a file. `ALL` is the whole suite, in the catalogue's order."""

from __future__ import annotations

from typing import Final

from . import admission, flow_order, flows, ownership, rebalancing, routing, sequencing, transactions
from .protocol import Checker, Report

ALL: Final[tuple[Checker, ...]] = (
    routing.CHECKER,
    admission.CHECKER,
    sequencing.CHECKER,
    transactions.CHECKER,
    ownership.CHECKER,
    flows.CHECKER,
    flow_order.CHECKER,
    rebalancing.CHECKER,
)

__all__ = ["ALL", "Checker", "Report"]
