"""Defects in how much a queue holds (ENT-6)."""

from __future__ import annotations

from collections.abc import Sequence

from ..frontend import FrontEnd
from ..store import Content
from .registry import defect


@defect("ENT-6", "check_room", profile="azure-standard")
def never_full(self: FrontEnd, contents: Sequence[Content], key: str | None) -> None:
    """A queue takes any number of bytes."""


@defect("ENT-6", "used", profile="azure-standard")
def fullest_partition_stands_for_the_queue(self: FrontEnd) -> int:
    """A queue is taken to hold what its fullest partition does."""
    return max(map(self.used_in, self.broker.partitions))


@defect("ENT-6", "capacity", profile="azure-standard")
def half_a_partition_is_all(self: FrontEnd) -> int:
    """A queue has room for half of the size that was chosen."""
    return FrontEnd.capacity(self) // len(self.broker.partitions) // 2
