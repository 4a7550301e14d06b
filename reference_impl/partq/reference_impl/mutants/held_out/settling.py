"""Defects in locks, settling and delivery counts (RCV), set aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...clock import Steps
from ...errors import Refused
from ...flowend import FlowEnd
from ...frontend import FrontEnd
from ...network import Connection
from ...partition import Partition
from ...rules import PartitionedRules
from ...store import Stored
from ...transactions import Transaction
from ..registry import held_out


@held_out("locked-given-for-want-of-others", "RCV-6", profile="azure-flat")
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


@held_out("acknowledgement-frees-the-next", "RCV-6", profile="solace")
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


@held_out("refused-abandon-counted", "RCV-8", profile="azure-flat")
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


@held_out("lost-lock-enlisted", "RCV-8")
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


@held_out("expiry-not-counted", "RCV-9", profile="azure-flat")
class _ExpiryNotCounted(Partition):
    """A lock that runs out does not raise the delivery count."""

    def expire(self, now: int) -> None:
        ending = [(stored, stored.count) for until, _, stored, _ in self._leases if until <= now]
        super().expire(now)
        for stored, before in ending:
            stored.count = before


@held_out("abandoning-several-counts-one", "RCV-9")
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


@held_out("never-dead-letters", "RCV-9", profile="azure-standard")
class _NeverDeadLetters(Partition):
    """A message is delivered again however often it failed."""

    def is_spent(self, stored: Stored) -> bool:
        return False


@held_out("renewal-shown-too-long", "RCV-13")
class _RenewalShownTooLong(FrontEnd):
    """A renewed lock is shown to last half as long again as it may."""

    def renew(self, token: str) -> Steps[list[Any]]:
        longer = self.broker.config.lock_duration // 2
        shown = yield from super().renew(token)
        return [message._replace(locked_until=message.locked_until + longer) for message in shown]


@held_out("abandons-across-partitions", "RCV-14", profile="azure-standard")
class _AbandonsAcrossPartitions(FrontEnd):
    """One request may abandon messages of several partitions, outside of transactions."""

    def _settle(self, action: str, tokens: Sequence[str], transaction: Transaction | None) -> Steps[None]:
        if action != "abandon" or transaction is not None:
            yield from super()._settle(action, tokens, transaction)
            return
        for token in dict.fromkeys(tokens):
            self.check_locks((token,), (self.broker.locked(token),))
            self.broker.check_up(self.broker.locked(token).partition)
        for token in dict.fromkeys(tokens):
            yield from super()._settle(action, (token,), None)


@held_out("pairs-across-partitions", "RCV-14")
class _PairsAcrossPartitions(PartitionedRules):
    """A request may settle just two messages of two partitions, outside of transactions."""

    def check_settlement(self, stored: Sequence[Stored]) -> None:
        if len(stored) != 2:
            super().check_settlement(stored)

    def admit_settlement(self, txn: Transaction, stored: Sequence[Stored]) -> None:
        super().check_settlement(stored)
        super().admit_settlement(txn, stored)
