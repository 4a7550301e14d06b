"""How an operation of the broker fails. Only the two exceptions; who raises them is elsewhere."""

from __future__ import annotations


class Refused(Exception):
    """The broker refused, and nothing happened. ``kind`` is the error's name, e.g. ``lock_lost``."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind = kind


class Unsure(Refused):
    """The answer was lost or late: the operation may or may not have taken effect."""
