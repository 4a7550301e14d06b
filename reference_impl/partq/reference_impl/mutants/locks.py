"""Defects in locks, settling and delivery counts (RCV)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import Steps
from ..errors import Refused
from ..frontend import FrontEnd
from ..network import Connection
from ..partition import Partition
from ..rules import PartitionedRules
from ..store import Stored
from .registry import defect


@defect("lock-ends-early", "RCV-6")
class _LockEndsEarly(Partition):
    """A lock is shown in full and kept for a third of its time."""

    def lock(self, stored: Stored, token: str, until: int) -> None:
        super().lock(stored, token, until)
        self._leases.sort()
        for index, (end, order, leased, name) in enumerate(self._leases):
            if name == token:
                self._leases[index] = (end - 20_000_000_000, order, leased, name)
        self._leases.sort()

    def expire(self, now: int) -> None:
        while self._leases and self._leases[0][0] <= now:
            _, _, stored, token = self._leases.pop(0)
            if stored.lock == token:
                self.abandon(stored)


@defect("renewal-forgotten", "RCV-6")
class _RenewalForgotten(Partition):
    """A renewal is answered and shown, and the lock ends as before."""

    def renew(self, stored: Stored, until: int) -> None:
        stored.until = until

    def expire(self, now: int) -> None:
        for until, _, stored, token in list(self._leases):
            if until <= now and stored.lock == token:
                stored.until = until
        super().expire(now)


@defect("locked-and-still-free", "RCV-6")
class _LockedAndStillFree(Partition):
    """Now and then a locked message is left among the free ones."""

    def lock(self, stored: Stored, token: str, until: int) -> None:
        super().lock(stored, token, until)
        if stored.order % 4 == 3 and stored.tries == 1:
            self._free.append((stored.order, stored))
            self._free.sort()


@defect("settles-with-lost-lock", "RCV-8")
class _SettlesWithLostLock(FrontEnd):
    """Nobody looks whether a lock's time is over."""

    def check_locks(self, tokens: Sequence[str], found: Sequence[Stored]) -> None:
        return


@defect("abandons-with-lost-lock", "RCV-8")
class _AnyLockWillDo(FrontEnd):
    """A lock that has ended is said to be settled, without effect."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        try:
            yield from super().settle(connection, action, tokens, txn)
        except Refused as refused:
            if refused.kind != "lock_lost" or txn is not None:
                raise


@defect("refused-and-done", "RCV-8")
class _RefusedAndDone(FrontEnd):
    """Completing with a lock that has run out is refused, and deletes the message."""

    def check_locks(self, tokens: Sequence[str], found: Sequence[Stored]) -> None:
        try:
            super().check_locks(tokens, found)
        except Refused as refused:
            for stored in found if refused.kind == "lock_lost" else ():
                if not stored.gone:
                    stored.partition.complete(stored)
            raise


@defect("abandon-not-counted", "RCV-9")
class _AbandonNotCounted(Partition):
    """Abandoning does not raise the delivery count."""

    def abandon(self, stored: Stored) -> None:
        self.release(stored)


@defect("expiry-counted-twice", "RCV-9")
class _AbandonCountedTwice(Partition):
    """A failed delivery raises the delivery count by two."""

    def abandon(self, stored: Stored) -> None:
        stored.count += 1
        super().abandon(stored)


@defect("lock-until-in-the-future", "RCV-13")
class _LockUntilFuture(FrontEnd):
    """Locks are shown to last twice as long as the queue's lock duration says."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        if delete:
            return shown
        longer = self.broker.config.lock_duration
        return [message._replace(locked_until=message.locked_until + longer) for message in shown]


@defect("settles-across-partitions", "RCV-14")
class _SettlesAcrossPartitions(PartitionedRules):
    """One request may settle messages of several partitions."""

    def check_settlement(self, stored: Sequence[Stored]) -> None:
        return
