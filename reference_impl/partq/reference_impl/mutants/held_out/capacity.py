"""Defects in how much a queue holds (ENT-6)."""

from __future__ import annotations

from ...frontend import FrontEnd
from ..registry import defect


@defect("ENT-6", "capacity", profile="azure-standard")
def room_for_one_partition_more(self: FrontEnd) -> int:
    """A queue has room for more than all its partitions."""
    return FrontEnd.capacity(self) * 3 // 2
