"""Defects in delivery counts (RCV-9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import Steps
from ..errors import Refused
from ..faults import Faults
from ..frontend import FrontEnd
from ..network import Connection
from ..partition import Partition
from ..store import Stored
from .registry import defect


@defect("abandon-not-counted", "RCV-9")
class _AbandonNotCounted(FrontEnd):
    """Abandoning, outside of transactions, does not raise the delivery count."""

    def apply(self, action: str, stored: Stored) -> None:
        stored.count -= action == "abandon"
        super().apply(action, stored)


@defect("failures-counted-twice", "RCV-9")
class _FailuresCountedTwice(Partition):
    """A failed delivery, abandoned or run out, raises the delivery count by two."""

    def abandon(self, stored: Stored) -> None:
        stored.count += 1
        super().abandon(stored)

    def is_spent(self, stored: Stored) -> bool:
        return self.most_tries is not None and stored.count >= 2 * self.most_tries


@defect("kill-forgets-expiry", "RCV-9")
class _KillForgetsExpiry(Faults):
    """A lock that ran out before a kill, or a partition's fault, is only counted if anybody asked since."""

    def drop_locks(self, partition: Partition) -> None:
        partition.recover()


@defect("refused-abandon-counted", "RCV-8", profile="azure-flat")
class _RefusedAbandonCounted(FrontEnd):
    """Abandoning with a lock that has run out is refused, and raises the delivery count if nobody got the
    message since."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        found = [self.broker.locks.get(token) for token in tokens]
        try:
            yield from super().settle(connection, action, tokens, txn)
        except Refused as refused:
            late = refused.kind == "lock_lost" and action == "abandon" and txn is None
            for stored in found if late else ():
                if stored is not None and not stored.gone and stored.until <= self.clock.now:
                    stored.count += 1
            raise


@defect("expiry-not-counted", "RCV-9", profile="azure-flat")
class _ExpiryNotCounted(Partition):
    """A lock that runs out does not raise the delivery count."""

    def expire(self, now: int) -> None:
        ending = [(stored, stored.count) for until, _, stored, _ in self._leases if until <= now]
        super().expire(now)
        for stored, before in ending:
            stored.count = before


@defect("abandoning-several-counts-one", "RCV-9")
class _AbandoningSeveralCountsOne(FrontEnd):
    """Of several messages that are abandoned at once the delivery count of one is raised. (Transactions do it
    right.)"""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._further: set[str | None] = set()

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        self._further.difference_update(tokens[:1])
        self._further.update(tokens[1:])
        yield from super().settle(connection, action, tokens, txn)

    def apply(self, action: str, stored: Stored) -> None:
        stored.count -= action == "abandon" and stored.lock in self._further
        super().apply(action, stored)


@defect("never-dead-letters", "RCV-9", profile="azure-standard")
class _NeverDeadLetters(Partition):
    """A message is delivered again however often it failed."""

    def is_spent(self, stored: Stored) -> bool:
        return False
