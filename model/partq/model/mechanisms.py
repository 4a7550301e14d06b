"""The one list of mechanisms. A mechanism is a folder of its name, here and in other packages, and its parts
are found there by name: no other module names a mechanism to find its parts.

Here `norm`, with its parts beside it, is conforming behaviour; `deviations`: how a broker breaks the rules.
"""

from __future__ import annotations

import importlib
from functools import cache
from pkgutil import iter_modules
from types import ModuleType
from typing import Final

MECHANISMS: Final = (
    "routing",
    "sequencing",
    "locks",
    "settling",
    "delivery",
    "peeking",
    "transactions",
    "scheduling",
    "deferral",
    "expiry",
    "duplicates",
    "topics",
    "forwarding",
    "deadletters",
    "sessions",
    "rebalancing",
    "resuming",
    "scaling",
    "faults",
    "domains",
    "admission",
    "management",
    "namespaces",
    "capacity",
)
"""The mechanisms that are built, in the order in which what they add is put together: of two that add to the
same, the later one sees what the earlier one made of it."""

_DEVIATIONS: Final = "deviations"


def norms() -> list[ModuleType]:
    """The modules of norms."""
    return [module for name, module in _modules() if not name.endswith(_DEVIATIONS)]


def deviations() -> list[ModuleType]:
    """The modules of deviations."""
    return [module for name, module in _modules() if name.endswith(_DEVIATIONS)]


def parts(package: str, part: str) -> dict[str, ModuleType]:
    """Mechanism -> the module ``part`` of its folder in a package, of those that have it."""
    folders = _inside(package)
    return {
        name: importlib.import_module(f"{package}.{name}.{part}")
        for name in MECHANISMS
        if name in folders and part in _inside(f"{package}.{name}")
    }


@cache
def _modules() -> tuple[tuple[str, ModuleType], ...]:
    """Their names and themselves; listing folders for each history would take a share of the judge's time."""
    return tuple(
        (name, importlib.import_module(f"{__package__}.{mechanism}.{name}"))
        for mechanism in MECHANISMS
        for name in sorted(_inside(f"{__package__}.{mechanism}"))
    )


def _inside(package: str) -> set[str]:
    return {module.name for module in iter_modules(importlib.import_module(package).__path__)}
