"""Set aside: what is received, whether, and in what order (RCV-1, 2, 3, 7 and 12)."""

from __future__ import annotations

from collections.abc import Sequence
from html import unescape
from typing import Any

from ...faults import Faults
from ...flowend import FlowEnd
from ...flows import Assignments
from ...frontend import FrontEnd
from ...handoffs import PAUSED, Seat
from ...partition import Partition
from ...store import Content, Holder, Store, Stored
from ..families import Undoing, garbled, kept
from ..forms import answering, before
from ..registry import defect

MOST = 64_000
"""Characters of a body that a careless store has room for."""


@defect("RCV-1", "hand_out", answering)
def entities_unescaped(self: FrontEnd, message: Any) -> Any:
    """A body is delivered with its entities resolved."""
    return message._replace(body=unescape(message.body))


@defect("RCV-1", "append", profile="azure-flat")
def bodies_read_as_latin(self: Store, content: Content, now: int, partition: Holder) -> Stored:
    """Bodies are written in one encoding and read in another: what is not ASCII is garbled."""
    body = content.body.encode("utf-8").decode("latin-1")
    return Store.append(self, garbled(content, body=body), now, partition)


@defect("RCV-1", "append", profile="solace")
def line_breaks_become_blanks(self: Store, content: Content, now: int, partition: Holder) -> Stored:
    """A line break in a body is stored as a blank."""
    return Store.append(self, garbled(content, body=content.body.replace("\n", " ")), now, partition)


@defect("RCV-2", "accept", profile="azure-flat")
def too_large_to_keep(self: Partition, contents: Sequence[Content], now: int) -> None:
    """A body of more than 64,000 characters is accepted and dropped."""
    Partition.accept(self, [content for content in contents if len(content.body) <= MOST], now)


@defect("RCV-2", "give_back", before, profile="solace")
def end_of_handoff_loses_unacknowledged(self: Assignments, seat: Seat) -> None:
    """What is not acknowledged when the time of a handoff ends is deleted."""
    for token in list(seat.unacked) if seat.state == PAUSED and seat.flow in self.flows else ():
        seat.partition.complete(seat.unacked.pop(token))


@defect("RCV-2", profile="azure-standard")
class RenewedLostOnExpiry(Partition):
    """A message whose lock was renewed, and runs out, is gone, unless a transaction uses the lock."""

    _renewed = kept(set[str | None])

    def renew(self, stored: Stored, until: int) -> None:
        super().renew(stored, until)
        self._renewed.add(stored.lock)

    def lapse(self, stored: Stored) -> None:
        lost = stored.lock in self._renewed and stored.enlisted is None
        (super().complete if lost else super().lapse)(stored)


@defect("RCV-2", "recover", before)
def kill_loses_what_was_given_back(self: Partition) -> None:
    """A kill takes with it what was delivered in vain, and waits to be delivered again."""
    for stored in [stored for stored in self.store.live() if stored.count and stored.lock is None]:
        self.store.delete(stored)


@defect("RCV-3", "deliver", profile="azure-flat")
def deleting_receive_takes_the_newest(
    self: FrontEnd, partition: Partition, most: int, delete: bool
) -> list[Any]:
    """A receive that deletes gets the newest messages, oldest of these first."""
    older = partition.take(partition.waiting()[:-most]) if delete else []
    shown = FrontEnd.deliver(self, partition, most, delete)
    for stored in older:
        partition.release(stored)
    return shown


@defect("RCV-3", "bring_up", before, profile="azure-standard")
def outage_reverses_order(self: Faults, partition: Partition) -> None:
    """What waits in a partition that comes back is delivered newest first."""
    if not partition.up:
        partition._free = sorted((-stored.order, stored) for _, stored in partition._free)


@defect("RCV-3", "heads")
def batch_delivered_backwards(self: Partition, most: int) -> list[Stored]:
    """The messages of a batch are delivered in reverse order."""
    return self.take(sorted(self.waiting(), key=lambda one: (one.enqueued_at, -one.order))[:most])


@defect("RCV-7", "deliver", profile="azure-flat")
def last_of_several_deleted_comes_back(
    self: FrontEnd, partition: Partition, most: int, delete: bool
) -> list[Any]:
    """Of several messages that a receive deletes the last one stays."""
    last = partition.take(partition.waiting()[:most][1:][-1:] if delete else [])
    shown = FrontEnd.deliver(self, partition, most - len(last), delete)
    for stored in last:
        partition.release(stored)
    return shown + [self.broker.show(stored, None) for stored in last]


@defect("RCV-7", "undoes", profile="azure-standard")
def late_completion_forgotten(self: Undoing, stored: Stored) -> bool:
    """A completion in the second half of a lock's time only ends the lock. (Transactions do it right.)"""
    return stored.until - self.clock.now < self.broker.config.lock_duration // 2


@defect("RCV-7", "acknowledge", profile="solace")
def acknowledged_while_paused_comes_back(self: FlowEnd, action: str, seat: Seat, token: str) -> None:
    """What is acknowledged while its partition is being handed off is delivered again."""
    FlowEnd.acknowledge(self, "abandon" if seat.state == PAUSED else action, seat, token)


@defect("RCV-12", "deliver", answering)
def redelivered_beyond_max(self: FrontEnd, partition: Partition, delete: bool, shown: list[Any]) -> list[Any]:
    """Locked messages that were delivered before do not count towards the most that a client asked for."""
    again = 0 if delete else sum(message.delivery_count > 0 for message in shown)
    return shown + FrontEnd.deliver(self, partition, again, delete)


@defect("RCV-12", "deliver", profile="azure-standard")
def one_more_deleted_than_asked(self: FrontEnd, partition: Partition, most: int, delete: bool) -> list[Any]:
    """A receive that deletes may get one message more of a partition than it asked for."""
    return FrontEnd.deliver(self, partition, most + delete, delete)
