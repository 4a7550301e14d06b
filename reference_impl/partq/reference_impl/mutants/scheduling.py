"""Defects in scheduled messages (SCH), and in what peeks, faults and transactions make of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappush
from typing import Any

from ..clock import Steps
from ..frontend import FrontEnd
from ..partition import Partition
from ..scheduling import Queue, Timetable
from ..settings import SECOND
from ..store import Content, Stored, Ticket
from .registry import defect


@defect("activated-early", "SCH-1")
class _Early(Timetable):
    """A message is activated ten seconds before its time."""

    def time_of(self, stored: Stored) -> int:
        return super().time_of(stored) - 10 * SECOND


@defect("time-of-a-send-ignored", "SCH-1", profile="azure-flat")
class _TimeIgnored(Partition):
    """A message that is sent with a time can be received at once; the schedule operation keeps the time."""

    def offer(self, stored: Stored) -> None:
        if isinstance(stored.content, Ticket):
            super().offer(stored)
        else:
            heappush(self._free, (stored.order, stored))


@defect("never-activated", "SCH-1", profile="azure-standard")
class _Never(Timetable):
    """A message stays scheduled when its time has come."""

    def come(self, stored: Stored) -> None:
        return


@defect("missed-time-never-made-up", "SCH-1")
class _Missed(Timetable):
    """A message whose time comes while the broker, or its partition, is down stays scheduled."""

    def resume(self) -> None:
        return


@defect("scheduled-not-peeked", "SCH-2")
class _NotPeeked(Partition):
    """A peek does not show scheduled messages."""

    def visible(self, first: int) -> Iterator[Stored]:
        return (stored for stored in super().visible(first) if not stored.is_scheduled())


@defect("schedule-answers-the-next-number", "SCH-2", profile="azure-flat")
class _NextNumber(FrontEnd):
    """The schedule operation answers with the number after the one that the message has."""

    def schedule(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[list[Any]]:
        shown = yield from super().schedule(contents, txn, timeout)
        return [message._replace(seq=message.seq + 1) for message in shown]


@defect("cancel-ignored", "SCH-3", profile="azure-flat")
class _CancelIgnored(Timetable):
    """A cancel answers ok, however long before the message's time, and the message is activated."""

    def delete(self, stored: Stored) -> None:
        return


@defect("cancelled-back-after-restart", "SCH-3")
class _CancelledBack(Timetable):
    """What was cancelled is scheduled again when the broker, or a partition, serves again."""

    def __init__(self, queue: Queue) -> None:
        super().__init__(queue)
        self.cancelled: list[Stored] = []

    def delete(self, stored: Stored) -> None:
        super().delete(stored)
        self.cancelled.append(stored)

    def resume(self) -> None:
        super().resume()
        for stored in self.cancelled:
            stored.partition.accept([stored.content], self.clock.now)
        self.cancelled.clear()


@defect("activation-keeps-the-number", "SCH-4")
class _KeepsNumber(Timetable):
    """An activated message has the number that it was scheduled under; no number is used up."""

    def activate(self, stored: Stored) -> None:
        super().activate(stored)
        if stored.heir is not None and isinstance(stored.partition, Partition):
            stored.heir.number = stored.number
            stored.partition.store._counter -= 1


@defect("activation-keeps-the-time", "SCH-4", profile="azure-flat")
class _KeepsTime(Timetable):
    """An activated message has the enqueued time of when it was scheduled."""

    def activate(self, stored: Stored) -> None:
        super().activate(stored)
        if stored.heir is not None:
            stored.heir.enqueued_at = stored.enqueued_at


class _Remembering(Timetable):
    """A timetable that still finds messages that were activated."""

    def __init__(self, queue: Queue) -> None:
        super().__init__(queue)
        self.activated: dict[int, Stored] = {}

    def activate(self, stored: Stored) -> None:
        super().activate(stored)
        self.activated[stored.number] = stored

    def find(self, partition: Partition, number: int) -> Stored:
        return self.activated.get(number) or super().find(partition, number)


@defect("activated-number-still-cancels", "SCH-4", profile="azure-standard")
class _StillCancels(_Remembering):
    """A cancel by the number of before the activation answers ok, and changes nothing."""

    def cancel(self, stored: Stored) -> Steps[None]:
        if stored.heir is None:
            yield from super().cancel(stored)


@defect("activated-number-deletes", "SCH-4")
class _StillDeletes(_Remembering):
    """A cancel by the number of before the activation answers ok, and deletes the message if it is free."""

    def cancel(self, stored: Stored) -> Steps[None]:
        heir, partition = stored.heir, stored.partition
        if heir is None:
            yield from super().cancel(stored)
        elif isinstance(partition, Partition) and (heir.order, heir) in partition._free:
            partition._free = sorted(one for one in partition._free if one[1] is not heir)
            partition.complete(heir)


@defect("activated-twice", "SCH-6")
class _Twice(Partition):
    """A message is appended twice when its time comes."""

    def activate(self, stored: Stored, now: int) -> Stored:
        self.release(self.store.append(stored.content, now, self))
        return super().activate(stored, now)


class _Again(Ticket):
    """A message that has recurred."""

    __slots__ = ()


@defect("schedule-recurs", "SCH-6", profile="azure-standard")
class _Recurs(Timetable):
    """When a message is activated it is scheduled once more, for ten seconds later."""

    def activate(self, stored: Stored) -> None:
        super().activate(stored)
        if not isinstance(stored.content, _Again):
            again = _Again.of(stored.content)
            again.scheduled_at = self.clock.now + 10 * SECOND
            stored.partition.accept([again], self.clock.now)


@defect("activated-ahead", "RCV-3", profile="azure-flat")
class _Ahead(Partition):
    """An activated message is delivered as early as if it had not been scheduled."""

    def activate(self, stored: Stored, now: int) -> Stored:
        heir = super().activate(stored, now)
        self._free = sorted((stored.order if one is heir else order, one) for order, one in self._free)
        return heir


@defect("scheduled-called-active", "PEEK-7")
class _CalledActive(FrontEnd):
    """A peek shows scheduled messages as active."""

    def state_of(self, stored: Stored) -> str:
        return "active"


@defect("restart-loses-scheduled", "RCV-2", profile="azure-standard")
class _RestartLoses(Timetable):
    """What is scheduled is gone when the broker, or a partition, serves again."""

    def resume(self) -> None:
        for partition in self.queue.partitions:
            for stored in list(partition.store.live()):
                if stored.is_scheduled():
                    partition.complete(stored)


@defect("rolled-back-schedule-activated", "TXN-5")
class _RolledBack(Partition):
    """What was scheduled in a transaction stays scheduled when that is rolled back."""

    def withdraw(self, hidden: Sequence[Stored]) -> None:
        scheduled = [stored for stored in hidden if stored.content.scheduled_at is not None]
        self.reveal(scheduled)
        super().withdraw([stored for stored in hidden if stored not in scheduled])


@defect("cancels-before-commit", "TXN-5", profile="azure-flat")
class _CancelsAtOnce(FrontEnd):
    """A cancel in a transaction deletes the message at once, and no rollback brings it back."""

    def cancel(self, number: int, txn: str | None) -> Steps[None]:
        yield from super().cancel(number, None)
