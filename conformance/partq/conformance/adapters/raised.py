"""Where in an adapter's code an exception was raised, as messages name it."""

from __future__ import annotations

from traceback import extract_tb


def place(error: BaseException, ours: int = 0) -> str:
    """`` (file:line)`` of the innermost frame, to be put after a text; empty where there is none. The first
    ``ours`` frames are of partq's own call."""
    frames = extract_tb(error.__traceback__)[ours:]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
