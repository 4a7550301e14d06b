"""Defects in locks, and in settling by them (RCV)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import Steps
from ..errors import Refused
from ..flowend import FlowEnd
from ..frontend import FrontEnd
from ..network import Connection
from ..partition import Partition
from ..rules import PartitionedRules
from ..store import Stored
from ..transactions import Transaction
from .registry import defect


@defect("lock-ends-early", "RCV-6")
class LockEndsEarly(Partition):
    """A lock is shown in full and kept for a third of its time, unless a transaction uses it."""

    def shortens(self, stored: Stored) -> bool:
        """Whether it does so with the lock on this message."""
        return True

    def expire(self, now: int) -> None:
        for until, _, stored, token in list(self._leases):
            early = until - 20_000_000_000 <= now and stored.until == until and self.shortens(stored)
            if early and stored.lock == token and stored.enlisted is None:
                self.abandon(stored)
        super().expire(now)

    def has_free(self, now: int) -> bool:
        self.expire(now)
        return super().has_free(now)


@defect("renewal-forgotten", "RCV-6")
class _RenewalForgotten(Partition):
    """A renewal is answered and shown, and the lock ends as before."""

    def renew(self, stored: Stored, until: int) -> None:
        stored.until = until

    def expire(self, now: int) -> None:
        for until, _, stored, token in self._leases:
            if until <= now and stored.lock == token and stored.enlisted is None:
                stored.until = until
        super().expire(now)


@defect("lock-not-kept", "RCV-6")
class _LockNotKept(FrontEnd):
    """The first lock on every fourth message is shown, and over at once."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        for stored in [self.broker.locked(message.lock) for message in shown if message.lock is not None]:
            if stored.order % 4 == 3 and stored.tries == 1:
                partition.abandon(stored)
        return shown


@defect("settles-with-lost-lock", "RCV-8")
class _SettlesWithLostLock(FrontEnd):
    """Nobody looks whether a lock's time is over, as long as nobody else has got the message since."""

    def check_locks(self, tokens: Sequence[str], found: Sequence[Stored]) -> None:
        if any(stored.lock != token for token, stored in zip(tokens, found, strict=True)):
            raise Refused("lock_lost", "the lock has ended")
        if any(stored.enlisted is not None for stored in found):
            raise Refused("invalid_operation", "a transaction is settling this message")


@defect("lost-lock-said-to-settle", "RCV-8")
class _LostLockSaidToSettle(FrontEnd):
    """A settlement by a single lock that has ended is said to be done, without effect."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        try:
            yield from super().settle(connection, action, tokens, txn)
        except Refused as refused:
            if refused.kind != "lock_lost" or txn is not None or len(tokens) > 1:
                raise


@defect("refused-and-done", "RCV-8", profile="azure-flat")
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
    """One request may settle messages of several partitions, outside of transactions."""

    def check_settlement(self, stored: Sequence[Stored]) -> None:
        return

    def admit_settlement(self, txn: Transaction, stored: Sequence[Stored]) -> None:
        super().check_settlement(stored)
        super().admit_settlement(txn, stored)


@defect("locked-given-for-want-of-others", "RCV-6", profile="azure-flat")
class _LockedGiven(FrontEnd):
    """A receive that finds nothing free is given the oldest locked message, if that was delivered once and
    no transaction uses its lock."""

    def _ask(self, most: int, delete: bool) -> Steps[list[Any]]:
        shown = yield from super()._ask(most, delete)
        for partition in self.partitions if not shown and not delete else ():
            for stored in partition.store.live():
                if stored.lock is not None and stored.enlisted is None and stored.tries == 1:
                    partition.release(stored)
                    return self.deliver(partition, 1, delete)
        return shown


@defect("acknowledgement-frees-the-next", "RCV-6", profile="solace")
class _AcknowledgementFreesTheNext(FlowEnd):
    """Acknowledging a message also gives back the next unacknowledged one of its partition, if that was
    delivered once."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        seats = [seat for seat in self.assignments.seats if any(token in seat.unacked for token in tokens)]
        yield from super().settle(connection, action, tokens, txn)
        for seat in seats if action == "complete" else ():
            token, stored = next(iter(seat.unacked.items()), ("", None))
            if stored is not None and stored.tries == 1:
                del seat.unacked[token]
                seat.partition.release(stored)
                self.broker.ring()


@defect("lost-lock-enlisted", "RCV-8")
class _LostLockEnlisted(FrontEnd):
    """In a transaction nobody looks whether a lock's time is over. Its commit does."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._enlisting: set[str] = set()

    def _settle(self, action: str, tokens: Sequence[str], transaction: Transaction | None) -> Steps[None]:
        if transaction is None:
            self._enlisting.difference_update(tokens)
        else:
            self._enlisting.update(tokens)
        yield from super()._settle(action, tokens, transaction)

    def check_locks(self, tokens: Sequence[str], found: Sequence[Stored]) -> None:
        try:
            super().check_locks(tokens, found)
        except Refused as refused:
            if refused.kind != "lock_lost" or not self._enlisting.issuperset(tokens):
                raise


@defect("renewal-shown-too-long", "RCV-13")
class _RenewalShownTooLong(FrontEnd):
    """A renewed lock is shown to last half as long again as it may."""

    def renew(self, token: str) -> Steps[list[Any]]:
        longer = self.broker.config.lock_duration // 2
        shown = yield from super().renew(token)
        return [message._replace(locked_until=message.locked_until + longer) for message in shown]
