"""Defects in numbers and enqueued times (SEQ)."""

from __future__ import annotations

from ..partition import Partition
from ..store import Content, Store, Stored
from .registry import defect


@defect("number-twice", "SEQ-1")
class _NumberTwice(Store):
    """Every fourth number is given out twice."""

    def next_number(self) -> int:
        number = super().next_number()
        if self._orders % 4 == 3:
            self._counter = (self._counter - 1) % (1 << self._bits)
        return number


@defect("partition-bits-drift", "SEQ-2")
class _PartitionBitsDrift(Store):
    """From the third message on the top bits name another partition than the one it is."""

    def next_number(self) -> int:
        number = super().next_number()
        return number ^ (1 << 62) if self._orders >= 2 else number


@defect("numbers-in-pairs-swapped", "SEQ-3", also=("RCV-3", "PEEK-2"))
class _NumbersSwapped(Store):
    """Of each two messages the second gets the smaller number. Its order of delivery and of peeks, which is
    that of acceptance, then goes against the numbers too."""

    def next_number(self) -> int:
        number = super().next_number()
        return number + 1 if self._orders % 2 == 0 else number - 1


@defect("numbers-skipped", "SEQ-4")
class _NumbersSkipped(Store):
    """Every third message leaves out a number."""

    def next_number(self) -> int:
        if self._orders % 3 == 2:
            super().next_number()
        return super().next_number()


@defect("counter-spills", "SEQ-5")
class _CounterSpills(Store):
    """The exhausted counter runs over into the partition's bits."""

    def next_number(self) -> int:
        number = self._high + self._counter
        self._counter += 1
        return number


@defect("rollover-to-one", "SEQ-5")
class _RolloverToOne(Store):
    """The exhausted counter starts again at one."""

    def next_number(self) -> int:
        number = super().next_number()
        self._counter = self._counter or 1
        return number


@defect("flat-rollover-to-one", "SEQ-5", profile="azure-flat")
class _FlatRolloverToOne(_RolloverToOne):
    """The exhausted counter starts again at one."""


@defect("abandon-renumbers", "SEQ-6")
class _AbandonRenumbers(Partition):
    """An abandoned message is stored anew, under a new number."""

    def abandon(self, stored: Stored) -> None:
        self.complete(stored)
        again = self.store.append(stored.content, stored.enqueued_at, self)
        again.count = stored.count + 1
        self.release(again)


@defect("enqueued-in-the-past", "SEQ-7")
class _EnqueuedInThePast(Store):
    """The enqueued time is that of another clock, ten seconds slow."""

    def append(self, content: Content, now: int, partition: Partition) -> Stored:
        return super().append(content, now - 10_000_000_000, partition)


@defect("enqueued-time-frozen-backwards", "SEQ-7")
class _EnqueuedBackwards(Store):
    """Later messages bear earlier enqueued times."""

    def append(self, content: Content, now: int, partition: Partition) -> Stored:
        return super().append(content, now - self._orders * 1_000_000_000, partition)
