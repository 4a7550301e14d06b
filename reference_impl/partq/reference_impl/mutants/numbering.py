"""Defects in numbers, partitions and times of one message that change, and in what a transaction does to them
(SEQ)."""

from __future__ import annotations

from heapq import heappop
from typing import Any

from ..clock import Steps
from ..faults import Faults
from ..frontend import FrontEnd
from ..partition import Partition
from ..store import Content, Store, Stored
from .lowering import Lowering
from .registry import defect
from .sequencing import NumbersGoBack
from .viewing import Viewing


@defect("number-used-again", "SEQ-1", profile="azure-flat")
class _NumberUsedAgain(Store):
    """The number of the newest message is free again when that is deleted."""

    def delete(self, stored: Stored) -> None:
        super().delete(stored)
        if stored.order == self._orders - 1:
            self._counter = (self._counter - 1) % (1 << self._bits)


@defect("flat-numbers-go-back", "SEQ-3", profile="azure-flat", also=("SEQ-7",))
class _FlatNumbersGoBack(NumbersGoBack):
    """After a pause of 20 seconds a message gets the number below the lowest one, if there is one."""


@defect("expiry-renumbers", "SEQ-6", profile="azure-flat")
class _ExpiryRenumbers(Partition):
    """A message whose lock runs out is stored anew, under a new number."""

    def expire(self, now: int) -> None:
        leases = self._leases
        while leases and leases[0][0] <= now:
            until, _, stored, token = heappop(leases)
            if stored.lock == token and stored.until == until:
                self.complete(stored)
                again = self.store.append(stored.content, stored.enqueued_at, self)
                again.count = stored.count + 1
                self.release(again)


@defect("locked-number-differs", "SEQ-6")
class _LockedNumberDiffers(Viewing):
    """A locked message is peeked under another number than it is received under."""

    def viewed(self, stored: Stored, message: Any) -> Any:
        return message if stored.lock is None else message._replace(seq=message.seq ^ (1 << 40))


@defect("locked-partition-differs", "SEQ-2", profile="azure-standard")
class _LockedPartitionDiffers(Viewing):
    """A locked message is peeked with the next partition beside its true number."""

    def viewed(self, stored: Stored, message: Any) -> Any:
        return message if stored.lock is None else message._replace(partition=message.partition + 1)


@defect("enqueued-before-commit", "SEQ-7")
class _EnqueuedBeforeCommit(FrontEnd):
    """What a transaction sent, and nothing else did, is enqueued twenty seconds before its commit."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        sends = [] if txn is None or txn.settlements else list(txn.sends)
        if txn is not None and sends:
            txn.sends.clear()
        yield from super().commit(name)
        if txn is not None and txn.partition is not None and sends:
            txn.partition.accept(sends, self.clock.now - 20_000_000_000)
            self.broker.ring()


@defect("abandoning-enqueues-anew", "SEQ-7", profile="azure-flat")
class _AbandoningEnqueuesAnew(FrontEnd):
    """An abandoned message is shown to be enqueued when it was abandoned."""

    def apply(self, action: str, stored: Stored) -> None:
        if action == "abandon":
            stored.enqueued_at = self.clock.now
        super().apply(action, stored)


@defect("redelivered-under-another-partition", "SEQ-2")
class _RedeliveredUnderAnotherPartition(FrontEnd):
    """A message that is delivered again is shown in the next partition, beside its true number."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        return [m._replace(partition=m.partition + 1) if m.delivery_count else m for m in shown]


@defect("keyless-numbered-first", "SEQ-3", profile="azure-flat", also=("SEQ-7",))
class _KeylessNumberedFirst(Lowering):
    """Messages without a key are numbered downwards, below all others. Their enqueued times then decrease
    along the numbers."""

    def lowers(self, content: Content, now: int) -> bool:
        return content.session_id is None and content.partition_key is None


@defect("kill-renumbers-what-is-locked", "SEQ-6", profile="azure-flat")
class _KillRenumbersLocked(Faults):
    """What is locked at a kill is stored anew, under a new number."""

    def drop_locks(self, partition: Partition) -> None:
        now = self.broker.clock.now
        for stored in [one for one in partition.store.live() if one.lock is not None and one.until > now]:
            partition.complete(stored)
            again = partition.store.append(stored.content, stored.enqueued_at, partition)
            again.count, again.tries = stored.count, stored.tries
        super().drop_locks(partition)
