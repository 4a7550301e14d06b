"""Defects in numbers and enqueued times (SEQ), set aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...clock import Steps
from ...faults import Faults
from ...frontend import FrontEnd
from ...network import Connection
from ...partition import Partition
from ...settings import SECOND
from ...store import Content, Holder, Store, Stored
from ..registry import held_out

SKIPPED = 10
"""So many numbers a careless broker leaves out to be on the safe side."""

LONG = 255
"""Characters that fit into one block of a careless store."""


def _far_from_the_end(store: Store) -> bool:
    """Whether the counter has numbers enough to leave some out, so that only a gap shows."""
    return not store._counter >> (store._bits - 1)


def _step_back(store: Store) -> None:
    """Give the last number out again, if there is one."""
    if store._orders and store._counter:
        store._counter -= 1


def _under_one(shown: Sequence[Any]) -> list[Any]:
    """Messages of one answer, those without a key in the partition of the first."""
    first = shown[0].partition if shown else None
    keyed = {message.id for message in shown if (message.session_id or message.partition_key) is not None}
    return [m if m.id in keyed else m._replace(partition=first) for m in shown]


@held_out("outage-repeats-a-number", "SEQ-1", profile="azure-standard")
class _OutageRepeatsANumber(Faults):
    """A partition that comes back gives out its last number once more."""

    def partition_up(self, index: int) -> Steps[int]:
        partition = self.broker.partitions[index % len(self.broker.partitions)]
        if not partition.up:
            _step_back(partition.store)
        return (yield from super().partition_up(index))


@held_out("restart-repeats-a-number", "SEQ-1", profile="azure-flat")
class _RestartRepeatsANumber(Faults):
    """After a restart the last number is given out once more."""

    def broker_start(self) -> Steps[None]:
        for partition in () if self.broker.alive else self.broker.partitions:
            _step_back(partition.store)
        yield from super().broker_start()


@held_out("peeked-under-one-partition", "SEQ-2")
class _PeekedUnderOnePartition(FrontEnd):
    """In a peek's answer messages without a key are shown in the partition of the first message, beside their
    true numbers."""

    def peek(self, connection: Connection, most: int, number: int | None) -> Steps[list[Any]]:
        shown = yield from super().peek(connection, most, number)
        return _under_one(shown)


@held_out("deleted-under-one-partition", "SEQ-2", profile="azure-standard")
class _DeletedUnderOnePartition(FrontEnd):
    """A receive that deletes shows messages without a key in the partition of its first message, beside their
    true numbers."""

    def receive(
        self, connection: Connection, most: int, delete: bool, timeout: int, name: str | None = None
    ) -> Steps[list[Any]]:
        shown = yield from super().receive(connection, most, delete, timeout, name)
        return _under_one(shown) if delete else shown


@held_out("commit-numbers-sessions-first", "SEQ-3")
class _CommitNumbersSessionsFirst(FrontEnd):
    """A commit stores what bears a session ID before what has nothing but a partition key."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        if txn is not None:
            txn.sends.sort(key=lambda content: content.session_id is None)
        yield from super().commit(name)


@held_out("commit-numbers-its-last-first", "SEQ-3", profile="azure-flat")
class _CommitNumbersItsLastFirst(FrontEnd):
    """A commit of several sends stores the last one first."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        if txn is not None and len(txn.sends) > 1:
            txn.sends.insert(0, txn.sends.pop())
        yield from super().commit(name)


@held_out("recovery-skips-numbers", "SEQ-4", profile="azure-standard")
class _RecoverySkipsNumbers(Faults):
    """A partition that comes back leaves out ten numbers, unless the counter is about to roll over."""

    def partition_up(self, index: int) -> Steps[int]:
        partition = self.broker.partitions[index % len(self.broker.partitions)]
        if not partition.up and partition.store._orders and _far_from_the_end(partition.store):
            partition.burn(SKIPPED)
        return (yield from super().partition_up(index))


@held_out("failed-delivery-uses-a-number", "SEQ-4", profile="azure-flat")
class _FailedDeliveryUsesANumber(Partition):
    """Each lock that is abandoned or runs out uses up a number, unless the counter is about to roll over."""

    def abandon(self, stored: Stored) -> None:
        super().abandon(stored)
        if _far_from_the_end(self.store):
            self.burn(1)


@held_out("long-bodies-use-two-numbers", "SEQ-4")
class _LongBodiesUseTwoNumbers(Store):
    """A message whose body is longer than 255 characters uses up two numbers, unless the counter is about to
    roll over."""

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        stored = super().append(content, now, partition)
        if len(content.body) > LONG and _far_from_the_end(self):
            self.next_number()
        return stored


@held_out("counter-stops-at-its-end", "SEQ-5", profile="azure-flat")
class _CounterStopsAtItsEnd(Store):
    """The exhausted counter gives out its last number again and again."""

    def next_number(self) -> int:
        number = super().next_number()
        if not self._counter:
            self._counter = number
        return number


@held_out("rollover-in-tens", "SEQ-5", profile="azure-standard")
class _RolloverInTens(Store):
    """The exhausted counter starts again at ten."""

    def next_number(self) -> int:
        number = super().next_number()
        if not self._counter:
            self._counter = SKIPPED
        return number


class _Renumbering(Partition):
    """A partition that can give its newest message another number."""

    def renumber(self, stored: Stored) -> None:
        """Give the message the next number, if no younger one has been stored."""
        if self.store._log[-1] is stored:
            stored.number = self.store.next_number()


@held_out("renewal-renumbers-the-newest", "SEQ-6")
class _RenewalRenumbersTheNewest(_Renumbering):
    """A partition's newest message has a new number after its lock was renewed."""

    def renew(self, stored: Stored, until: int) -> None:
        super().renew(stored, until)
        self.renumber(stored)


@held_out("second-delivery-renumbers-the-newest", "SEQ-6", profile="azure-flat")
class _SecondDeliveryRenumbersTheNewest(_Renumbering):
    """The newest message has a new number when it is delivered for the second time."""

    def lock(self, stored: Stored, token: str, until: int) -> None:
        super().lock(stored, token, until)
        if stored.tries == 2:
            self.renumber(stored)


@held_out("enqueued-in-the-next-second", "SEQ-7", profile="azure-standard")
class _EnqueuedInTheNextSecond(Partition):
    """Enqueued times are rounded up to whole seconds."""

    def accept(self, contents: Sequence[Content], now: int) -> None:
        super().accept(contents, -(-now // SECOND) * SECOND)


@held_out("odd-partitions-run-ahead", "SEQ-7")
class _OddPartitionsRunAhead(Partition):
    """In partitions of an odd name the enqueued time is that of a clock that is ten seconds fast."""

    def accept(self, contents: Sequence[Content], now: int) -> None:
        super().accept(contents, now + 10 * SECOND if self.name % 2 else now)


@held_out("kill-sets-clock-back", "SEQ-7", profile="azure-flat")
class _KillSetsClockBack(Partition):
    """Enqueued times are five seconds slow from a kill on, and five more from each further one."""

    _slow = 0

    def recover(self, counted: bool = False) -> None:
        super().recover(counted)
        self._slow += 5 * SECOND

    def accept(self, contents: Sequence[Content], now: int) -> None:
        super().accept(contents, max(now - self._slow, 0))
