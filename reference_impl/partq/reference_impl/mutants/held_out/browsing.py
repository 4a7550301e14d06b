"""Defects in browsing (PEEK), set aside."""

from __future__ import annotations

from typing import Any

from ...frontend import FrontEnd
from ...network import Connection
from ...partition import Partition
from ...store import Stored
from ..registry import held_out
from ..viewing import Viewing

END = 2**62
"""A cursor that no message reaches."""


@held_out("peek-leaves-out-its-number", "PEEK-1", profile="azure-flat")
class _LeavesOutItsNumber(FrontEnd):
    """A peek from a number on leaves out the message of that number, if there are younger ones."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        super().browse(connection, partition, most, number, shown)
        if number and len(shown) > 1 and shown[0].seq == number:
            del shown[0]


@held_out("peek-by-number-shows-the-newest", "PEEK-2", profile="azure-standard")
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


@held_out("second-partition-exceeds", "PEEK-4", profile="azure-standard")
class _SecondPartitionExceeds(FrontEnd):
    """An answer of several partitions may hold one message more than was asked for."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        super().browse(connection, partition, most + bool(shown), number, shown)


@held_out("walk-starts-over", "PEEK-5", profile="azure-flat")
class _WalkStartsOver(FrontEnd):
    """A walk that has come to its end begins anew."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        super().browse(connection, partition, most, number, shown)
        if number is None and not shown:
            connection.cursors.clear()


@held_out("walk-ends-for-good", "PEEK-5")
class _WalkEndsForGood(FrontEnd):
    """A walk that has come to the end of a partition does not see what is stored there later."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        before = len(shown)
        super().browse(connection, partition, most, number, shown)
        if number is None and before < len(shown) < most:
            connection.cursors[partition.name] = END


@held_out("peek-shows-the-lock", "PEEK-6")
class _ShowsTheLock(Viewing):
    """A peeked message bears the lock of whoever holds it."""

    def viewed(self, stored: Stored, message: Any) -> Any:
        return message._replace(lock=stored.lock)


@held_out("older-lock-hidden", "PEEK-7", profile="azure-flat")
class _OlderLockHidden(Viewing):
    """A locked message is not shown while a younger one is locked, too."""

    def views(self, stored: Stored) -> bool:
        younger = (one for here in self.partitions for one in here.store.live(stored.order + 1))
        return not (self._locked(stored) and any(map(self._locked, younger)))

    def _locked(self, stored: Stored) -> bool:
        return stored.lock is not None and self.clock.now < stored.until


@held_out("locked-shown-as-deferred", "PEEK-7", profile="azure-standard")
class _LockedShownAsDeferred(Viewing):
    """A locked message is shown as deferred."""

    def viewed(self, stored: Stored, message: Any) -> Any:
        locked = stored.lock is not None and self.clock.now < stored.until
        return message._replace(state="deferred") if locked else message
