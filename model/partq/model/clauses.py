"""Which function of the model implements which rule: a registry filled when the model is imported.

`clause` marks a function with the IDs it implements and hands the same function back, so a marked
function costs nothing more to call. Nothing here knows what a clause does.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Final, TypeVar

from .requirements import requirement

F = TypeVar("F", bound=Callable[..., object])

_MECHANISMS: Final = (
    "sequencing",
    "pending",
    "routing",
    "memory",
    "locks",
    "domains",
    "delivery",
    "settling",
    "cursors",
    "peeked",
    "peeking",
    "commits",
    "transactions",
    "distributions",
    "rebalancing",
    "assignment_events",
    "faults",
    "machine",
)

_registry: Final[dict[str, list[str]]] = {}


def clause(*ids: str) -> Callable[[F], F]:
    """Mark a function as the clause of these requirements. Raises `UnknownRequirement` for a wrong ID."""

    def mark(function: F) -> F:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        for id in ids:
            _registry.setdefault(requirement(id).id, []).append(name)
        return function

    return mark


def of(id: str) -> tuple[str, ...]:
    """The clauses of a requirement as ``module.function``, sorted; empty where the model has none."""
    return tuple(sorted(_all().get(id, ())))


def covered() -> tuple[str, ...]:
    """Every requirement that has a clause, sorted."""
    return tuple(sorted(_all()))


def _all() -> dict[str, list[str]]:
    for module in _MECHANISMS:
        importlib.import_module(f"{__package__}.{module}")
    return _registry
