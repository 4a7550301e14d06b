"""Set aside: the time to live (RCV-15)."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import Refused
from ...expiry import Lifetimes
from ...faults import Faults
from ...frontend import FrontEnd
from ...store import Stored
from ..forms import before, then
from ..registry import defect


@defect("RCV-15", "check_locks", then)
def expired_cannot_be_settled(self: FrontEnd, found: Sequence[Stored]) -> None:
    """A lock on a message whose time to live has ended settles nothing."""
    if any(self.broker.lifetimes.has_ended(stored, self.clock.now) for stored in found):
        raise Refused("lock_lost", "the message has expired")


@defect("RCV-15", "start", before, profile="azure-flat")
def kill_starts_lifetimes_anew(self: Faults) -> None:
    """The time to live of what is stored runs from the broker's last start."""
    for partition in self.broker.partitions:
        for stored in partition.store.live():
            if stored.content.ttl is not None:
                stored.ends = self.broker.clock.now + stored.content.ttl


@defect("RCV-2", "begin", then)
def dies_at_half_its_time(self: Lifetimes, stored: Stored) -> None:
    """A message vanishes when half of its time to live has gone."""
    if stored.ends is not None:
        stored.ends -= (stored.ends - stored.enqueued_at) // 2
