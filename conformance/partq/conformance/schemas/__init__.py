"""The published JSON Schemas (draft 2020-12) of histories, programs, profiles, verdicts
and comparisons.

The files are written by `python -m partq.conformance.schemas.build` from the tables that the code itself
uses; a test holds the two together.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final

NAMES: Final = ("history", "program", "profile", "verdicts", "comparison")


def load(name: str) -> dict[str, Any]:
    """The schema of that name, out of `NAMES`. Of a history, the first line is ``#/$defs/header``, every
    other one ``#/$defs/record``."""
    schema: dict[str, Any] = json.loads((resources.files(__name__) / f"{name}.schema.json").read_bytes())
    return schema
