"""Defects in numbers and enqueued times (SEQ)."""

from __future__ import annotations

from ..partition import Partition
from ..store import Content, Holder, Store, Stored
from .registry import defect


@defect("number-twice", "SEQ-1")
class _NumberTwice(Store):
    """Every fourth number is given out twice, but for those around the roll-over."""

    def next_number(self) -> int:
        number = super().next_number()
        if self._orders % 4 == 3 and 4 < self._counter < 1 << (self._bits - 1):
            self._counter -= 1
        return number


@defect("partition-bits-drift", "SEQ-2")
class _PartitionBitsDrift(Store):
    """From the third message on the top bits name another partition than the one it is."""

    def next_number(self) -> int:
        number = super().next_number()
        return number ^ (1 << 62) if self._orders >= 2 else number


@defect("numbers-go-back", "SEQ-3", also=("SEQ-7",))
class NumbersGoBack(Store):
    """After a pause of 20 seconds a message gets the number below the lowest one, if there is one. Where the
    two sends overlap, it shows only by their enqueued times, which then decrease along the numbers."""

    def __init__(self, bits: int, start: int, name: int) -> None:
        super().__init__(bits, start + 100 if start < 100 else start, name)
        self._lowest, self._before = self._counter, 0

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        pause, self._before = now - self._before > 20_000_000_000, now
        if not self._orders or not pause or self._lowest >> (self._bits - 1):
            return super().append(content, now, partition)
        self._lowest -= 1
        highest, self._counter = self._counter, self._lowest
        stored = super().append(content, now, partition)
        self._counter = highest
        return stored


@defect("numbers-skipped", "SEQ-4")
class _NumbersSkipped(Store):
    """Every third message leaves out a number, but never zero."""

    def next_number(self) -> int:
        if self._orders % 3 == 2 and self._counter != 0:
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

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        return super().append(content, now - 10_000_000_000, partition)


@defect("enqueued-times-decrease", "SEQ-7")
class _EnqueuedTimesDecrease(Store):
    """The enqueued time of each message is a second further behind than that of the one before it."""

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        return super().append(content, now - self._orders * 1_000_000_000, partition)
