"""Set aside: locks, settling and delivery counts (RCV-6, 8, 9, 13 and 14)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...clock import Steps
from ...errors import Refused
from ...flowend import FlowEnd
from ...frontend import FrontEnd
from ...partition import Partition
from ...rules import PartitionedRules
from ...settings import SECOND
from ...settling import Settlement
from ...store import Stored
from ...transactions import Transaction
from ..families import locked, noted
from ..forms import answering, before, then
from ..registry import defect

LONGER = 10 * SECOND
"""ns by which a careless partition locks for too long."""

GRACE = 5 * SECOND
"""ns for which a careless partition lets a lost lock settle."""


@defect("RCV-6", "renew", then, profile="azure-flat")
def renewal_kept_a_third(self: FrontEnd, token: str) -> None:
    """A renewed lock is shown in full, and kept for a third of its time."""
    stored = self.broker.locks.get(token)
    if stored is not None:
        third = self.broker.config.lock_duration // 3
        stored.partition.renew(stored, min(stored.until, self.clock.now + third))


@defect("RCV-6", "ask", answering)
def deleting_receive_takes_locked(self: FrontEnd, delete: bool, shown: list[Any]) -> list[Any]:
    """A receive that deletes, and finds nothing free, gets the oldest locked message of no transaction."""
    for partition in self.running() if delete and not shown else ():
        for stored in partition.store.live():
            if locked(stored, self.clock.now) and stored.enlisted is None:
                partition.complete(stored)
                return [self.broker.show(stored, None)]
    return shown


@defect("RCV-6", "settle_locks", profile="solace")
def abandoning_one_frees_all(self: FlowEnd, asked: Settlement) -> Steps[None]:
    """Giving a message back gives back all that is unacknowledged of its partition."""
    seats = [seat for seat in self.assignments.seats if not seat.unacked.keys().isdisjoint(asked.tokens)]
    yield from FlowEnd.settle_locks(self, asked)
    for seat in seats if asked.action == "abandon" else ():
        self.assignments.give_back(seat)
        self.assignments.settled(seat)
        self.broker.ring()


@defect("RCV-8", "renew")
def stale_renewal_said_ok(self: FrontEnd, token: str) -> Steps[list[Any]]:
    """Renewing a lock that has ended is answered ok, without effect."""
    try:
        return (yield from FrontEnd.renew(self, token))
    except Refused as refused:
        if refused.kind == "lock_lost":
            return []
        raise


@defect("RCV-8", "holds", profile="azure-flat")
def settling_has_a_grace_time(self: Partition, stored: Stored, token: str, now: int) -> bool:
    """A lock that ran out less than five seconds ago is good, if nobody has asked for messages since."""
    return stored.lock == token and now < stored.until + GRACE


@defect("RCV-8", "settle_locks", profile="azure-standard")
def settled_twice_said_ok(self: FrontEnd, asked: Settlement) -> Steps[None]:
    """A settlement by locks that have all settled before, outside of transactions, is answered ok."""
    if asked.txn is not None or not all(noted(self)[token] for token in asked.tokens):
        yield from FrontEnd.settle_locks(self, asked)
        noted(self).update(asked.tokens if asked.txn is None else ())


@defect("RCV-9", "abandon", before, profile="azure-flat")
def count_stops_at_one(self: Partition, stored: Stored) -> None:
    """The delivery count says whether deliveries have failed, not how many."""
    stored.count = 0


@defect("RCV-9", "recover", then)
def kill_resets_counts(self: Partition) -> None:
    """A kill sets the delivery counts of what is stored to zero."""
    for stored in self.store.live():
        stored.count = stored.told = 0


@defect("RCV-9", "hand_out", answering, profile="azure-standard")
def delivery_counts_itself(self: FrontEnd, delete: bool, message: Any) -> Any:
    """The delivery count that a delivered message shows counts this delivery, too."""
    return message if delete else message._replace(delivery_count=message.delivery_count + 1)


@defect("RCV-13", "lock")
def locks_last_longer_the_second_time(self: Partition, stored: Stored, token: str, until: int) -> None:
    """A message that was delivered before is locked for ten seconds more than it may be."""
    Partition.lock(self, stored, token, until + LONGER * bool(stored.tries))


@defect("RCV-13", "lock", profile="azure-standard")
def sessions_locked_longer(self: Partition, stored: Stored, token: str, until: int) -> None:
    """A message with a session ID is locked for ten seconds more than it may be."""
    Partition.lock(self, stored, token, until + LONGER * (stored.content.session_id is not None))


@defect("RCV-14", "admit_settlement")
def completions_across_partitions(self: FrontEnd, asked: Settlement, found: Sequence[Stored]) -> None:
    """One request may complete messages of several partitions, outside of transactions."""
    if asked.action != "complete" or asked.txn is not None:
        FrontEnd.admit_settlement(self, asked, found)


@defect("RCV-14", "check_settlement", profile="azure-standard")
def keyless_settled_along(self: PartitionedRules, stored: Sequence[Stored], txn: Transaction | None) -> None:
    """A request outside of transactions may settle messages without a key of any partition along."""
    keyed = [one for one in stored if self.key_of(one.content) is not None]
    PartitionedRules.check_settlement(self, keyed if txn is None else stored, txn)
