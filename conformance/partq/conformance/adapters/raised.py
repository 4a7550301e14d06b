"""Where in an adapter's code an exception was raised, as messages name it."""

from __future__ import annotations

from pathlib import Path
from traceback import extract_tb
from typing import Final

ASKING: Final = str(Path(__file__).with_name("questions.py"))
"""Where partq's own calls of adapters are made, and limits of their time raised."""


def place(error: BaseException) -> str:
    """`` (file:line)`` of the innermost frame, to be put after a text; empty where there is none but of
    `ASKING`."""
    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename != ASKING]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
