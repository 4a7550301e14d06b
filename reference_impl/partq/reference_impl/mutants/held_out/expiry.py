"""Set aside: the time to live (RCV-15)."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import Refused
from ...expiry import Lifetimes
from ...faults import Faults
from ...frontend import FrontEnd
from ...settling import Settlement
from ...store import Stored
from ..registry import defect


@defect("RCV-15", "check_locks")
def expired_cannot_be_settled(self: FrontEnd, asked: Settlement, found: Sequence[Stored]) -> None:
    """A lock on a message whose time to live has ended settles nothing."""
    FrontEnd.check_locks(self, asked, found)
    if any(self.broker.lifetimes.has_ended(stored, self.clock.now) for stored in found):
        raise Refused("lock_lost", "the message has expired")


@defect("RCV-15", "start", profile="azure-flat")
def kill_starts_lifetimes_anew(self: Faults) -> None:
    """The time to live of what is stored runs from the broker's last start."""
    for partition in self.broker.partitions:
        for stored in partition.store.live():
            if stored.content.ttl is not None:
                stored.ends = self.broker.clock.now + stored.content.ttl
    Faults.start(self)


@defect("RCV-2", "begin")
def dies_at_half_its_time(self: Lifetimes, stored: Stored) -> None:
    """A message vanishes when half of its time to live has gone."""
    Lifetimes.begin(self, stored)
    if stored.ends is not None:
        stored.ends -= (stored.ends - stored.enqueued_at) // 2
