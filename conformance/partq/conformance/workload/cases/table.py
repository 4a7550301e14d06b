"""All directed cases by name, in the order of mechanisms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from partq.conformance.of_mechanisms import given
from partq.conformance.workload.cases.case import Case


def _by_name(*groups: Iterable[Case]) -> Mapping[str, Case]:
    found: dict[str, Case] = {}
    for case in (case for group in groups for case in group):
        if case.name in found:
            raise ValueError(f"two cases are called {case.name!r}")
        found[case.name] = case
    return MappingProxyType(found)


ALL_CASES: Final = _by_name(*given("programs", "CASES").values())
"""Every case by its name."""
