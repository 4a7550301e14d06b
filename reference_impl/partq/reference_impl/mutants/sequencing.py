"""Defects in numbers, partitions and enqueued times (SEQ)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..faults import Faults
from ..frontend import FrontEnd
from ..partition import Partition
from ..settings import SECOND
from ..settling import Settlement
from ..store import Content, Holder, Store, Stored
from ..transactions import Transaction
from .families import Lowering, far_from_the_end, store_again
from .forms import answering, before, then
from .registry import defect


@defect("SEQ-1", "next_number", then)
def number_twice(self: Store) -> None:
    """Every fourth number is given out twice, but for those around the roll-over."""
    self._counter -= self._orders % 4 == 3 and 4 < self._counter < 1 << (self._bits - 1)


@defect("SEQ-1", "delete", then, profile="azure-flat")
def number_used_again(self: Store, stored: Stored) -> None:
    """The number of the newest message is free again when that is deleted."""
    if stored.order == self._orders - 1:
        self._counter = (self._counter - 1) % (1 << self._bits)


@defect("SEQ-1", "accept", profile="azure-standard", also=("SEQ-5",))
def batch_shares_its_number(self: Partition, contents: Sequence[Content], now: int) -> None:
    """The second message of a batch has the number of the first. At the end of the counter that reads as one
    that does not restart."""
    Partition.accept(self, contents[:1], now)
    if len(contents) > 1:
        self.store._counter = (self.store._counter - 1) % (1 << self.store._bits)
        Partition.accept(self, contents[1:], now)


@defect("SEQ-2", "next_number", also=("PEEK-4",))
def partition_bits_drift(self: Store) -> int:
    """From the third message on the top bits name another partition than the one it is."""
    return Store.next_number(self) ^ ((1 << 62) if self._orders >= 2 else 0)


@defect("SEQ-2", "view", answering, profile="azure-standard")
def locked_partition_differs(self: FrontEnd, stored: Stored, message: Any) -> Any:
    """A locked message is peeked with the next partition beside its true number."""
    return message if stored.lock is None else message._replace(partition=message.partition + 1)


@defect("SEQ-2", "hand_out", answering)
def redelivered_under_another_partition(self: FrontEnd, message: Any) -> Any:
    """A message that is delivered again is shown in the next partition, beside its true number."""
    return message._replace(partition=message.partition + 1) if message.delivery_count else message


@defect("SEQ-3", also=("SEQ-7",))
@defect("SEQ-3", name="flat-numbers-go-back", profile="azure-flat", also=("SEQ-7",))
class NumbersGoBack(Lowering):
    """After a pause of 20 seconds a message gets the number below the lowest one, if there is one. Where the
    two sends overlap, it shows only by their enqueued times, which then decrease along the numbers."""

    MARGIN = 100
    _before = 0

    def lowers(self, content: Content, now: int) -> bool:
        pause, self._before = now - self._before > 20 * SECOND, now
        return pause


@defect("SEQ-3", "lowers", profile="azure-flat", also=("SEQ-7",))
def keyless_numbered_first(self: Lowering, content: Content) -> bool:
    """Messages without a key are numbered below all others, so that enqueued times decrease along numbers."""
    return content.session_id is None and content.partition_key is None


@defect("SEQ-3", "carry_out", before)
def commit_reverses_sends(self: FrontEnd, txn: Transaction) -> None:
    """A commit stores what was sent in the transaction in reverse order."""
    txn.sends.reverse()


@defect("SEQ-4", "next_number", before)
def numbers_skipped(self: Store) -> None:
    """Every third message leaves out a number, but never zero."""
    if self._orders % 3 == 2 and self._counter != 0:
        Store.next_number(self)


@defect("SEQ-4", "next_number", before)
def fortieth_number_skipped(self: Store) -> None:
    """A partition leaves out the number after its fortieth message."""
    if self._orders == 40:
        Store.next_number(self)


@defect("SEQ-4", "delete")
def emptied_partition_skips_a_number(self: Store, stored: Stored) -> None:
    """A partition that becomes empty leaves out a number, unless the counter is about to roll over."""
    before = self.is_empty()
    Store.delete(self, stored)
    if self.is_empty() and not before and far_from_the_end(self):
        self.next_number()


@defect("SEQ-4", "start", then, profile="azure-flat")
def kill_skips_numbers(self: Faults) -> None:
    """After a kill the queue leaves out ten numbers, unless the counter is about to roll over."""
    for partition in self.broker.partitions:
        partition.burn(10 if far_from_the_end(partition.store) else 0)


@defect("SEQ-5", "next_number")
def counter_spills(self: Store) -> int:
    """The exhausted counter runs over into the partition's bits."""
    self._counter += 1
    return self._high + self._counter - 1


@defect("SEQ-5", "next_number", then)
@defect("SEQ-5", "next_number", then, name="flat-rollover-to-one", profile="azure-flat")
def rollover_to_one(self: Store) -> None:
    """The exhausted counter starts again at one."""
    self._counter = self._counter or 1


@defect("SEQ-5", "next_number", then)
def rollover_one_too_early(self: Store) -> None:
    """The counter starts again at zero without having used its last number."""
    self._counter %= (1 << self._bits) - 1


@defect("SEQ-6", "abandon")
@defect("SEQ-6", "lapse", name="expiry-renumbers", profile="azure-flat", also=("SEQ-4",))
def abandon_renumbers(self: Partition, stored: Stored) -> None:
    """A message whose delivery failed (abandoned, or its lock run out) is stored anew, under a new number.
    Dead-lettered next, it never shows that number: one is left out (SEQ-4)."""
    Partition.abandon(self, store_again(self, stored))


@defect("SEQ-6", "view", answering)
def locked_number_differs(self: FrontEnd, stored: Stored, message: Any) -> Any:
    """A locked message is peeked under another number than it is received under."""
    return message if stored.lock is None else message._replace(seq=message.seq ^ (1 << 40))


@defect("SEQ-6", "drop_locks", before, profile="azure-flat")
def kill_renumbers_what_is_locked(self: Faults, partition: Partition) -> None:
    """What is locked at a kill is stored anew, under a new number."""
    for stored in [one for one in partition.store.live() if one.lock and one.until > self.broker.clock.now]:
        store_again(partition, stored).tries = stored.tries


@defect("SEQ-7", "append")
def enqueued_in_the_past(self: Store, content: Content, now: int, partition: Holder) -> Stored:
    """The enqueued time is that of another clock, ten seconds slow."""
    return Store.append(self, content, now - 10 * SECOND, partition)


@defect("SEQ-7", "append")
def enqueued_times_decrease(self: Store, content: Content, now: int, partition: Holder) -> Stored:
    """The enqueued time of each message is a second further behind than that of the one before it."""
    return Store.append(self, content, now - self._orders * SECOND, partition)


@defect("SEQ-7", "accept", profile="azure-flat")
def batch_enqueued_in_steps(self: Partition, contents: Sequence[Content], now: int) -> None:
    """Each message of a batch is said to be enqueued a second after the one before it."""
    for index, content in enumerate(contents):
        Partition.accept(self, (content,), now + index * SECOND)


@defect("SEQ-7", "carry_out")
def enqueued_before_commit(self: FrontEnd, txn: Transaction, since: int) -> None:
    """What a transaction sent, and nothing else did, is enqueued twenty seconds before its commit."""
    early, txn.sends = ([], txn.sends) if txn.settlements else (txn.sends, [])
    FrontEnd.carry_out(self, txn, since)
    if txn.partition is not None:
        txn.partition.accept(early, self.clock.now - 20 * SECOND)


@defect("SEQ-7", "apply", before, profile="azure-flat")
def abandoning_enqueues_anew(self: FrontEnd, asked: Settlement, stored: Stored) -> None:
    """An abandoned message is shown to be enqueued when it was abandoned."""
    if asked.action == "abandon":
        stored.enqueued_at = self.clock.now
