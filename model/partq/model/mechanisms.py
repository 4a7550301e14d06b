"""Which mechanisms there are: a folder each. Its `norm` is what conforms, its `deviations` are how a broker
breaks its rules; parts of a norm, and their deviations, stand beside them."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Final

NORMS: Final = (
    "sequencing.norm",
    "sequencing.entering",
    "sequencing.pending",
    "routing.norm",
    "scheduling.norm",
    "expiry.norm",
    "locks.norm",
    "domains.norm",
    "delivery.norm",
    "settling.norm",
    "deferral.norm",
    "peeking.cursors",
    "peeking.observed",
    "peeking.norm",
    "transactions.commits",
    "transactions.norm",
    "rebalancing.distributions",
    "rebalancing.norm",
    "rebalancing.events",
    "faults.norm",
    "admission.norm",
)
"""The modules of norms, in the order in which their clauses are named."""

DEVIATIONS: Final = (
    "sequencing.deviations",
    "locks.deviations",
    "settling.deviations",
    "routing.deviations",
    "faults.deviations",
    "transactions.deviations",
    "admission.deviations",
    "domains.deviations",
    "delivery.deviations",
    "peeking.observed_deviations",
    "peeking.deviations",
    "scheduling.deviations",
    "deferral.deviations",
    "expiry.deviations",
    "rebalancing.deviations",
    "rebalancing.events_deviations",
)
"""The modules of deviations, in the order in which what they change is put together."""


def load(modules: Iterable[str]) -> None:
    """Have these modules register what they hold."""
    for module in modules:
        importlib.import_module(f"{__package__}.{module}")
