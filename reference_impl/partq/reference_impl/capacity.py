"""How much a queue holds: in each partition as much as the size that was chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .errors import Refused
from .freedoms import taken
from .store import Content


def size_of(contents: Iterable[Content]) -> int:
    """The bytes of these messages."""
    return sum(len(content.body.encode("utf-8", "surrogatepass")) for content in contents)


class Bounded:
    """A front end's side of it."""

    broker: Any

    def check_room(self, contents: Sequence[Content], key: str | None) -> None:
        """There is room for a request's messages. Raises `Refused`."""
        broker, more = self.broker, size_of(contents)
        if self.used() + more > self.capacity():
            raise Refused("quota", "the queue is full")
        if key is not None and taken(broker.free.hot_partition_full, broker.clock.random):
            if self.used_in(broker.partition_for(key)) + more > broker.config.max_size:
                raise Refused("quota", "the partition is full")

    def capacity(self) -> int:
        """For how many bytes the queue has room."""
        most: int = self.broker.config.max_size
        return most * len(self.broker.partitions)

    def used(self) -> int:
        """How many it holds."""
        return sum(map(self.used_in, self.broker.partitions))

    def used_in(self, partition: Any) -> int:
        """How many a partition holds, with its dead letters."""
        stores = partition.store, partition.dead_letters.store
        return sum(size_of(stored.content for stored in store.live()) for store in stores)
