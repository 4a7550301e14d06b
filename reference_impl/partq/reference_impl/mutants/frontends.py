"""Defects in what front ends keep in their caches, and in how long they try (RCV-2, 6, 9 and ROUTE-6)."""

from __future__ import annotations

from typing import Any

from ..clock import Steps
from ..errors import Refused
from ..faults import Faults
from ..frontend import FrontEnd
from ..partition import Partition
from ..sending import SERVER_TIMEOUT, Send
from ..settling import Settlement
from ..store import Stored
from .families import complete, kept, locked
from .forms import answering, before
from .registry import defect


@defect("RCV-2")
class CachedLockNeverEnds(FrontEnd):
    """What a front end fetched, and no client asked for in time, stays locked."""

    def fetch(self, partition: Partition, most: int) -> None:
        super().fetch(partition, most)
        tokens = {token for token, _ in self.cache}
        partition._leases = sorted(lease for lease in partition._leases if lease[3] not in tokens)

    def cached(self, most: int, delete: bool) -> list[Any]:
        shown = super().cached(most, delete)
        for stored in (self.broker.locks.get(one.lock) for one in shown):
            if stored is not None:
                stored.partition.renew(stored, stored.until)
        return shown


@defect("RCV-2", "ask", before)
def fetched_lost_on_expiry(self: FrontEnd) -> None:
    """What a front end fetched, and no client asked for in time, is gone when its lock ends."""
    ends, now = self.broker.front_ends, self.clock.now
    complete([one for end in ends for token, one in end.cache if one.lock == token and one.until <= now])


@defect("RCV-6")
class CacheOutlivesItsLocks(FrontEnd):
    """A front end that finds nothing hands out what it once fetched, and another client has by now."""

    _once = kept(list[tuple[str, Stored]])

    def fetch(self, partition: Partition, most: int) -> None:
        before = len(self.cache)
        super().fetch(partition, most)
        self._once.extend(self.cache[before:])

    def cached(self, most: int, delete: bool) -> list[Any]:
        shown = super().cached(most, delete)
        given = {one.id for one in shown}
        self._once[:] = (one for one in self._once if one[1].content.id not in given)
        return shown

    def ask(self, most: int, delete: bool) -> Steps[list[Any]]:
        shown = yield from super().ask(most, delete)
        for token, stored in self._once if not shown and not delete else ():
            if stored.lock != token and locked(stored, self.clock.now):
                self._once.remove((token, stored))
                return [self.broker.show(stored, token)]
        return shown


@defect("RCV-6", "cached", answering)
def free_once_cached(self: FrontEnd, delete: bool, shown: list[Any]) -> list[Any]:
    """What is delivered from a cache can be had from all other front ends, too."""
    for stored in () if delete else [self.broker.locks[one.lock] for one in shown]:
        stored.partition.abandon(stored)
    return shown


@defect("RCV-6", "cached", answering, also=("RCV-3",))  # shown to have passed by older messages
def cached_lock_shown_in_full(self: FrontEnd, delete: bool, shown: list[Any]) -> list[Any]:
    """A lock that was running in the cache is shown as if it began at the delivery."""
    until = self.clock.now + self.broker.config.lock_duration
    return shown if delete else [one._replace(locked_until=until) for one in shown]


@defect("RCV-6", "lose_front_end", before)
def front_end_loss_ends_locks(self: Faults, proc: str) -> None:
    """The loss of a front end ends the locks of its clients."""
    ends = {one.end for one in self.broker.connections if one.proc == proc}
    for connection in self.broker.connections:
        for token in connection.locks if connection.end in ends else ():
            stored = self.broker.locks.get(token)
            if stored is not None and stored.enlisted is None:
                stored.partition.abandon(stored)


@defect("RCV-9")
class FetchedNotCounted(FrontEnd):
    """Abandoning what was delivered from a cache does not raise its count. (Transactions do it right.)"""

    _fetched = kept(set[str])

    def cached(self, most: int, delete: bool) -> list[Any]:
        shown = super().cached(most, delete)
        self._fetched.update(one.lock for one in shown if one.lock is not None)
        return shown

    def apply(self, asked: Settlement, stored: Stored) -> None:
        stored.count -= asked.action == "abandon" and stored.lock in self._fetched
        super().apply(asked, stored)


@defect("ROUTE-6", "reroute")
def reroutes_after_half_a_minute(self: FrontEnd, send: Send) -> Steps[Partition]:
    """A keyless send whose chosen partition is down is refused unless its client waits longer than 30 s."""
    if SERVER_TIMEOUT < send.timeout <= 2 * SERVER_TIMEOUT and self.running():
        yield self.clock.now + SERVER_TIMEOUT
        raise Refused("timeout", "the chosen partition is down")
    return (yield from FrontEnd.reroute(self, send))
