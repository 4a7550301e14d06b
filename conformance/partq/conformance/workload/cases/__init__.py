"""The directed cases, one requirement group a file. `ALL_CASES` has them all by name, in reading order.

A case says which requirements it exercises and builds a program for a profile; what the broker should
answer is the screens' business, not the case's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from partq.conformance.workload.cases import (
    connections,
    deferral,
    delivery,
    domains,
    expiry,
    peeking,
    rebalancing,
    routing,
    scheduling,
    sequencing,
    transactions,
)
from partq.conformance.workload.cases.case import Case, UnknownCase, chosen

__all__ = ["ALL_CASES", "Case", "UnknownCase", "chosen"]


def _by_name(*groups: Iterable[Case]) -> Mapping[str, Case]:
    found: dict[str, Case] = {}
    for case in (case for group in groups for case in group):
        if case.name in found:
            raise ValueError(f"two cases are called {case.name!r}")
        found[case.name] = case
    return MappingProxyType(found)


ALL_CASES: Final = _by_name(
    routing.CASES,
    sequencing.CASES,
    delivery.CASES,
    peeking.CASES,
    transactions.CASES,
    scheduling.CASES,
    deferral.CASES,
    expiry.CASES,
    rebalancing.CASES,
    connections.CASES,
    domains.CASES,
)
"""Every case by its name."""
