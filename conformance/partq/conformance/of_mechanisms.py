"""What mechanisms give to the rooms: tables in modules of their folders, found by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from partq.model import mechanisms

FOLDERS: Final = "partq.conformance.mechanisms"

TABLES: Final[Mapping[str, frozenset[str]]] = {
    "steps": frozenset({"OPERATIONS"}),
    "programs": frozenset({"PHRASES", "THEME", "CASES", "LEFTOVERS", "EMPTYING"}),
    "reading": frozenset({"USE", "EXERCISED", "SUBQUEUE"}),
}
"""Module -> the tables that rooms ask it for. A constant of its own begins with an underscore."""


def given(part: str, table: str) -> dict[str, Any]:
    """Mechanism -> the ``table`` of its module ``part``, of those that have one, in their order. Raises
    `LookupError` for a table that no room asks for, here or in a module."""
    found = mechanisms.parts(FOLDERS, part)
    constants = {name for module in found.values() for name in module.__annotations__ if name.isupper()}
    tables = {table, *(name for name in constants if not name.startswith("_"))}
    if unknown := sorted(tables - TABLES[part]):
        raise LookupError(f"no room asks for these tables of a mechanism's {part}: {', '.join(unknown)}")
    return {name: getattr(module, table) for name, module in found.items() if hasattr(module, table)}
