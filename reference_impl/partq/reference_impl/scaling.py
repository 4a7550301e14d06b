"""Partition scaling: the number of partitions of a queue with flows changes.

Partitions are removed from the highest number down, with what is in them, or added with the next numbers.
Then every key is mapped anew, and a rebalance is triggered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .core import Core
from .errors import Refused
from .flows import Assignments
from .freedoms import taken
from .handoffs import Seat
from .partition import Partition


class Scaling:
    """Changes the partitions of a queue. ``add(number)`` makes one. ``deleted``: the locks that clients have
    on messages that are gone with their partition."""

    def __init__(self, broker: Core, assignments: Assignments, add: Callable[[int], Partition]) -> None:
        self.broker = broker
        self.assignments = assignments
        self.add = add
        self.deleted: set[str] = set()

    def update(self, settings: Mapping[str, Any]) -> None:
        """Change the number of partitions. Raises `Refused` for anything else."""
        count = settings.get("partitions")
        if settings.keys() != {"partitions"} or type(count) is not int or count < 1:
            raise Refused("invalid_operation", "only the number of partitions can be changed")
        if count != len(self.broker.partitions):
            self.scale(count)

    def scale(self, count: int) -> None:
        """Have so many partitions."""
        while len(self.broker.partitions) > count:
            self.remove()
        while len(self.broker.partitions) < count:
            self.append()
        self.broker.forget_homes()
        self.assignments.scaled()

    def remove(self) -> None:
        """Delete the highest partition."""
        self.broker.partitions.pop()
        seat = self.assignments.seats.pop()
        self.deleted |= seat.unacked.keys()
        for token in seat.unacked:
            self.broker.locks.pop(token, None)
        self.assignments.vacate(seat)

    def append(self) -> None:
        """Add a partition with the next number; the next rebalance gives it a flow."""
        partition = self.add(len(self.broker.partitions))
        self.broker.partitions.append(partition)
        self.assignments.seats.append(Seat(partition))

    def forgives(self, token: str) -> bool:
        """Whether a settlement of a message that is gone with its partition is accepted."""
        return token in self.deleted and taken(self.broker.free.settle_deleted, self.broker.clock.random)
