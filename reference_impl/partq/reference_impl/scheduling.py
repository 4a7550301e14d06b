"""Scheduled messages: stored under a number, and appended anew, under another one, when their time has come.

What is scheduled is stored; its timers are volatile and start over from the stores (`Timetable.resume`). How
clients schedule and cancel is in `sending.py`, what a transaction does with it in `transactions.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from .clock import Clock, Steps
from .errors import Refused
from .freedoms import Freedoms, taken
from .partition import Partition
from .store import Holder, Stored

MOST_LATE: Final = 2_000_000_000
"""ns after its time within which a message is activated while its partition serves."""

RACE: Final = 1_000_000_000
"""ns before a message's time from which on a cancel may meet its activation."""


class Queue(Protocol):
    """The broker as a timetable sees it."""

    alive: bool
    clock: Clock
    free: Freedoms

    @property
    def partitions(self) -> Sequence[Partition]: ...
    def ring(self) -> None: ...
    def pass_on(self, partition: Holder, messages: int) -> None: ...


class Timetable:
    """When the scheduled messages of a queue are activated, and whether a cancel comes in time. ``any``:
    whether there may be any. ``outrun``: how many cancels were answered ok, and came too late."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.clock = queue.clock
        self.any = False
        self.outrun = 0

    def enter(self, stored: Stored) -> None:
        """Let a message that was stored just now wait for its time."""
        self.any = True
        stored.due = stored.content.scheduled_at
        self.start(stored)

    def start(self, stored: Stored) -> None:
        """Start a message's timer. A second one changes nothing."""
        self.clock.spawn(self._wait(stored, self.time_of(stored)))

    def time_of(self, stored: Stored) -> int:
        """When the message is to be activated: at its time, or a little later (SCH-1)."""
        random = self.clock.random
        late = int(MOST_LATE * random() ** 4) if taken(self.queue.free.activate_late, random) else 0
        return max(stored.due or 0, self.clock.now) + late

    def _wait(self, stored: Stored, at: int) -> Steps[None]:
        while self.clock.now < at:
            yield at
        self.come(stored)

    def come(self, stored: Stored) -> None:
        """Activate a message whose time has come, if it is still scheduled and its partition serves."""
        if self.queue.alive and stored.partition.up and stored.is_scheduled():
            self.activate(stored)
            self.queue.ring()

    def activate(self, stored: Stored) -> None:
        """Append the message as if it were enqueued now (SCH-4)."""
        stored.heir = stored.partition.activate(stored, self.clock.now)
        self.queue.pass_on(stored.partition, 1)

    def resume(self) -> None:
        """The broker, or a partition, serves again: start the timers of what is stored."""
        for partition in self.queue.partitions if self.any else ():
            for stored in partition.store.live():
                if stored.is_scheduled():
                    self.start(stored)

    # Cancelling.

    def find(self, partition: Partition, number: int) -> Stored:
        """The message that is scheduled there under that number. Raises `Refused`."""
        for stored in partition.store.live():
            if stored.is_scheduled() and stored.number == number:
                return stored
        raise Refused("not_found", "nothing is scheduled under that number")

    def cancel(self, stored: Stored) -> Steps[None]:
        """Delete a scheduled message, unless it is being activated. Raises `Refused`."""
        if self.meets(stored):
            while self.clock.now < (stored.due or 0):
                yield stored.due
            if self.is_outrun(stored):
                self.outrun += 1
                return
        if not stored.partition.up:
            raise Refused("unavailable", "the partition is down")
        if not stored.is_scheduled():
            raise Refused("not_found", "the message is not scheduled any more")
        self.delete(stored)

    def meets(self, stored: Stored) -> bool:
        """Whether a cancel that is asked for now is under way while the message is activated (SCH-5)."""
        near = (stored.due or 0) - self.clock.now <= RACE
        return near and taken(self.queue.free.race_cancel, self.clock.random)

    def is_outrun(self, stored: Stored) -> bool:
        """Whether a cancel during the activation is too late: answered ok, without effect (SCH-5)."""
        if self.clock.random() < 0.5:
            self.come(stored)
            return stored.heir is not None
        return False

    def delete(self, stored: Stored) -> None:
        """Delete a scheduled message for good (SCH-3)."""
        stored.partition.complete(stored)

    def still_cancelled(self, cancelled: Sequence[Stored]) -> list[Stored]:
        """The messages that a transaction cancels whose activation does not come before its commit."""
        now = self.clock.now
        outrun = [one for one in cancelled if (one.due or 0) <= now and one.is_scheduled()]
        outrun = [one for one in outrun if self.meets(one) and self.is_outrun(one)]
        return [one for one in cancelled if one not in outrun]
