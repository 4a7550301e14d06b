"""Defects in numbers and enqueued times (SEQ), set aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...faults import Faults
from ...frontend import FrontEnd
from ...partition import Partition
from ...settings import SECOND
from ...store import Content, Holder, Store, Stored
from ..registry import held_out


@held_out("batch-shares-its-number", "SEQ-1", profile="azure-standard")
class _BatchSharesItsNumber(Partition):
    """The second message of a batch has the number of the first."""

    def accept(self, contents: Sequence[Content], now: int) -> None:
        super().accept(contents[:1], now)
        if len(contents) > 1:
            store = self.store
            store._counter = (store._counter - 1) % (1 << store._bits)
            super().accept(contents[1:], now)


@held_out("redelivered-under-another-partition", "SEQ-2")
class _RedeliveredUnderAnotherPartition(FrontEnd):
    """A message that is delivered again is shown in the next partition, beside its true number."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        return [m._replace(partition=m.partition + 1) if m.delivery_count else m for m in shown]


@held_out("keyless-numbered-first", "SEQ-3", profile="azure-flat", also=("SEQ-7",))
class _KeylessNumberedFirst(Store):
    """Messages without a key are numbered downwards, below all others. Their enqueued times then decrease
    along the numbers."""

    def __init__(self, bits: int, start: int, name: int) -> None:
        super().__init__(bits, start + 1000 if start < 1000 else start, name)
        self._lowest = self._counter

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        keyed = content.session_id is not None or content.partition_key is not None
        if keyed or not self._orders or self._lowest >> (self._bits - 1):
            return super().append(content, now, partition)
        self._lowest -= 1
        highest, self._counter = self._counter, self._lowest
        stored = super().append(content, now, partition)
        self._counter = highest
        return stored


@held_out("emptied-partition-skips-a-number", "SEQ-4")
class _EmptiedSkipsANumber(Store):
    """A partition that becomes empty leaves out a number, unless the counter is about to roll over."""

    def delete(self, stored: Stored) -> None:
        before = self.is_empty()
        super().delete(stored)
        if self.is_empty() and not before and not self._counter >> (self._bits - 1):
            self.next_number()


@held_out("rollover-one-too-early", "SEQ-5")
class _RolloverOneTooEarly(Store):
    """The counter starts again at zero without having used its last number."""

    def next_number(self) -> int:
        number = super().next_number()
        if self._counter == (1 << self._bits) - 1:
            self._counter = 0
        return number


@held_out("kill-renumbers-what-is-locked", "SEQ-6", profile="azure-flat")
class _KillRenumbersLocked(Faults):
    """What is locked at a kill is stored anew, under a new number."""

    def drop_locks(self, partition: Partition) -> None:
        now = self.broker.clock.now
        for stored in [one for one in partition.store.live() if one.lock is not None and one.until > now]:
            partition.complete(stored)
            again = partition.store.append(stored.content, stored.enqueued_at, partition)
            again.count, again.tries = stored.count, stored.tries
        super().drop_locks(partition)


@held_out("batch-enqueued-in-steps", "SEQ-7", profile="azure-flat")
class _BatchEnqueuedInSteps(Partition):
    """Each message of a batch is said to be enqueued a second after the one before it."""

    def accept(self, contents: Sequence[Content], now: int) -> None:
        for index, content in enumerate(contents):
            super().accept((content,), now + index * SECOND)
