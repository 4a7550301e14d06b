"""How a defect loses a message. No mutant is here."""

from __future__ import annotations

from ..partition import Partition
from ..store import Stored


def lose(stored: Stored) -> None:
    """Delete a message, free or locked, as if it had never been. One that is just being taken stays."""
    partition = stored.partition
    if not isinstance(partition, Partition):
        return
    others = sorted(entry for entry in partition._free if entry[1] is not stored)
    if stored.lock is not None or len(others) < len(partition._free):
        partition._free = others
        partition.complete(stored)
