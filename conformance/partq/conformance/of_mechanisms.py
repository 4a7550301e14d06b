"""What mechanisms give to the rooms: the modules of their folders, found by name."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from partq.model import mechanisms

FOLDERS: Final = "partq.conformance.mechanisms"


def given(part: str) -> list[ModuleType]:
    """The modules of that name, in the order of mechanisms."""
    return list(mechanisms.parts(FOLDERS, part).values())
