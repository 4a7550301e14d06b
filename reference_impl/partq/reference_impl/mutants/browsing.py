"""Defects in peeks of unusual messages: large, locked, redelivered (PEEK)."""

from __future__ import annotations

from typing import Any

from ..clock import Steps
from ..frontend import FrontEnd
from ..network import Connection
from ..partition import Partition
from ..store import Stored
from .peeking import FEW
from .registry import defect
from .viewing import Viewing

LARGE = 8_000
"""Characters in a body that a careless broker still handles."""


@defect("large-body-empties-peek", "PEEK-4", profile="azure-flat")
class _LargeBodyEmptiesPeek(FrontEnd):
    """A peek by number that would begin with a body over the size cap answers with nothing."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        super().browse(connection, partition, most, number, shown)
        if number is not None and shown and len(shown[0].body) > self.broker.config.peek_bytes:
            shown.clear()


@defect("large-body-passed-over", "PEEK-2")
class _LargeBodyPassedOver(FrontEnd):
    """Between the first and the last message of an answer, large ones that are not locked are left out."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        before = len(shown)
        super().browse(connection, partition, most, number, shown)
        locked = {stored.content.id for stored in partition.store.live() if stored.lock is not None}
        middle = shown[before + 1 : -1]
        shown[before + 1 : -1] = [m for m in middle if len(m.body) <= LARGE or m.id in locked]


@defect("walk-repeats-locked", "PEEK-5", profile="azure-flat")
class _WalkRepeatsLocked(FrontEnd):
    """After an answer of several messages, the last of them locked, the cursor stands before that one."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        super().browse(connection, partition, most, number, shown)
        locked = {stored.content.id for stored in partition.store.live() if stored.lock is not None}
        if number is None and len(shown) > 1 and shown[-1].id in locked:
            connection.cursors[partition.name] -= 1


@defect("peek-by-number-counts", "PEEK-6", profile="azure-flat")
class _PeekByNumberCounts(FrontEnd):
    """A peek by number raises the delivery count of what it shows by one, if it is below three."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        super().browse(connection, partition, most, number, shown)
        peeked = {message.id for message in shown} if number is not None else ()
        for stored in partition.store.live():
            stored.count += stored.content.id in peeked and stored.count < FEW


@defect("redelivered-hidden", "PEEK-7", profile="azure-flat")
class _RedeliveredHidden(Viewing):
    """A message that is locked for the second time or later is not shown."""

    def views(self, stored: Stored) -> bool:
        return stored.lock is None or stored.tries < 2 or stored.until <= self.clock.now


@defect("lock-counted-in-peeks", "RCV-9")
class _LockCountedInPeeks(Viewing):
    """The delivery count that a peek shows of a locked message counts the lock that holds it."""

    def viewed(self, stored: Stored, message: Any) -> Any:
        locked = stored.lock is not None and self.clock.now < stored.until
        return message._replace(delivery_count=message.delivery_count + locked)


@defect("peek-shows-the-lock", "PEEK-6")
class _ShowsTheLock(Viewing):
    """A peeked message bears the lock of whoever holds it."""

    def viewed(self, stored: Stored, message: Any) -> Any:
        return message._replace(lock=stored.lock)


@defect("older-lock-hidden", "PEEK-7", profile="azure-flat")
class _OlderLockHidden(Viewing):
    """A locked message is not shown while a younger one is locked, too."""

    def views(self, stored: Stored) -> bool:
        younger = (one for here in self.partitions for one in here.store.live(stored.order + 1))
        return not (self._locked(stored) and any(map(self._locked, younger)))

    def _locked(self, stored: Stored) -> bool:
        return stored.lock is not None and self.clock.now < stored.until


@defect("locked-shown-as-deferred", "PEEK-7", profile="azure-standard")
class _LockedShownAsDeferred(Viewing):
    """A locked message is shown as deferred."""

    def viewed(self, stored: Stored, message: Any) -> Any:
        locked = stored.lock is not None and self.clock.now < stored.until
        return message._replace(state="deferred") if locked else message


@defect("peek-sees-uncommitted", "TXN-5")
class _PeekSeesUncommitted(FrontEnd):
    """A peek that has room shows what was sent in open transactions."""

    def begin(self, name: str) -> Steps[None]:
        yield from super().begin(name)
        txn = self.broker.transactions.get(name)
        if txn is not None:
            txn.numbers_early = True

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        cursors = connection.cursors
        first = cursors.get(partition.name, 0) if number is None else 0
        super().browse(connection, partition, most, number, shown)
        hidden = [stored for stored in partition.store._log if stored.hidden and not stored.gone]
        unseen = [stored for stored in hidden if stored.order >= first]
        for stored in unseen if len(shown) + len(unseen) <= most else ():
            shown.append(self.broker.show(stored, None, "active"))
            if number is None:
                cursors[partition.name] = max(stored.order + 1, cursors.get(partition.name, 0))
