"""All directed cases by name, in reading order: those of the files here, and those of each mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from partq.conformance.of_mechanisms import given
from partq.conformance.workload.cases import (
    connections,
    delivery,
    domains,
    peeking,
    rebalancing,
    routing,
    sequencing,
    transactions,
)
from partq.conformance.workload.cases.case import Case


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
    *given("programs", "CASES").values(),
    rebalancing.CASES,
    connections.CASES,
    domains.CASES,
)
"""Every case by its name."""
