"""Defects in browsing: what a peek shows, in what order, and where a walk goes on (PEEK)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import Steps
from ..frontend import FrontEnd, Peek
from ..partition import Partition
from ..store import Stored
from .families import END, FEW, locked
from .forms import answering, then
from .registry import defect

LARGE = 8_000
"""Characters in a body that a careless broker still handles."""


@defect("PEEK-1", "display", profile="azure-flat")
def flat_peek_skips_oldest(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """An answer of several messages leaves out the oldest."""
    return FrontEnd.display(self, peek, found[1:] if len(found) > 2 else found)


@defect("PEEK-1", "display", profile="azure-flat")
def peek_leaves_out_its_number(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """A peek from a number on leaves out the message of that number, if there are younger ones."""
    own = peek.number and len(found) > 1 and found[0].number == peek.number
    return FrontEnd.display(self, peek, found[1:] if own else found)


@defect("PEEK-2", "display")
def peek_skips_second(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """An answer of several messages of a partition leaves out the second, if that is not locked."""
    skips = len(found) > 2 and found[1].lock is None
    return FrontEnd.display(self, peek, [found[0], *found[2:]] if skips else found)


@defect("PEEK-2", "display")
def large_body_passed_over(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """Between the first and the last message of an answer, large ones that are not locked are left out."""
    middle = [one for one in found[1:-1] if len(one.content.body) <= LARGE or one.lock is not None]
    return FrontEnd.display(self, peek, [*found[:1], *middle, *found[1:][-1:]])


@defect("PEEK-2", "page", profile="azure-standard")
def peek_by_number_shows_the_newest(
    self: FrontEnd, peek: Peek, partition: Partition, first: int
) -> list[Stored]:
    """A peek by number that has to choose shows a partition's newest messages."""
    if peek.number is None:
        return FrontEnd.page(self, peek, partition, first)
    every = FrontEnd.page(self, peek._replace(limit=END), partition, first)
    return every[len(peek.shown) - peek.limit :]


@defect("PEEK-4", "gather")
def peek_one_too_many(self: FrontEnd, peek: Peek) -> Steps[list[Any]]:
    """A peek answers with one message more than was asked for."""
    return FrontEnd.gather(self, peek._replace(limit=peek.limit + 1))


@defect("PEEK-4", "browse", profile="azure-standard")
def second_partition_exceeds(self: FrontEnd, peek: Peek, partition: Partition) -> list[Any]:
    """An answer of several partitions may hold one message more than was asked for."""
    return FrontEnd.browse(self, peek._replace(limit=peek.limit + bool(peek.shown)), partition)


@defect("PEEK-4", "gather", answering)
def peek_sees_nothing_at_first(self: FrontEnd, peek: Peek, shown: list[Any]) -> list[Any]:
    """A peek by number asks one partition, and is content if that is empty."""
    first = self.partitions[0].name
    return [message for message in shown if peek.number is None or message.partition == first]


@defect("PEEK-4", "display", profile="azure-flat")
def large_body_empties_peek(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """A peek by number that would begin with a body over the size cap answers with nothing."""
    size = len(found[0].content.body) if found and peek.number is not None else 0
    return FrontEnd.display(self, peek, [] if size > self.broker.config.peek_bytes else found)


@defect("PEEK-5", "cursor_after")
def peek_stands_still(self: FrontEnd, found: Sequence[Stored]) -> int:
    """After an answer of several messages of a partition the cursor there stands before the last one."""
    return FrontEnd.cursor_after(self, found) - (len(found) > 1)


@defect("PEEK-5", "cursor_after", profile="azure-flat")
def walk_repeats_locked(self: FrontEnd, found: Sequence[Stored]) -> int:
    """After an answer of several messages, the last of them locked, the cursor stands before that one."""
    return FrontEnd.cursor_after(self, found) - (len(found) > 1 and found[-1].lock is not None)


@defect("PEEK-5", "browse")
def peek_ends_with_first_partition(self: FrontEnd, peek: Peek, partition: Partition) -> list[Any]:
    """A walk that has exhausted one partition is said to be at its end."""
    cursors = peek.connection.cursors
    ends = peek.number is None and cursors and partition.name not in cursors
    return [] if ends else FrontEnd.browse(self, peek, partition)


@defect("PEEK-5", "browse", then, profile="azure-flat")
def walk_starts_over(self: FrontEnd, peek: Peek, shown: list[Any]) -> None:
    """A walk that has come to its end begins anew."""
    if peek.number is None and not shown:
        peek.connection.cursors.clear()


@defect("PEEK-5", "browse", then)
def walk_ends_for_good(self: FrontEnd, peek: Peek, partition: Partition, shown: list[Any]) -> None:
    """A walk that has come to the end of a partition does not see what is stored there later."""
    if peek.number is None and shown and len(peek.shown) + len(shown) < peek.limit:
        peek.connection.cursors[partition.name] = END


@defect("PEEK-5", "browse", profile="azure-flat", also=("PEEK-1",))
def capped_peek_skips_the_rest(self: FrontEnd, peek: Peek, partition: Partition) -> list[Any]:
    """A walk goes on behind all that was asked for, also where an answer had to hold less. That is also
    to leave out what is older than the next answer."""
    cursors = peek.connection.cursors
    asked = list(partition.visible(cursors.get(partition.name, 0)))[: peek.limit]
    shown = FrontEnd.browse(self, peek, partition)
    if peek.number is None and len(asked) > len(shown):
        cursors[partition.name] = self.cursor_after(asked)
    return shown


@defect("PEEK-6", "view", answering)
def peek_locks(self: FrontEnd, message: Any) -> Any:
    """Peeked messages bear a lock."""
    return message._replace(lock=self.broker.token())


@defect("PEEK-6", "view", answering)
def peek_shows_the_lock(self: FrontEnd, stored: Stored, message: Any) -> Any:
    """A peeked message bears the lock of whoever holds it."""
    return message._replace(lock=stored.lock)


@defect("PEEK-6", "view", then)
def peek_counts(self: FrontEnd, stored: Stored) -> None:
    """A peek raises the delivery count of what it shows by one, if it is below three. Deliveries show it."""
    stored.count += stored.count < FEW


@defect("PEEK-6", "display", then, profile="azure-flat")
def peek_by_number_counts(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> None:
    """A peek by number raises the delivery count of what it shows by one, if it is below three."""
    for stored in found if peek.number is not None else ():
        stored.count += stored.count < FEW


@defect("PEEK-7", "display")
def peek_hides_locked(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """Locked messages are not shown beside others."""
    seen = [stored for stored in found if not locked(stored, self.clock.now)]
    return FrontEnd.display(self, peek, seen or found)


@defect("PEEK-7", "display", profile="azure-flat")
def redelivered_hidden(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """A message that is locked for the second time or later is not shown."""
    seen = [one for one in found if not (locked(one, self.clock.now) and one.tries > 1)]
    return FrontEnd.display(self, peek, seen)


@defect("PEEK-7", "display", profile="azure-flat")
def older_lock_hidden(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """A locked message is not shown while a younger one is locked, too."""
    held = [one for here in self.partitions for one in here.store.live() if locked(one, self.clock.now)]
    return FrontEnd.display(self, peek, [one for one in found if one not in held[:-1]])


@defect("PEEK-7", "view", answering, profile="azure-standard")
def locked_shown_as_deferred(self: FrontEnd, stored: Stored, message: Any) -> Any:
    """A locked message is shown as deferred."""
    return message._replace(state="deferred") if locked(stored, self.clock.now) else message


@defect("PEEK-7", "display", also=("TXN-5",))
def enlisted_hidden(self: FrontEnd, peek: Peek, found: Sequence[Stored]) -> list[Any]:
    """A message that an open transaction has settled is not peeked any more. That is also an effect of the
    transaction before its commit."""
    return FrontEnd.display(self, peek, [stored for stored in found if stored.enlisted is None])
