"""Defects in locks, settling and delivery counts (RCV), set aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...clock import HOP, Steps
from ...errors import Refused
from ...flowend import FlowEnd
from ...frontend import FrontEnd
from ...network import Connection
from ...partition import Partition
from ...rules import PartitionedRules
from ...settings import SECOND
from ...store import Stored
from ...transactions import Transaction
from ..registry import held_out

LONGER = 10 * SECOND
"""ns by which a careless partition locks for too long."""

GRACE = 5 * SECOND
"""ns for which a careless partition lets a lost lock settle."""


@held_out("renewal-kept-a-third", "RCV-6", profile="azure-flat")
class _RenewalKeptAThird(FrontEnd):
    """A renewed lock is shown in full, and kept for a third of its time."""

    def renew(self, token: str) -> Steps[list[Any]]:
        shown = yield from super().renew(token)
        stored = self.broker.locks.get(token)
        if stored is not None:
            third = self.broker.config.lock_duration // 3
            stored.partition.renew(stored, min(stored.until, self.clock.now + third))
        return shown


@held_out("deleting-receive-takes-locked", "RCV-6")
class _DeletingReceiveTakesLocked(FrontEnd):
    """A receive that deletes, and finds nothing free, gets the oldest locked message of a partition, if no
    transaction uses its lock."""

    def _ask(self, most: int, delete: bool) -> Steps[list[Any]]:
        shown = yield from super()._ask(most, delete)
        now = self.clock.now
        for partition in self.partitions if delete and not shown else ():
            for stored in partition.store.live() if partition.up else ():
                if stored.lock is not None and stored.until > now and stored.enlisted is None:
                    partition.complete(stored)
                    return [self.broker.show(stored, None)]
        return shown


@held_out("abandoning-one-frees-all", "RCV-6", profile="solace")
class _AbandoningOneFreesAll(FlowEnd):
    """Giving a message back gives back all that is unacknowledged of its partition."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        seats = [seat for seat in self.assignments.seats if any(token in seat.unacked for token in tokens)]
        yield from super().settle(connection, action, tokens, txn)
        for seat in seats if action == "abandon" else ():
            self.assignments.give_back(seat)
            self.assignments.settled(seat)
            self.broker.ring()


@held_out("stale-renewal-said-ok", "RCV-8")
class _StaleRenewalSaidOk(FrontEnd):
    """Renewing a lock that has ended is answered ok, without effect."""

    def renew(self, token: str) -> Steps[list[Any]]:
        try:
            return (yield from super().renew(token))
        except Refused as refused:
            if refused.kind == "lock_lost":
                return []
            raise


@held_out("settling-has-a-grace-time", "RCV-8", profile="azure-flat")
class _SettlingHasAGraceTime(Partition):
    """A lock that ran out less than five seconds ago is good, as long as nobody has asked for messages
    since."""

    def holds(self, stored: Stored, token: str, now: int) -> bool:
        return stored.lock == token and now < stored.until + GRACE


@held_out("settled-twice-said-ok", "RCV-8", profile="azure-standard")
class _SettledTwiceSaidOk(FrontEnd):
    """A settlement by locks that have all settled before, outside of transactions, is answered ok."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._settled: set[str] = set()

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        if txn is None and self._settled.issuperset(tokens) and self.broker.alive:
            yield HOP
            return
        yield from super().settle(connection, action, tokens, txn)
        if txn is None:
            self._settled.update(tokens)


@held_out("count-stops-at-one", "RCV-9", profile="azure-flat")
class _CountStopsAtOne(Partition):
    """The delivery count says whether deliveries have failed, not how many."""

    def abandon(self, stored: Stored) -> None:
        stored.count = 0
        super().abandon(stored)


@held_out("kill-resets-counts", "RCV-9")
class _KillResetsCounts(Partition):
    """A kill sets the delivery counts of what is stored to zero."""

    def recover(self, counted: bool = False) -> None:
        super().recover(counted)
        for stored in self.store.live():
            stored.count = stored.told = 0


@held_out("delivery-counts-itself", "RCV-9", profile="azure-standard")
class _DeliveryCountsItself(FrontEnd):
    """The delivery count that a delivered message shows counts this delivery, too."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        return shown if delete else [m._replace(delivery_count=m.delivery_count + 1) for m in shown]


@held_out("locks-last-longer-the-second-time", "RCV-13")
class _LocksLastLonger(Partition):
    """A message that was delivered before is locked for ten seconds more than it may be."""

    def lock(self, stored: Stored, token: str, until: int) -> None:
        super().lock(stored, token, until + LONGER if stored.tries else until)


@held_out("sessions-locked-longer", "RCV-13", profile="azure-standard")
class _SessionsLockedLonger(Partition):
    """A message with a session ID is locked for ten seconds more than it may be."""

    def lock(self, stored: Stored, token: str, until: int) -> None:
        session = stored.content.session_id is not None
        super().lock(stored, token, until + LONGER if session else until)


@held_out("completions-across-partitions", "RCV-14")
class _CompletionsAcrossPartitions(FrontEnd):
    """One request may complete messages of several partitions, outside of transactions."""

    def _settle(self, action: str, tokens: Sequence[str], transaction: Transaction | None) -> Steps[None]:
        if action != "complete" or transaction is not None:
            yield from super()._settle(action, tokens, transaction)
            return
        found = [self.broker.locked(token) for token in tokens]
        yield HOP
        self.check_locks(tokens, found)
        for stored in found:
            self.broker.check_up(stored.partition)
        for stored in dict.fromkeys(found):
            self.apply(action, stored)
        yield HOP


@held_out("keyless-settled-along", "RCV-14", profile="azure-standard")
class _KeylessSettledAlong(PartitionedRules):
    """A request that settles messages of one partition may settle others without a key along with them,
    outside of transactions."""

    def check_settlement(self, stored: Sequence[Stored]) -> None:
        keyed = [one for one in stored if self.key_of(one.content) is not None]
        super().check_settlement(keyed)

    def admit_settlement(self, txn: Transaction, stored: Sequence[Stored]) -> None:
        super().check_settlement(stored)
        super().admit_settlement(txn, stored)
