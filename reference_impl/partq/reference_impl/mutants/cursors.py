"""Defects in walks, and in peeks from a number on (PEEK)."""

from __future__ import annotations

from itertools import islice
from typing import Any

from ..frontend import FrontEnd
from ..network import Connection
from ..partition import Partition
from .registry import defect

END = 2**62
"""A cursor that no message reaches."""


@defect("peek-leaves-out-its-number", "PEEK-1", profile="azure-flat")
class _LeavesOutItsNumber(FrontEnd):
    """A peek from a number on leaves out the message of that number, if there are younger ones."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        super().browse(connection, partition, most, number, shown)
        if number and len(shown) > 1 and shown[0].seq == number:
            del shown[0]


@defect("peek-by-number-shows-the-newest", "PEEK-2", profile="azure-standard")
class _ShowsTheNewest(FrontEnd):
    """A peek by number that has to choose shows a partition's newest messages."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        if number is None:
            super().browse(connection, partition, most, number, shown)
            return
        found: list[Any] = []
        super().browse(connection, partition, END, number, found)
        shown += found[len(shown) - most :]


@defect("second-partition-exceeds", "PEEK-4", profile="azure-standard")
class _SecondPartitionExceeds(FrontEnd):
    """An answer of several partitions may hold one message more than was asked for."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        super().browse(connection, partition, most + bool(shown), number, shown)


@defect("walk-starts-over", "PEEK-5", profile="azure-flat")
class _WalkStartsOver(FrontEnd):
    """A walk that has come to its end begins anew."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        super().browse(connection, partition, most, number, shown)
        if number is None and not shown:
            connection.cursors.clear()


@defect("walk-ends-for-good", "PEEK-5")
class _WalkEndsForGood(FrontEnd):
    """A walk that has come to the end of a partition does not see what is stored there later."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        before = len(shown)
        super().browse(connection, partition, most, number, shown)
        if number is None and before < len(shown) < most:
            connection.cursors[partition.name] = END


@defect("capped-peek-skips-the-rest", "PEEK-5", profile="azure-flat", also=("PEEK-1",))
class _CappedPeekSkipsTheRest(FrontEnd):
    """A walk goes on behind all that was asked for, also where an answer had to hold less. That is also
    to leave out what is older than the next answer."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        asked = list(islice(partition.visible(connection.cursors.get(partition.name, 0)), most))
        super().browse(connection, partition, most, number, shown)
        if number is None and len(asked) > len(shown):
            connection.cursors[partition.name] = asked[-1].order + 1
