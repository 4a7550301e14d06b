"""Defects in deferral (RCV-10), and in what locks, faults, peeks and transactions make of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..frontend import FrontEnd
from ..partition import Partition
from ..store import Stored
from ..transactions import Transaction
from .families import store_again
from .forms import answering, before
from .registry import defect


@defect("RCV-10", "defer")
def deferred_delivered(self: Partition, stored: Stored) -> None:
    """A deferred message is delivered by any receive, as if it had been given back."""
    self.release(stored)
    stored.deferred = True


@defect("RCV-10", "lapse", before, profile="azure-flat")
def expiry_ends_deferral(self: Partition, stored: Stored) -> None:
    """A deferred message whose lock runs out is delivered by any receive."""
    stored.deferred = False


@defect("RCV-10", profile="azure-standard")
class DeferredOfAnyPartition(FrontEnd):
    """One call receives deferred messages of several partitions."""

    def partition_asked(self, numbers: Sequence[int]) -> Partition:
        return self.broker.partition_of(numbers[0])

    def find_deferred(self, partition: Partition, number: int) -> Stored:
        return super().find_deferred(self.broker.partition_of(number), number)

    def hand_out(self, partition: Partition, stored: Stored, delete: bool) -> Any:
        home = stored.partition
        return super().hand_out(home if isinstance(home, Partition) else partition, stored, delete)


@defect("SEQ-6", "defer", profile="azure-standard")
def deferral_renumbers(self: Partition, stored: Stored) -> None:
    """A deferred message is stored anew, under a new number."""
    store_again(self, stored).deferred = True


@defect("RCV-2", "lapse")
def deferred_lost_on_expiry(self: Partition, stored: Stored) -> None:
    """A deferred message whose lock runs out is gone."""
    if stored.deferred:
        self.complete(stored)
    else:
        Partition.lapse(self, stored)


@defect("RCV-9", "abandon", before, profile="azure-flat")
def deferred_not_counted(self: Partition, stored: Stored) -> None:
    """A failed delivery of a deferred message does not raise its delivery count."""
    stored.count -= stored.deferred


@defect("PEEK-7", "visible")
def deferred_not_peeked(self: Partition, first: int) -> Iterator[Stored]:
    """A peek does not show deferred messages."""
    return (stored for stored in Partition.visible(self, first) if not stored.deferred)


@defect("PEEK-7", "state_of", profile="azure-standard")
def deferred_called_active(self: FrontEnd, stored: Stored) -> str:
    """A peek shows deferred messages as active."""
    return "active" if stored.deferred else FrontEnd.state_of(self, stored)


@defect("TXN-5", "opened", answering)
def defers_before_commit(self: FrontEnd, action: str, opened: Transaction | None) -> Transaction | None:
    """A message that a transaction defers is deferred at once, and no rollback brings it back."""
    return None if action == "defer" else opened
