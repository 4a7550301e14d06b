"""Defects in numbers and enqueued times (SEQ)."""

from __future__ import annotations

from collections.abc import Sequence

from ..partition import Partition
from ..settings import SECOND
from ..store import Content, Holder, Store, Stored
from .lowering import Lowering
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
class NumbersGoBack(Lowering):
    """After a pause of 20 seconds a message gets the number below the lowest one, if there is one. Where the
    two sends overlap, it shows only by their enqueued times, which then decrease along the numbers."""

    MARGIN = 100
    _before = 0

    def lowers(self, content: Content, now: int) -> bool:
        pause, self._before = now - self._before > 20 * SECOND, now
        return pause


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


@defect("batch-shares-its-number", "SEQ-1", profile="azure-standard")
class _BatchSharesItsNumber(Partition):
    """The second message of a batch has the number of the first."""

    def accept(self, contents: Sequence[Content], now: int) -> None:
        super().accept(contents[:1], now)
        if len(contents) > 1:
            store = self.store
            store._counter = (store._counter - 1) % (1 << store._bits)
            super().accept(contents[1:], now)


@defect("emptied-partition-skips-a-number", "SEQ-4")
class _EmptiedSkipsANumber(Store):
    """A partition that becomes empty leaves out a number, unless the counter is about to roll over."""

    def delete(self, stored: Stored) -> None:
        before = self.is_empty()
        super().delete(stored)
        if self.is_empty() and not before and not self._counter >> (self._bits - 1):
            self.next_number()


@defect("rollover-one-too-early", "SEQ-5")
class _RolloverOneTooEarly(Store):
    """The counter starts again at zero without having used its last number."""

    def next_number(self) -> int:
        number = super().next_number()
        if self._counter == (1 << self._bits) - 1:
            self._counter = 0
        return number


@defect("batch-enqueued-in-steps", "SEQ-7", profile="azure-flat")
class _BatchEnqueuedInSteps(Partition):
    """Each message of a batch is said to be enqueued a second after the one before it."""

    def accept(self, contents: Sequence[Content], now: int) -> None:
        for index, content in enumerate(contents):
            super().accept((content,), now + index * SECOND)
