"""Set aside: scheduled messages (SCH)."""

from __future__ import annotations

from heapq import heappush
from typing import Any

from ...clock import Steps
from ...frontend import FrontEnd
from ...partition import Partition
from ...scheduling import Timetable
from ...settings import SECOND
from ...store import Stored, Ticket
from ..families import kept
from ..forms import answering, then
from ..registry import defect
from ..scheduling import Remembering


@defect("SCH-1", "offer", profile="azure-flat")
def time_of_a_send_ignored(self: Partition, stored: Stored) -> None:
    """A message that is sent with a time can be received at once; the schedule operation keeps the time."""
    if isinstance(stored.content, Ticket):
        Partition.offer(self, stored)
    else:
        heappush(self._free, (stored.order, stored))


@defect("SCH-2", "schedule", answering, profile="azure-flat")
def schedule_answers_the_next_number(self: FrontEnd, shown: list[Any]) -> list[Any]:
    """The schedule operation answers with the number after the one that the message has."""
    return [message._replace(seq=message.seq + 1) for message in shown]


@defect("SCH-3")
class CancelledBackAfterRestart(Timetable):
    """What was cancelled is scheduled again when the broker, or a partition, serves again."""

    cancelled = kept(list[Stored])

    def delete(self, stored: Stored) -> None:
        super().delete(stored)
        self.cancelled.append(stored)

    def resume(self) -> None:
        super().resume()
        for stored in self.cancelled:
            stored.partition.accept([stored.content], self.clock.now)
        self.cancelled.clear()


@defect("SCH-4", "cancel")
def activated_number_deletes(self: Remembering, stored: Stored) -> Steps[None]:
    """A cancel by the number of before the activation answers ok, and deletes the message if it is free."""
    heir, partition = stored.heir, stored.partition
    if heir is None:
        yield from Remembering.cancel(self, stored)
    elif isinstance(partition, Partition) and (heir.order, heir) in partition._free:
        partition._free = sorted(one for one in partition._free if one[1] is not heir)
        partition.complete(heir)


class _Again(Ticket):
    """A message that has recurred."""

    __slots__ = ()


@defect("SCH-6", "activate", then, profile="azure-standard")
def schedule_recurs(self: Timetable, stored: Stored) -> None:
    """When a message is activated it is scheduled once more, for ten seconds later."""
    if not isinstance(stored.content, _Again):
        again = _Again.of(stored.content)
        again.scheduled_at = self.clock.now + 10 * SECOND
        stored.partition.accept([again], self.clock.now)
