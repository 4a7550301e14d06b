"""The checkers, one property family a file. `ALL` is the whole suite, in the catalogue's order."""

from __future__ import annotations

from typing import Final

from . import (
    admission,
    delivery,
    flow_order,
    flows,
    ownership,
    peeking,
    rebalancing,
    routing,
    sequencing,
    transactions,
)
from .protocol import Checker, Report

ALL: Final[tuple[Checker, ...]] = (
    routing.CHECKER,
    admission.CHECKER,
    sequencing.CHECKER,
    delivery.CHECKER,
    peeking.CHECKER,
    transactions.CHECKER,
    ownership.CHECKER,
    flows.CHECKER,
    flow_order.CHECKER,
    rebalancing.CHECKER,
)

__all__ = ["ALL", "Checker", "Report"]
