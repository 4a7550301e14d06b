"""Defects in locks, in settling by them, and in delivery counts (RCV-6, 8, 9, 13 and 14)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import Steps
from ..errors import Refused
from ..faults import Faults
from ..flowend import FlowEnd
from ..frontend import FrontEnd
from ..handoffs import READY, Flow, Seat
from ..partition import Partition
from ..rules import PartitionedRules
from ..settings import SECOND
from ..settling import Settlement
from ..store import Stored
from ..transactions import Transaction
from .families import FEW, beside, changed, complete, kept, locked, lose, on_refusal
from .forms import Frame, amid, answering, before, refused, then
from .registry import defect


class Shortening(Partition):
    """A lock is shown in full and kept for a third of its time, if `shortens` says so and no transaction uses
    it."""

    def shortens(self, stored: Stored) -> bool:
        """Whether it does so with the lock on this message."""
        return True

    def expire(self, now: int) -> None:
        for until, _, stored, token in list(self._leases):
            early = until - 20 * SECOND <= now and stored.until == until and self.shortens(stored)
            if early and stored.lock == token and stored.enlisted is None:
                self.abandon(stored)
        super().expire(now)

    def has_free(self, now: int) -> bool:
        self.expire(now)
        return super().has_free(now)


@defect("RCV-6", "shortens")
def lock_ends_early(self: Shortening) -> bool:
    """A lock is shown in full and kept for a third of its time, unless a transaction uses it."""
    return True


@defect("RCV-6", "shortens", profile="azure-flat")
def redelivery_locks_short(self: Shortening, stored: Stored) -> bool:
    """A message's second lock, and those after it, is shown in full and kept for a third of its time."""
    return stored.tries > 1


@defect("RCV-6")
class RenewalForgotten(Partition):
    """A renewal is answered and shown, and the lock ends as before."""

    def renew(self, stored: Stored, until: int) -> None:
        stored.until = until

    def expire(self, now: int) -> None:
        for until, _, stored, token in self._leases:
            if until <= now and stored.lock == token and stored.enlisted is None:
                stored.until = until
        super().expire(now)


@defect("RCV-6", "renew")
def renewal_forgotten_in_outage(self: FrontEnd, token: str) -> Steps[list[Any]]:
    """While another partition is down, a renewal is answered and shown, and the lock ends as before."""
    stored = self.broker.locks.get(token)
    before = 0 if stored is None else stored.until
    shown = yield from FrontEnd.renew(self, token)
    if stored is not None and stored.lock == token and beside(self, stored.partition):
        stored.until = before
    return shown


@defect("RCV-6", "hand_out", then)
def lock_not_kept(self: FrontEnd, partition: Partition, stored: Stored, delete: bool) -> None:
    """The first lock on every fourth message is shown, and over at once."""
    if not delete and stored.order % 4 == 3 and stored.tries == 1:
        partition.abandon(stored)


@defect("RCV-6", "ask", answering, profile="azure-flat")
def locked_given_for_want_of_others(self: FrontEnd, delete: bool, shown: list[Any]) -> list[Any]:
    """A receive that finds nothing free gets the oldest locked message that was delivered once."""
    for partition in self.partitions if not shown and not delete else ():
        for stored in partition.store.live():
            if stored.lock is not None and stored.enlisted is None and stored.tries == 1:
                partition.release(stored)
                return self.deliver(partition, 1, delete)
    return shown


@defect("RCV-6", "settle_locks", profile="solace")
def acknowledgement_frees_the_next(self: FlowEnd, asked: Settlement) -> Steps[None]:
    """An acknowledgement gives back the next unacknowledged message, if that was delivered once."""
    seats = [seat for seat in self.assignments.seats if not seat.unacked.keys().isdisjoint(asked.tokens)]
    yield from FlowEnd.settle_locks(self, asked)
    for seat in seats if asked.action == "complete" else ():
        token, stored = next(iter(seat.unacked.items()), ("", None))
        if stored is not None and stored.tries == 1:
            seat.partition.release(seat.unacked.pop(token))
            self.broker.ring()


@defect("RCV-6", "collect", answering, profile="solace")
def unsettled_delivered_again(
    self: FlowEnd, flow: Flow, most: int, delete: bool, shown: list[Any]
) -> list[Any]:
    """A flow that has got all there is gets its oldest unsettled message once more."""
    for seat in self.seats_of(flow) if not shown and not delete else ():
        token, stored = next(iter(seat.unacked.items()), ("", None))
        if seat.state == READY and stored is not None and stored.tries == 1:
            seat.partition.release(seat.unacked.pop(token))
            return FlowEnd.collect(self, flow, most, delete)
    return shown


@defect("RCV-8", "check_locks")
def settles_with_lost_lock(self: FrontEnd, asked: Settlement, found: Sequence[Stored]) -> None:
    """Nobody looks whether a lock's time is over, as long as nobody else has got the message since."""
    if any(stored.lock != token for token, stored in zip(asked.tokens, found, strict=True)):
        raise Refused("lock_lost", "the lock has ended")
    if any(stored.enlisted is not None for stored in found):
        raise Refused("invalid_operation", "a transaction is settling this message")


@defect("RCV-8", "settle_locks")
def lost_lock_said_to_settle(self: FrontEnd, asked: Settlement) -> Steps[None]:
    """A settlement by a single lock that has ended is said to be done, without effect."""
    try:
        yield from FrontEnd.settle_locks(self, asked)
    except Refused as refused:
        if refused.kind != "lock_lost" or asked.txn is not None or len(asked.tokens) > 1:
            raise


@defect("RCV-8", "check_locks", amid, profile="azure-flat")
def refused_and_done(self: FrontEnd, found: Sequence[Stored]) -> Frame:
    """Completing with a lock that has run out is refused, and deletes the message."""
    return on_refusal("lock_lost", lambda: complete(found))


@defect("RCV-8", "check_locks")
def lost_lock_enlisted(self: FrontEnd, asked: Settlement, found: Sequence[Stored]) -> None:
    """In a transaction nobody looks whether a lock's time is over. Its commit does."""
    try:
        FrontEnd.check_locks(self, asked, found)
    except Refused as refused:
        if refused.kind != "lock_lost" or asked.txn is None:
            raise


@defect("RCV-8", "check_locks", refused, profile="azure-flat")
def refused_abandon_counted(self: FrontEnd, asked: Settlement, found: Sequence[Stored]) -> None:
    """Abandoning with a lock that has run out is refused, and counted if nobody got the message since."""
    for stored in found if asked.action == "abandon" and asked.txn is None else ():
        stored.count += stored.until <= self.clock.now


def _live(end: FrontEnd, tokens: Sequence[str]) -> dict[str, Stored]:
    """The messages that these locks hold now, by lock."""
    known = {token: end.broker.locks[token] for token in tokens if token in end.broker.locks}
    return {token: one for token, one in known.items() if one.partition.holds(one, token, end.clock.now)}


@defect("RCV-8", "settle_locks", refused)
def mixed_settlement_half_done(self: FrontEnd, asked: Settlement, refusal: Refused) -> None:
    """A request that names three locks or more, one of them lost, is refused, and done for the others."""
    live = [stored for stored in _live(self, asked.tokens).values() if not stored.enlisted]
    one_place = len({stored.partition.name for stored in live}) == 1 and live[0].partition.up
    if refusal.kind == "lock_lost" and asked.txn is None and len(asked.tokens) > 2 and one_place:
        for stored in live:
            self.apply(asked, stored)


@defect("RCV-8", "settle_locks", profile="azure-flat")
def third_lock_unchecked(self: FrontEnd, asked: Settlement) -> Steps[None]:
    """From the third lock on those of a request that are lost are passed over in silence."""
    kept = (*asked.tokens[:2], *_live(self, asked.tokens[2:]))
    yield from FrontEnd.settle_locks(self, asked._replace(tokens=kept))


@defect("RCV-8", "settle_locks")
def forged_lock_accepted(self: FrontEnd, asked: Settlement) -> Steps[None]:
    """Settling by a lock that no client was ever given is said to be done."""
    if known := [token for token in asked.tokens if token.startswith("lock-")]:
        yield from FrontEnd.settle_locks(self, asked._replace(tokens=known))


@defect("RCV-8", "check_renewal", profile="azure-flat")
def renews_lost_lock(self: FrontEnd, stored: Stored, token: str) -> None:
    """A lock whose time is over can be renewed, as long as nobody else has got the message since."""
    if stored.lock != token:
        FrontEnd.check_renewal(self, stored, token)


@defect("RCV-2", profile="solace")
class LateSettlementDeletes(FlowEnd):
    """Acknowledging what went back to its partition is refused, and deletes the message if it waits there."""

    _given = kept(dict[str | None, Stored])

    def hand_over(self, seat: Seat, stored: Stored, delete: bool) -> Any:
        message = super().hand_over(seat, stored, delete)
        self._given[message.lock] = stored
        return message

    def settle_locks(self, asked: Settlement) -> Steps[None]:
        try:
            yield from super().settle_locks(asked)
        except Refused as refused:
            for token in asked.tokens if refused.kind == "lock_lost" and asked.action == "complete" else ():
                stored = self._given.get(token)
                if stored is not None and stored.lock is None:
                    lose(stored)
            raise


@defect("RCV-9", "apply", before)
def abandon_not_counted(self: FrontEnd, asked: Settlement, stored: Stored) -> None:
    """Abandoning, outside of transactions, does not raise the delivery count."""
    stored.count -= asked.action == "abandon"


@defect("RCV-9", "apply", before)
def abandoning_several_counts_one(self: FrontEnd, asked: Settlement, stored: Stored) -> None:
    """Of several messages that are abandoned at once one is counted. (Transactions do it right.)"""
    stored.count -= asked.action == "abandon" and stored.lock in asked.tokens[1:]


@defect("RCV-9", "abandon", amid)
def failures_counted_twice(self: Partition, stored: Stored) -> Frame:
    """A failed delivery, abandoned or run out, raises the delivery count by two."""
    stored.count += 1
    return changed(self, most_tries=self.most_tries and 2 * self.most_tries)


@defect("RCV-9", "lapse", profile="azure-flat")
def expiry_not_counted(self: Partition, stored: Stored) -> None:
    """A lock that runs out does not raise the delivery count."""
    self.release(stored)


@defect("RCV-9", "drop_locks")
def kill_forgets_expiry(self: Faults, partition: Partition) -> None:
    """A lock that ran out before a kill, or a partition's fault, is only counted if anybody asked since."""
    partition.recover()


@defect("RCV-9", "is_spent", profile="azure-standard")
def never_dead_letters(self: Partition) -> bool:
    """A message is delivered again however often it failed."""
    return False


@defect("RCV-9", "renew", before, profile="azure-flat", also=("RCV-2",))  # dead-lettered too soon: gone
def renewals_counted(self: Partition, stored: Stored) -> None:
    """A renewal raises the delivery count by one, if it is below three."""
    stored.count += stored.count < FEW


@defect("RCV-9", "carry_out")
def abandons_in_transactions_uncounted(self: FrontEnd, txn: Transaction, since: int) -> None:
    """An abandon that a commit does does not raise the delivery count."""
    abandoned = [stored for action, stored, _ in txn.settlements if action == "abandon"]
    FrontEnd.carry_out(self, txn, since)
    for stored in abandoned:
        stored.count -= 1


@defect("RCV-9", "view", answering)
def lock_counted_in_peeks(self: FrontEnd, stored: Stored, message: Any) -> Any:
    """The delivery count that a peek shows of a locked message counts the lock that holds it."""
    return message._replace(delivery_count=message.delivery_count + locked(stored, self.clock.now))


@defect("RCV-13", "hand_out", answering)
def lock_until_in_the_future(self: FrontEnd, delete: bool, message: Any) -> Any:
    """Locks are shown to last twice as long as the queue's lock duration says."""
    longer = self.broker.config.lock_duration
    return message if delete else message._replace(locked_until=message.locked_until + longer)


@defect("RCV-13", "renew")
def renewal_shown_too_long(self: FrontEnd, token: str) -> Steps[list[Any]]:
    """A renewed lock is shown to last half as long again as it may."""
    longer = self.broker.config.lock_duration // 2
    shown = yield from FrontEnd.renew(self, token)
    return [message._replace(locked_until=message.locked_until + longer) for message in shown]


@defect("RCV-14", "check_settlement")
def settles_across_partitions(
    self: PartitionedRules, stored: Sequence[Stored], txn: Transaction | None
) -> None:
    """One request may settle messages of several partitions, outside of transactions."""
    if txn is not None:
        PartitionedRules.check_settlement(self, stored, txn)


@defect("RCV-14", "check_settlement")
def pairs_across_partitions(
    self: PartitionedRules, stored: Sequence[Stored], txn: Transaction | None
) -> None:
    """A request may settle just two messages of two partitions, outside of transactions."""
    if txn is not None or len(stored) != 2:
        PartitionedRules.check_settlement(self, stored, txn)


@defect("RCV-14", "check_settlement", profile="azure-standard")
def third_lock_anywhere(self: PartitionedRules, stored: Sequence[Stored], txn: Transaction | None) -> None:
    """Of a request that settles three messages or more only the first two must be of one partition."""
    PartitionedRules.check_settlement(self, stored[:2], txn)


@defect("RCV-14", "admit_settlement", profile="azure-standard")
def abandons_across_partitions(self: FrontEnd, asked: Settlement, found: Sequence[Stored]) -> None:
    """One request may abandon messages of several partitions, outside of transactions."""
    if asked.action != "abandon" or asked.txn is not None:
        FrontEnd.admit_settlement(self, asked, found)
