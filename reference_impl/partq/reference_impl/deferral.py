"""Deferred messages: set aside in their partition by a holder of their locks, and received by their numbers.

That a message is deferred is stored. Its lock ends as any other does; it is deferred then, as it was before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .clock import HOP, Steps
from .errors import Refused
from .network import Connection
from .partition import Partition
from .settling import Settling
from .store import Stored


class Deferring(Settling):
    """A front end's side of deferred messages."""

    def receive_deferred(self, connection: Connection, numbers: Sequence[int]) -> Steps[list[Any]]:
        """The deferred messages of these numbers, each locked. Raises `Refused` where one is not there."""
        yield HOP
        broker = self.broker
        broker.check_has("RCV-10")
        broker.check_alive()
        if broker.config.requires_session:
            raise Refused("invalid_operation", "messages are received in a session")
        partition = self.partition_asked(numbers)
        yield HOP
        broker.check_up(partition)
        partition.tidy(self.clock.now)
        found = [self.find_deferred(partition, number) for number in dict.fromkeys(numbers)]
        shown = [self.hand_out(partition, stored, delete=False) for stored in found]
        connection.locks.extend(one.lock for one in shown)
        yield HOP
        return shown

    def partition_asked(self, numbers: Sequence[int]) -> Partition:
        """The one partition of all these numbers. Raises `Refused`."""
        first, *others = map(self.broker.partition_of, numbers)
        if any(other is not first for other in others):
            raise Refused("invalid_operation", "the numbers are of different partitions")
        return first

    def find_deferred(self, partition: Partition, number: int) -> Stored:
        """The message that is deferred there under that number, and not locked. Raises `Refused`."""
        for stored in partition.store.live():
            if stored.number == number and stored.deferred and stored.lock is None:
                return stored
        raise Refused("not_found", "nothing is deferred under that number")
