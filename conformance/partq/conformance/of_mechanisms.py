"""What mechanisms give to the rooms: tables in modules of their folders, found by name."""

from __future__ import annotations

from typing import Any, Final

from partq.model import mechanisms

FOLDERS: Final = "partq.conformance.mechanisms"


def given(part: str, table: str) -> dict[str, Any]:
    """Mechanism -> the ``table`` of its module ``part``, of those that have one, in their order."""
    found = mechanisms.parts(FOLDERS, part)
    return {name: getattr(module, table) for name, module in found.items() if hasattr(module, table)}
