"""Set aside: deferral (RCV-10)."""

from __future__ import annotations

from ...errors import Refused
from ...frontend import FrontEnd
from ...partition import Partition
from ...store import Stored
from ..forms import before
from ..registry import defect


@defect("RCV-10", "recover", before)
def kill_ends_deferral(self: Partition) -> None:
    """After a kill deferred messages are delivered by any receive."""
    for stored in self.store.live():
        stored.deferred = False


@defect("RCV-2", "recover", before, profile="azure-standard")
def kill_loses_deferred(self: Partition) -> None:
    """Deferred messages are gone after a kill."""
    for stored in [one for one in self.store.live() if one.deferred]:
        self.complete(stored)


@defect("RCV-6", "find_deferred", profile="azure-flat")
def locked_deferred_delivered(self: FrontEnd, partition: Partition, number: int) -> Stored:
    """A deferred message that is locked is delivered by its number to others, too."""
    for stored in partition.store.live():
        if stored.number == number and stored.deferred:
            return stored
    raise Refused("not_found", "nothing is deferred under that number")


@defect("RCV-10", "abandon", before)
def abandon_ends_deferral(self: Partition, stored: Stored) -> None:
    """A deferred message that is given back, or whose lock runs out, is delivered by any receive."""
    stored.deferred = False
