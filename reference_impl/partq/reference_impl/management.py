"""Management: what an administrator is told of the queue as a whole.

An overview is put together from the stores of all partitions, those of dead letters included. Nothing of it
is kept, but for a count that is not made anew each time (`Accounts.look`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from .capacity import Bounded
from .clock import HOP, Steps
from .core import Core
from .errors import Refused
from .freedoms import taken
from .namespaces import Founding
from .network import Connection
from .partition import Partition
from .sessions import InSessions
from .store import Content, Stored, id_of

AVAILABLE: Final = "Available"
LIMITED: Final = "Limited"

MOST_STALE: Final = 2_000_000_000
"""ns for which a count may be told anew."""


class Counts(NamedTuple):
    """How many messages there are: to be received, waiting for their time, dead-lettered."""

    active: int
    scheduled: int
    dead_lettered: int


class Overview(NamedTuple):
    """What a get answers."""

    active: int
    scheduled: int
    dead_lettered: int
    partitions: int
    status: str


class Accounts:
    """Counts the messages of a queue, and says how it is."""

    def __init__(self, broker: Core) -> None:
        self.broker = broker
        self.random = broker.clock.random
        self.last: tuple[int, Counts] | None = None

    def overview(self) -> Overview:
        """The queue as it is now."""
        return Overview(*self.look(), self.partition_count(), self.status())

    def partition_count(self) -> int:
        """How many partitions the queue has."""
        return len(self.broker.partitions)

    def status(self) -> str:
        """The availability of the queue."""
        return LIMITED if self.unhealthy() else AVAILABLE

    def unhealthy(self) -> list[Partition]:
        """The partitions that are down."""
        return [partition for partition in self.broker.partitions if not partition.up]

    def look(self) -> Counts:
        """The counts now, or as they were told a moment ago."""
        now, free = self.broker.clock.now, self.broker.free
        recent = self.last is not None and now - self.last[0] <= MOST_STALE
        if self.last is not None and recent and taken(free.stale_counts, self.random):
            return self.last[1]
        counts = self.counts()
        self.last = now, counts
        return counts

    def counts(self) -> Counts:
        """The counts now, over all partitions."""
        return Counts(self.active(), self.scheduled(), self.dead_lettered())

    def active(self) -> int:
        """How many messages can be received. Of those that are locked, or set aside, nothing says whether
        they are counted."""
        free = self.broker.free
        locked, deferred = taken(free.locked_apart, self.random), taken(free.deferred_apart, self.random)
        found = (one for one in self.stored() if self.is_active(one))
        return sum(not ((locked and self.is_locked(one)) or (deferred and one.deferred)) for one in found)

    def is_locked(self, stored: Stored) -> bool:
        """Whether the message is locked: a lock that has ended may not have been noticed yet."""
        return stored.lock is not None and self.broker.clock.now < stored.until

    def is_active(self, stored: Stored) -> bool:
        """Whether a message is counted as active."""
        return not stored.is_scheduled()

    def scheduled(self) -> int:
        """How many messages wait for their time. A cancel that came too late may have been counted."""
        waiting = sum(one.is_scheduled() for one in self.stored())
        late = self.broker.timetable.outrun
        return waiting - late if late and taken(self.broker.free.count_outrun, self.random) else waiting

    def dead_lettered(self) -> int:
        """How many messages are in the dead-letter queue."""
        beside = (one.dead_letters for one in self.counted())
        return sum(1 for one in beside if one is not None for _ in one.store.live())

    def stored(self) -> Iterator[Stored]:
        """The messages that clients may know of."""
        for partition in self.counted():
            yield from partition.store.live()

    def counted(self) -> Sequence[Partition]:
        """The partitions that are counted."""
        partitions = self.broker.partitions
        if self.broker.free.skip_down and self.unhealthy() and taken(self.broker.free.skip_down, self.random):
            return [partition for partition in partitions if partition.up]
        return partitions


class Managing(InSessions, Founding, Bounded):
    """A front end's side of management."""

    def admit(self, contents: Sequence[Content], txn: str | None) -> str | None:
        if self.broker.config.has("ENT-7"):
            self.check_size(contents)
        key = super().admit(contents, txn)
        if self.broker.config.max_size is not None and self.broker.config.has("ENT-6"):
            self.check_room(contents, key)
        return key

    def check_size(self, contents: Sequence[Content]) -> None:
        """A request is no larger than it may be. Raises `Refused`."""
        headers = taken(self.broker.free.count_headers, self.clock.random)
        if self.size(contents, headers) > self.most_bytes():
            raise Refused("too_large", "the request is over the size limit")

    def most_bytes(self) -> int:
        """The limit of a request."""
        return self.broker.config.max_message_size

    def size(self, contents: Sequence[Content], headers: bool) -> int:
        """The bytes of all messages of a request."""
        return sum([self.size_of(content, headers) for content in contents])

    def size_of(self, content: Content, headers: bool) -> int:
        """The bytes of a message: of its body, and of its headers and properties if these count."""
        texts = [content.body]
        if headers:
            texts += [id_of(content), content.session_id or "", content.partition_key or ""]
            texts += [text for pair in content.properties for text in pair]
        return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)

    def update(self, connection: Connection, settings: Mapping[str, Any]) -> Steps[None]:
        """Change settings of the queue. How it is partitioned was decided when it was created."""
        yield HOP
        self.check_settled()
        self.change(settings)
        yield HOP

    def change(self, settings: Mapping[str, Any]) -> None:
        """Make the changes, all or none. Raises `Refused`."""
        if any(self.settings().get(name, value) != value for name, value in settings.items()):
            raise Refused("invalid_operation", "partitioning does not change")

    def settings(self) -> Mapping[str, Any]:
        """What no update may change."""
        config = self.broker.config
        return {"partitions": len(self.partitions), "partitioned": config.partitioned}

    def get(self, connection: Connection) -> Steps[list[Overview]]:
        """What there is to know of the queue. An outage of partitions does not matter."""
        yield HOP
        self.broker.check_has("MGT-1")
        self.broker.check_alive()
        found = self.broker.accounts.overview()
        yield HOP
        return [found]
