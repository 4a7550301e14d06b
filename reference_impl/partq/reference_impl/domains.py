"""A partition that hands out messages by order domains (ORD) instead of by numbers.

What is one domain, and what is promised of it, is in the settings. Where nothing is promised, any message
is the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from .partition import Partition
from .settings import Domains
from .store import Content, Stored


class DomainPartition(Partition):
    """A partition of a queue whose messages have order domains. ``key_of``: a message's key, None without."""

    __slots__ = ("domains", "key_of", "random")

    domains: Domains
    key_of: Callable[[Content], str | None]
    random: Callable[[], float]

    def has_free(self, now: int) -> bool:
        return super().has_free(now) and any(self.deliverable())

    def heads(self, most: int) -> list[Stored]:
        return self.take(list(islice(self.deliverable(), most)))

    def deliverable(self) -> Iterator[Stored]:
        """The free messages that may go out now, in the order in which they go."""
        in_flight = self.in_flight() if self.domains.blocking else set()
        for stored in self.in_turn(self.waiting()):
            if self.domain_of(stored) not in in_flight:
                yield stored

    def in_flight(self) -> set[str | None]:
        """The domains that have a locked message. Messages without a domain do not count."""
        locked = (stored for stored in self.store.live() if stored.lock is not None)
        return {self.domain_of(stored) for stored in locked} - {None}

    def in_turn(self, free: list[Stored]) -> list[Stored]:
        """Sort free messages, given in order of acceptance, into the order of delivery."""
        if not self.domains.first_in_order:
            return sorted(free, key=lambda _: self.random())
        if self.domains.returned_first:
            return free
        returned = [stored for stored in free if self.came_back(stored)]
        turn = [stored for stored in free if not self.came_back(stored)]
        for stored in returned:
            turn.insert(int(self.random() * (len(turn) + 1)), stored)
        return turn

    def came_back(self, stored: Stored) -> bool:
        """Whether the message was delivered before."""
        return stored.tries > 0

    def domain_of(self, stored: Stored) -> str | None:
        """The order domain of a message; None where it is in none."""
        return "" if self.domains.by == "partition" else self.key_of(stored.content)
