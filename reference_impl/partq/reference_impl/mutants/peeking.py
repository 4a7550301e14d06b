"""Defects in browsing (PEEK)."""

from __future__ import annotations

from typing import Any

from ..clock import Steps
from ..frontend import FrontEnd
from ..network import Connection
from ..partition import Partition
from .registry import defect

FEW = 3
"""Deliveries up to which a defect counts wrongly, so that nothing is dead-lettered for it."""


class _Browsing(FrontEnd):
    """A front end whose every single browse of a partition can be spoilt."""

    def spoilt(self, found: list[Any]) -> list[Any]:
        """What is shown of the partition's messages instead."""
        return found

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        found: list[Any] = []
        super().browse(connection, partition, most - len(shown), number, found)
        shown.extend(self.spoilt(found))


@defect("flat-peek-skips-oldest", "PEEK-1", profile="azure-flat")
class _FlatSkipsOldest(_Browsing):
    """An answer of several messages leaves out the oldest."""

    def spoilt(self, found: list[Any]) -> list[Any]:
        return found[1:] if len(found) > 2 else found


@defect("peek-skips-second", "PEEK-2")
class _SkipsSecond(FrontEnd):
    """An answer of several messages of a partition leaves out the second, if that is not locked."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        second = len(shown) + 1
        super().browse(connection, partition, most, number, shown)
        free = {stored.content.id for stored in partition.store.live() if stored.lock is None}
        if len(shown) > second + 1 and shown[second].id in free:
            del shown[second]


@defect("peek-one-too-many", "PEEK-4")
class _OneTooMany(FrontEnd):
    """A peek answers with one message more than was asked for."""

    def peek(self, connection: Connection, most: int, number: int | None) -> Steps[list[Any]]:
        return super().peek(connection, most + 1, number)


@defect("peek-sees-nothing-at-first", "PEEK-4")
class _NothingAtFirst(FrontEnd):
    """A peek by number asks one partition, and is content if that is empty."""

    def peek(self, connection: Connection, most: int, number: int | None) -> Steps[list[Any]]:
        shown = yield from super().peek(connection, most, number)
        first = self.partitions[0].name
        return [message for message in shown if message.partition == first] if number is not None else shown


@defect("peek-stands-still", "PEEK-5")
class _StandsStill(_Browsing):
    """After an answer of several messages of a partition the cursor there stands before the last one."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        before = len(shown)
        super().browse(connection, partition, most, number, shown)
        if number is None and len(shown) - before > 1:
            connection.cursors[partition.name] -= 1


@defect("peek-ends-with-first-partition", "PEEK-5")
class _EndsWithFirstPartition(FrontEnd):
    """A walk that has exhausted one partition is said to be at its end."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        if number is None and connection.cursors and partition.name not in connection.cursors:
            return
        super().browse(connection, partition, most, number, shown)


@defect("peek-locks", "PEEK-6")
class _Locks(_Browsing):
    """Peeked messages bear a lock."""

    def spoilt(self, found: list[Any]) -> list[Any]:
        return [message._replace(lock=self.broker.token()) for message in found]


@defect("peek-counts", "PEEK-6")
class _Counts(FrontEnd):
    """A peek raises the delivery count of what it shows by one, if it is below three. Deliveries show it."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        before = len(shown)
        super().browse(connection, partition, most, number, shown)
        peeked = {message.id for message in shown[before:]}
        for stored in partition.store.live():
            if stored.content.id in peeked and stored.count < FEW:
                stored.count += 1


@defect("peek-hides-locked", "PEEK-7")
class _HidesLocked(FrontEnd):
    """Locked messages are not shown beside others."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        before = len(shown)
        super().browse(connection, partition, most, number, shown)
        now = self.clock.now
        locked = {s.content.id for s in partition.store.live() if s.lock is not None and now < s.until}
        shown[before:] = [m for m in shown[before:] if m.id not in locked] or shown[before:]
