"""Set aside: browsing (PEEK)."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify
from typing import Any

from ...frontend import FrontEnd, Peek
from ...partition import Partition
from ...settings import SECOND
from ...store import Stored
from ..families import END, Renewals, locked, noted
from ..forms import answering, then
from ..registry import defect


@defect("PEEK-1", "display", profile="azure-flat")
def given_back_shown_last(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """In an answer those that were delivered before come after the others."""
    return sorted(FrontEnd.display(self, peek, found), key=lambda message: message.delivery_count > 0)


@defect("PEEK-1", "page", profile="azure-flat")
def peek_of_one_shows_the_newest(
    self: FrontEnd, peek: Peek, partition: Partition, first: int
) -> list[Stored]:
    """A peek by number that asks for one message is shown the newest."""
    if peek.number is None or peek.limit > 1:
        return FrontEnd.page(self, peek, partition, first)
    return FrontEnd.page(self, peek._replace(limit=END), partition, first)[-1:]


@defect("PEEK-2", "display", profile="azure-standard")
def next_partition_begins_at_its_second(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """Where an answer goes on with another partition, it leaves out the oldest message of that one."""
    return FrontEnd.display(self, peek, found[1:] if peek.shown and len(found) > 1 else found)


@defect("PEEK-2", "display")
def given_back_passed_over(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """Between the first and last message of an answer, what waits to be delivered again is left out."""
    middle = [stored for stored in found[1:-1] if not stored.count or stored.lock is not None]
    return FrontEnd.display(self, peek, [*found[:1], *middle, *found[1:][-1:]])


@defect("PEEK-4", "browse", profile="azure-flat")
def peek_of_one_shows_two(self: FrontEnd, peek: Peek, partition: Partition) -> list[Any]:
    """A peek that asks for one message may be shown two."""
    return FrontEnd.browse(self, peek._replace(limit=max(peek.limit, 2)), partition)


@defect("PEEK-4", "gather", answering)
def fresh_message_empties_peek(self: FrontEnd, peek: Peek, shown: list[Any]) -> list[Any]:
    """A peek by number shows nothing while a message is less than a second old."""
    since = self.clock.now - SECOND
    fresh = any(one.enqueued_at > since for here in self.partitions for one in here.store.live())
    return [] if peek.number is not None and fresh else shown


@defect("PEEK-5", "gather", answering, profile="azure-standard")
def walk_ends_with_its_last_again(self: FrontEnd, peek: Peek, shown: list[Any]) -> list[Any]:
    """A walk that has come to its end is shown the last message of a partition again."""
    for partition in self.running() if peek.number is None and not shown else ():
        last = list(partition.store.live())[-1:]
        if last and last[0].order < peek.connection.cursors.get(partition.name, 0):
            return [self.broker.show(last[0], None, "active")]
    return shown


@defect("PEEK-5", "browse")
def walk_shows_given_back_again(self: FrontEnd, peek: Peek, partition: Partition) -> list[Any]:
    """A message that was shown in a walk, and is given back later, is shown in it once more."""
    first, proc = peek.connection.cursors.get(partition.name, 0), peek.connection.proc
    shown = FrontEnd.browse(self, peek, partition)
    for stored in partition.store.live() if peek.number is None else ():
        waits = stored.order < first and stored.count > 0 and stored.lock is None
        if waits and len(peek.shown) + len(shown) < peek.limit and not noted(self)[proc, stored]:
            noted(self)[proc, stored] += 1
            shown += self.display(peek, [stored])
    return shown


@defect("PEEK-6", "browse", then)
def peeked_goes_to_the_back(self: FrontEnd, partition: Partition, shown: list[Any]) -> None:
    """The first message that a peek shows of a partition is delivered after the others that are there."""
    first = {message.id for message in shown[:1]}
    partition._free = [(order + 1000 * (one.content.id in first), one) for order, one in partition._free]
    heapify(partition._free)


@defect("PEEK-6", "display", then, profile="azure-standard")
def second_peek_counts(self: FrontEnd, found: Sequence[Stored]) -> None:
    """A message's delivery count is raised by one when a front end shows it to a peek for the second time."""
    noted(self).update(found)
    for stored in found:
        stored.count += noted(self)[stored] == 2


@defect("PEEK-7", "display")
def own_locks_hidden(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """A client is not shown what it has locked itself, beside others."""
    own = [one for one in found if locked(one, self.clock.now) and one.lock in peek.connection.locks]
    return FrontEnd.display(self, peek, [one for one in found if one not in own] or found)


@defect("PEEK-7", "display", profile="azure-flat")
def renewed_hidden(self: Renewals, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """A message whose lock was renewed is not shown beside others."""
    seen = [one for one in found if not (locked(one, self.clock.now) and one.lock in self.renewed)]
    return Renewals.display(self, peek, seen or found)
