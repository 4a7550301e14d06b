"""Set aside: what becomes of a queue whose number of partitions changes (REB-17)."""

from __future__ import annotations

from ...errors import Refused
from ...scaling import Scaling
from ..forms import then
from ..registry import defect


@defect("REB-17", "scale", then, profile="solace")
def refused_and_scaled(self: Scaling, count: int) -> None:
    """A change of the number of partitions is refused when it is done."""
    raise Refused("invalid_operation", "the number cannot be changed")


@defect("REB-17", "scale", profile="solace")
def one_is_deleted(self: Scaling, count: int) -> None:
    """However many partitions there are too many, one is deleted."""
    Scaling.scale(self, max(count, len(self.broker.partitions) - 1))
