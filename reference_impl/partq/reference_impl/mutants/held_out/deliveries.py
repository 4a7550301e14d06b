"""Defects in what is received, whether, and in what order (RCV), set aside."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush
from html import unescape
from typing import Any

from ...clock import Steps
from ...faults import Faults
from ...flowend import FlowEnd
from ...flows import PAUSED, Assignments, Seat
from ...frontend import FrontEnd
from ...network import Connection
from ...partition import Partition
from ...store import Content, Holder, Store, Stored
from ..garbling import garbled
from ..registry import held_out

MOST = 64_000
"""Characters of a body that a careless store has room for."""


@held_out("entities-unescaped", "RCV-1")
class _EntitiesUnescaped(FrontEnd):
    """A body is delivered with its entities resolved."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        return [message._replace(body=unescape(message.body)) for message in shown]


@held_out("bodies-read-as-latin", "RCV-1", profile="azure-flat")
class _BodiesReadAsLatin(Store):
    """Bodies are written in one encoding and read in another: what is not ASCII is garbled."""

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        body = content.body.encode("utf-8").decode("latin-1")
        return super().append(garbled(content, body=body), now, partition)


@held_out("line-breaks-become-blanks", "RCV-1", profile="solace")
class _LineBreaksBecomeBlanks(Store):
    """A line break in a body is stored as a blank."""

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        return super().append(garbled(content, body=content.body.replace("\n", " ")), now, partition)


@held_out("too-large-to-keep", "RCV-2", profile="azure-flat")
class _TooLargeToKeep(Partition):
    """A body of more than 64,000 characters is accepted and dropped."""

    def accept(self, contents: Sequence[Content], now: int) -> None:
        kept = [content for content in contents if len(content.body) <= MOST]
        super().accept(kept, now)


@held_out("end-of-handoff-loses-unacknowledged", "RCV-2", profile="solace")
class _EndOfHandoffLoses(Assignments):
    """What is not acknowledged when the time of a handoff ends is deleted."""

    def give_back(self, seat: Seat) -> None:
        overdue = seat.state == PAUSED and seat.flow in self.flows
        for stored in list(seat.unacked.values()) if overdue else ():
            seat.partition.complete(stored)
            seat.unacked = {token: one for token, one in seat.unacked.items() if one is not stored}
        super().give_back(seat)


@held_out("renewed-lost-on-expiry", "RCV-2", profile="azure-standard")
class _RenewedLostOnExpiry(Partition):
    """A message whose lock was renewed, and runs out, is gone, unless a transaction uses the lock."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._renewed: set[str | None] = set()

    def renew(self, stored: Stored, until: int) -> None:
        super().renew(stored, until)
        self._renewed.add(stored.lock)

    def expire(self, now: int) -> None:
        for _, _, stored, token in list(self._leases):
            over = token in self._renewed and stored.lock == token and stored.until <= now
            if over and stored.enlisted is None:
                self.complete(stored)
        super().expire(now)


@held_out("kill-loses-what-was-given-back", "RCV-2")
class _KillLosesWhatWasGivenBack(Partition):
    """A kill takes with it what was delivered in vain, and waits to be delivered again."""

    def recover(self, counted: bool = False) -> None:
        for stored in [stored for stored in self.store.live() if stored.count and stored.lock is None]:
            self.store.delete(stored)
        super().recover(counted)


@held_out("deleting-receive-takes-the-newest", "RCV-3", profile="azure-flat")
class _DeletingReceiveTakesTheNewest(FrontEnd):
    """A receive that deletes gets the newest messages, oldest of these first."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        if delete and len(partition._free) > most:
            older = partition.heads(len(partition._free) - most)
            shown = super().deliver(partition, most, delete)
            for stored in older:
                partition.release(stored)
            return shown
        return super().deliver(partition, most, delete)


@held_out("outage-reverses-order", "RCV-3", profile="azure-standard")
class _OutageReversesOrder(Faults):
    """What waits in a partition that comes back is delivered newest first."""

    def partition_up(self, index: int) -> Steps[int]:
        partition = self.broker.partitions[index % len(self.broker.partitions)]
        if not partition.up and len(partition._free) > 1:
            partition._free = sorted((-stored.order, stored) for _, stored in partition._free)
        return (yield from super().partition_up(index))


@held_out("batch-delivered-backwards", "RCV-3")
class _BatchDeliveredBackwards(Partition):
    """The messages of a batch are delivered in reverse order."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._turns: dict[Stored, int] = {}

    def accept(self, contents: Sequence[Content], now: int) -> None:
        batch = [self.store.append(content, now, self) for content in contents]
        self._turns |= {one: other.order for one, other in zip(batch, reversed(batch), strict=True)}
        for stored in batch:
            self.release(stored)

    def release(self, stored: Stored) -> None:
        self._unlock(stored)
        heappush(self._free, (self._turns.get(stored, stored.order), stored))


@held_out("last-of-several-deleted-comes-back", "RCV-7", profile="azure-flat")
class _LastOfSeveralDeletedComesBack(FrontEnd):
    """Of several messages that a receive deletes the last one stays."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        if not (delete and min(most, len(partition._free)) > 1):
            return super().deliver(partition, most, delete)
        heads = partition.heads(most)
        for stored in heads[:-1]:
            partition.complete(stored)
        partition.release(heads[-1])
        return [self.broker.show(stored, None) for stored in heads]


@held_out("late-completion-forgotten", "RCV-7", profile="azure-standard")
class _LateCompletionForgotten(FrontEnd):
    """A completion in the second half of a lock's time only ends the lock. (Transactions do it right.)"""

    def apply(self, action: str, stored: Stored) -> None:
        left = stored.until - self.clock.now
        if action == "complete" and left < self.broker.config.lock_duration // 2:
            stored.partition.release(stored)
            self.broker.ring()
        else:
            super().apply(action, stored)


@held_out("acknowledged-while-paused-comes-back", "RCV-7", profile="solace")
class _AcknowledgedWhilePaused(FlowEnd):
    """What is acknowledged while its partition is being handed off is delivered again."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        paused = [seat for seat in self.assignments.seats if seat.state == PAUSED]
        late = action == "complete" and any(token in seat.unacked for seat in paused for token in tokens)
        yield from super().settle(connection, "abandon" if late else action, tokens, txn)


@held_out("redelivered-beyond-max", "RCV-12")
class _RedeliveredBeyondMax(FrontEnd):
    """Locked messages that were delivered before do not count towards the most that a client asked for."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        again = 0 if delete else sum(message.delivery_count > 0 for message in shown)
        return shown + super().deliver(partition, again, delete)


@held_out("one-more-deleted-than-asked", "RCV-12", profile="azure-standard")
class _OneMoreDeletedThanAsked(FrontEnd):
    """A receive that deletes may get one message more of a partition than it asked for."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        return super().deliver(partition, most + 1 if delete else most, delete)
