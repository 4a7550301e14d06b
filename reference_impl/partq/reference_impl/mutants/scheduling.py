"""Defects in scheduled messages (SCH), and in what peeks, faults and transactions make of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..clock import Steps
from ..frontend import FrontEnd
from ..partition import Partition
from ..scheduling import Timetable
from ..settings import SECOND
from ..store import Stored
from .families import kept
from .forms import before, then
from .registry import defect


@defect("SCH-1", "time_of")
def activated_early(self: Timetable, stored: Stored) -> int:
    """A message is activated ten seconds before its time."""
    return Timetable.time_of(self, stored) - 10 * SECOND


@defect("SCH-1", "come", profile="azure-standard")
def never_activated(self: Timetable) -> None:
    """A message stays scheduled when its time has come."""
    return


@defect("SCH-1", "resume")
def missed_time_never_made_up(self: Timetable) -> None:
    """A message whose time comes while the broker, or its partition, is down stays scheduled."""
    return


@defect("SCH-2", "visible")
def scheduled_not_peeked(self: Partition, first: int) -> Iterator[Stored]:
    """A peek does not show scheduled messages."""
    return (stored for stored in Partition.visible(self, first) if not stored.is_scheduled())


@defect("SCH-3", "delete", profile="azure-flat")
def cancel_ignored(self: Timetable) -> None:
    """A cancel answers ok, however long before the message's time, and the message is activated."""
    return


@defect("SCH-3", "delete")
def cancels_of_the_last_seconds_ignored(self: Timetable, stored: Stored) -> None:
    """In the ten seconds before the message's time a cancel answers ok, and changes nothing."""
    if (stored.due or 0) - self.clock.now > 10 * SECOND:
        Timetable.delete(self, stored)


@defect("SCH-4", "activate", then)
def activation_keeps_the_number(self: Timetable, stored: Stored) -> None:
    """An activated message has the number that it was scheduled under; no number is used up."""
    if stored.heir is not None and isinstance(stored.partition, Partition):
        stored.heir.number = stored.number
        stored.partition.store._counter -= 1


@defect("SEQ-7", "activate", then, profile="azure-flat")
def activation_keeps_the_time(self: Timetable, stored: Stored) -> None:
    """An activated message has the enqueued time of when it was scheduled."""
    if stored.heir is not None:
        stored.heir.enqueued_at = stored.enqueued_at


class Remembering(Timetable):
    """A timetable that still finds messages that were activated."""

    activated = kept(dict[int, Stored])

    def activate(self, stored: Stored) -> None:
        super().activate(stored)
        self.activated[stored.number] = stored

    def find(self, partition: Partition, number: int) -> Stored:
        return self.activated.get(number) or super().find(partition, number)


@defect("SCH-4", "cancel", profile="azure-standard")
def activated_number_still_cancels(self: Remembering, stored: Stored) -> Steps[None]:
    """A cancel by the number of before the activation answers ok, and changes nothing."""
    if stored.heir is None:
        yield from Remembering.cancel(self, stored)


@defect("SCH-6", "activate", before)
def activated_twice(self: Partition, stored: Stored, now: int) -> None:
    """A message is appended twice when its time comes."""
    self.release(self.store.append(stored.content, now, self))


@defect("RCV-3", "activate", then, profile="azure-flat")
def activated_ahead(self: Partition, stored: Stored, heir: Stored) -> None:
    """An activated message is delivered as early as if it had not been scheduled."""
    self._free = sorted((stored.order if one is heir else order, one) for order, one in self._free)


@defect("PEEK-7", "state_of")
def scheduled_called_active(self: FrontEnd) -> str:
    """A peek shows scheduled messages as active."""
    return "active"


@defect("RCV-2", "resume", profile="azure-standard")
def restart_loses_scheduled(self: Timetable) -> None:
    """What is scheduled is gone when the broker, or a partition, serves again."""
    for partition in self.queue.partitions:
        for stored in list(partition.store.live()):
            if stored.is_scheduled():
                partition.complete(stored)


@defect("TXN-5", "withdraw")
def rolled_back_schedule_activated(self: Partition, hidden: Sequence[Stored]) -> None:
    """What was scheduled in a transaction stays scheduled when that is rolled back."""
    scheduled = [stored for stored in hidden if stored.content.scheduled_at is not None]
    self.reveal(scheduled)
    Partition.withdraw(self, [stored for stored in hidden if stored not in scheduled])


@defect("TXN-5", "cancel", profile="azure-flat")
def cancels_before_commit(self: FrontEnd, number: int) -> Steps[None]:
    """A cancel in a transaction deletes the message at once, and no rollback brings it back."""
    yield from FrontEnd.cancel(self, number, None)
