"""Set aside: numbers and enqueued times (SEQ)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...clock import Steps
from ...faults import Faults
from ...frontend import FrontEnd, Peek
from ...partition import Partition
from ...settings import SECOND
from ...store import Content, Store, Stored
from ...transactions import Transaction
from ..families import far_from_the_end
from ..forms import answering, before, then
from ..registry import defect

SKIPPED = 10
"""So many numbers a careless broker leaves out to be on the safe side."""

LONG = 255
"""Characters that fit into one block of a careless store."""


def _step_back(store: Store) -> None:
    """Give the last number out again, if there is one."""
    if store._orders and store._counter:
        store._counter -= 1


@defect("SEQ-1", "bring_up", before, profile="azure-standard")
def outage_repeats_a_number(self: Faults, partition: Partition) -> None:
    """A partition that comes back gives out its last number once more."""
    if not partition.up:
        _step_back(partition.store)


@defect("SEQ-1", "start", before, profile="azure-flat")
def restart_repeats_a_number(self: Faults) -> None:
    """After a restart the last number is given out once more."""
    for partition in () if self.broker.alive else self.broker.partitions:
        _step_back(partition.store)


def _under_one(shown: Sequence[Any]) -> list[Any]:
    """Messages of one answer, those without a key in the partition of the first."""
    first = shown[0].partition if shown else None
    keyed = {message.id for message in shown if (message.session_id or message.partition_key) is not None}
    return [m if m.id in keyed else m._replace(partition=first) for m in shown]


@defect("SEQ-2", "gather")
def peeked_under_one_partition(self: FrontEnd, peek: Peek) -> Steps[list[Any]]:
    """In a peek's answer messages without a key are shown in the partition of the first message."""
    return _under_one((yield from FrontEnd.gather(self, peek)))


@defect("SEQ-2", "ask", answering, profile="azure-standard")
def deleted_under_one_partition(self: FrontEnd, delete: bool, shown: list[Any]) -> list[Any]:
    """A receive that deletes shows messages without a key in the partition of its first message."""
    return _under_one(shown) if delete else shown


@defect("SEQ-3", "carry_out", before)
def commit_numbers_sessions_first(self: FrontEnd, txn: Transaction) -> None:
    """A commit stores what bears a session ID before what has nothing but a partition key."""
    txn.sends.sort(key=lambda content: content.session_id is None)


@defect("SEQ-3", "carry_out", before, profile="azure-flat")
def commit_numbers_its_last_first(self: FrontEnd, txn: Transaction) -> None:
    """A commit of several sends stores the last one first."""
    txn.sends = txn.sends[-1:] + txn.sends[:-1]


@defect("SEQ-4", "bring_up", before, profile="azure-standard")
def recovery_skips_numbers(self: Faults, partition: Partition) -> None:
    """A partition that comes back leaves out ten numbers, unless the counter is about to roll over."""
    if not partition.up and partition.store._orders and far_from_the_end(partition.store):
        partition.burn(SKIPPED)


@defect("SEQ-4", "abandon", then, profile="azure-flat")
def failed_delivery_uses_a_number(self: Partition) -> None:
    """Each lock that is abandoned or runs out uses up a number, unless the counter is about to roll over."""
    self.burn(far_from_the_end(self.store))


@defect("SEQ-4", "append", then)
def long_bodies_use_two_numbers(self: Store, content: Content) -> None:
    """A body of more than 255 characters uses up two numbers, but for those around the roll-over."""
    if len(content.body) > LONG and far_from_the_end(self):
        self.next_number()


@defect("SEQ-5", "next_number", then, profile="azure-flat")
def counter_stops_at_its_end(self: Store, number: int) -> None:
    """The exhausted counter gives out its last number again and again."""
    self._counter = self._counter or number


@defect("SEQ-5", "next_number", then, profile="azure-standard")
def rollover_in_tens(self: Store) -> None:
    """The exhausted counter starts again at ten."""
    self._counter = self._counter or SKIPPED


@defect("SEQ-6", "renew", then)
def renewal_renumbers_the_newest(self: Partition, stored: Stored) -> None:
    """A partition's newest message has a new number after its lock was renewed."""
    if self.store._log[-1] is stored:
        stored.number = self.store.next_number()


@defect("SEQ-6", "lock", then, profile="azure-flat")
def second_delivery_renumbers_the_newest(self: Partition, stored: Stored) -> None:
    """The newest message has a new number when it is delivered for the second time."""
    if stored.tries == 2 and self.store._log[-1] is stored:
        stored.number = self.store.next_number()


@defect("SEQ-7", "accept", profile="azure-standard")
def enqueued_in_the_next_second(self: Partition, contents: Sequence[Content], now: int) -> None:
    """Enqueued times are rounded up to whole seconds."""
    Partition.accept(self, contents, -(-now // SECOND) * SECOND)


@defect("SEQ-7", "accept")
def odd_partitions_run_ahead(self: Partition, contents: Sequence[Content], now: int) -> None:
    """In partitions of an odd name the enqueued time is that of a clock that is ten seconds fast."""
    Partition.accept(self, contents, now + 10 * SECOND * (self.name % 2))


@defect("SEQ-7", profile="azure-flat")
class KillSetsClockBack(Partition):
    """Enqueued times are five seconds slow from a kill on, and five more from each further one."""

    _slow = 0

    def recover(self, counted: bool = False) -> None:
        super().recover(counted)
        self._slow += 5 * SECOND

    def accept(self, contents: Sequence[Content], now: int) -> None:
        super().accept(contents, max(now - self._slow, 0))
