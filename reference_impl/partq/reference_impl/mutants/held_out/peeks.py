"""Defects in browsing (PEEK), set aside."""

from __future__ import annotations

from collections import Counter
from heapq import heapify
from typing import Any

from ...clock import Steps
from ...frontend import FrontEnd
from ...network import Connection
from ...partition import Partition
from ...settings import SECOND
from ...store import Stored
from ..registry import held_out

BEHIND = 1000
"""So many places a message goes back in a careless broker's order: more than messages are stored."""


@held_out("given-back-shown-last", "PEEK-1", profile="azure-flat")
class _GivenBackShownLast(FrontEnd):
    """In an answer those that were delivered before come after the others."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        super().browse(connection, partition, most, number, shown)
        shown.sort(key=lambda message: message.delivery_count > 0)


@held_out("peek-of-one-shows-the-newest", "PEEK-1", profile="azure-flat")
class _PeekOfOneShowsTheNewest(FrontEnd):
    """A peek by number that asks for one message is shown the newest."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        if number is None or most > 1:
            super().browse(connection, partition, most, number, shown)
            return
        found: list[Any] = []
        super().browse(connection, partition, BEHIND, number, found)
        shown += found[-1:]


@held_out("next-partition-begins-at-its-second", "PEEK-2", profile="azure-standard")
class _NextBeginsAtItsSecond(FrontEnd):
    """Where an answer goes on with another partition, it leaves out the oldest message of that one."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        before = len(shown)
        super().browse(connection, partition, most, number, shown)
        if 0 < before < len(shown) - 1:
            del shown[before]


@held_out("given-back-passed-over", "PEEK-2")
class _GivenBackPassedOver(FrontEnd):
    """Between the first and the last message of an answer, those that wait to be delivered again are left
    out."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        before = len(shown)
        super().browse(connection, partition, most, number, shown)
        waiting = {stored.content.id for stored in partition.store.live() if stored.lock is None}
        left_out = [m for m in shown[before + 1 : -1] if m.delivery_count and m.id in waiting]
        shown[:] = [message for message in shown if message not in left_out]


@held_out("peek-of-one-shows-two", "PEEK-4", profile="azure-flat")
class _PeekOfOneShowsTwo(FrontEnd):
    """A peek that asks for one message may be shown two."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        super().browse(connection, partition, max(most, 2), number, shown)


@held_out("fresh-message-empties-peek", "PEEK-4")
class _FreshMessageEmptiesPeek(FrontEnd):
    """A peek by number shows nothing while a message is less than a second old."""

    def peek(self, connection: Connection, most: int, number: int | None) -> Steps[list[Any]]:
        shown = yield from super().peek(connection, most, number)
        since = self.clock.now - SECOND
        fresh = any(one.enqueued_at > since for here in self.partitions for one in here.store.live())
        return [] if number is not None and shown and fresh else shown


@held_out("walk-ends-with-its-last-again", "PEEK-5", profile="azure-standard")
class _WalkEndsWithItsLastAgain(FrontEnd):
    """A walk that has come to its end is shown the last message of a partition again."""

    def peek(self, connection: Connection, most: int, number: int | None) -> Steps[list[Any]]:
        shown = yield from super().peek(connection, most, number)
        for partition in self.partitions if number is None and not shown else ():
            last = list(partition.store.live())[-1:]
            if last and partition.up and last[0].order < connection.cursors.get(partition.name, 0):
                return [self.broker.show(last[0], None, "active")]
        return shown


@held_out("walk-shows-given-back-again", "PEEK-5")
class _WalkShowsGivenBackAgain(FrontEnd):
    """A message that was shown in a walk, and is given back later, is shown in it once more."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._again: set[tuple[Connection, Stored]] = set()

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        first = connection.cursors.get(partition.name, 0)
        super().browse(connection, partition, most, number, shown)
        for stored in partition.store.live() if number is None else ():
            waits = stored.order < first and stored.count > 0 and stored.lock is None
            if waits and len(shown) < most and (connection, stored) not in self._again:
                self._again.add((connection, stored))
                shown.append(self.broker.show(stored, None, "active"))


@held_out("peeked-goes-to-the-back", "PEEK-6")
class _PeekedGoesToTheBack(FrontEnd):
    """The first message that a peek shows of a partition is delivered after the others that are there."""

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        before = len(shown)
        super().browse(connection, partition, most, number, shown)
        first = {message.id for message in shown[before : before + 1]}
        moved = [(order + BEHIND * (one.content.id in first), one) for order, one in partition._free]
        partition._free = moved
        heapify(partition._free)


@held_out("second-peek-counts", "PEEK-6", profile="azure-standard")
class _SecondPeekCounts(FrontEnd):
    """A message's delivery count is raised by one when a front end shows it to a peek for the second time."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._peeks: Counter[Stored] = Counter()

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        before = len(shown)
        super().browse(connection, partition, most, number, shown)
        names = {message.id for message in shown[before:]}
        for stored in [stored for stored in partition.store.live() if stored.content.id in names]:
            self._peeks[stored] += 1
            stored.count += self._peeks[stored] == 2


class _Hiding(FrontEnd):
    """A peek leaves out the locked messages that `hides` names, where it shows others of the partition."""

    def hides(self, connection: Connection, token: str) -> bool:
        """Whether what is locked by that token is hidden from the client."""
        return False

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        before, now = len(shown), self.clock.now
        super().browse(connection, partition, most, number, shown)
        hidden = {
            stored.content.id
            for stored in partition.store.live()
            if stored.lock is not None and now < stored.until and self.hides(connection, stored.lock)
        }
        others = [message for message in shown[before:] if message.id not in hidden]
        if 0 < len(others) < len(shown) - before:
            shown[before:] = others


@held_out("own-locks-hidden", "PEEK-7")
class _OwnLocksHidden(_Hiding):
    """A client is not shown what it has locked itself, beside others."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._owners: dict[str, str] = {}

    def receive(
        self, connection: Connection, most: int, delete: bool, timeout: int, name: str | None = None
    ) -> Steps[list[Any]]:
        shown = yield from super().receive(connection, most, delete, timeout, name)
        self._owners |= {message.lock: connection.proc for message in shown if message.lock}
        return shown

    def hides(self, connection: Connection, token: str) -> bool:
        return self._owners.get(token) == connection.proc


@held_out("renewed-hidden", "PEEK-7", profile="azure-flat")
class _RenewedHidden(_Hiding):
    """A message whose lock was renewed is not shown beside others."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._renewed: set[str] = set()

    def renew(self, token: str) -> Steps[list[Any]]:
        shown = yield from super().renew(token)
        self._renewed.add(token)
        return shown

    def hides(self, connection: Connection, token: str) -> bool:
        return token in self._renewed
