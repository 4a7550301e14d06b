"""Defects that show only while partitions are down, one or several at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import HOP, Steps
from ..errors import Refused
from ..faults import Faults
from ..frontend import FrontEnd
from ..network import Connection
from ..partition import Partition
from ..sending import SERVER_TIMEOUT
from ..store import Content, Holder, Stored
from .losing import lose
from .registry import defect


class _Troubled(FrontEnd):
    """A front end that behaves differently while partitions are down."""

    def outage(self, beside: Holder | None, *, count: int = 1) -> bool:
        """Whether ``beside`` is up while at least ``count`` partitions are down."""
        down = sum(not partition.up for partition in self.partitions)
        return beside is not None and beside.up and down >= count

    def partition_of(self, token: str) -> Holder | None:
        """Where the message with that lock is, if the lock is known."""
        stored = self.broker.locks.get(token)
        return None if stored is None else stored.partition


@defect("settlements-stop-in-outage", "ROUTE-7", profile="azure-standard")
class _SettlementsStop(_Troubled):
    """While any partition is down, no settlement is taken anywhere."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        if any(self.outage(self.partition_of(token)) for token in tokens):
            yield HOP
            raise Refused("unavailable", "a partition is down")
        yield from super().settle(connection, action, tokens, txn)


@defect("renewals-stop-in-outage", "ROUTE-7", profile="azure-standard")
class _RenewalsStop(_Troubled):
    """While any partition is down, no lock is renewed anywhere."""

    def renew(self, token: str) -> Steps[list[Any]]:
        if self.outage(self.partition_of(token)):
            yield HOP
            raise Refused("unavailable", "a partition is down")
        return (yield from super().renew(token))


@defect("commits-fail-in-outage", "ROUTE-7", profile="azure-standard")
class _CommitsFail(_Troubled):
    """While any partition is down, every commit of a transaction on another one rolls it back."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        if txn is not None and self.outage(txn.place):
            yield from self.rollback(name)
            raise Refused("unavailable", "a partition is down")
        yield from super().commit(name)


@defect("second-outage-stops-sends", "ROUTE-7", profile="azure-standard")
class _SecondOutageStopsSends(_Troubled):
    """While two partitions are down at once, no keyed message is taken anywhere."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        key = self.broker.rules.common_key(contents)
        if key is not None and self.outage(self.home(key, contents, txn), count=2):
            yield HOP
            raise Refused("unavailable", "two partitions are down")
        yield from super().send(contents, txn, timeout)


@defect("second-outage-unnoticed", "ROUTE-5")
class _SecondOutageUnnoticed(_Troubled):
    """Of two partitions that are down at once, keyed messages are taken by both as if they were up."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        key = self.broker.rules.common_key(contents)
        running = next((partition for partition in self.partitions if partition.up), None)
        if key is not None and txn is None and self.broker.alive and self.outage(running, count=2):
            yield HOP
            self.broker.accept(self.home(key, contents, txn), contents)
            yield HOP
            return
        yield from super().send(contents, txn, timeout)


@defect("reroutes-once", "ROUTE-6")
class _ReroutesOnce(FrontEnd):
    """A keyless send whose chosen partition is down tries the next one, and gives up if that is down too."""

    def _reroute(self, contents: Sequence[Content], timeout: int) -> Steps[Partition]:
        if timeout <= SERVER_TIMEOUT or not any(partition.up for partition in self.partitions):
            return (yield from super()._reroute(contents, timeout))
        yield self.clock.now + SERVER_TIMEOUT
        partition = self.next_partition()
        self.broker.check_up(partition)
        return partition


@defect("rerouted-batch-cut", "KEY-7")
class _ReroutedBatchCut(FrontEnd):
    """A keyless batch that has to go to another partition than the chosen one arrives without its last
    message."""

    _rerouted = False

    def _reroute(self, contents: Sequence[Content], timeout: int) -> Steps[Partition]:
        partition = yield from super()._reroute(contents, timeout)
        self._rerouted = True
        return partition

    def accept(self, partition: Partition, key: str | None, contents: Sequence[Content], since: int) -> None:
        cut, self._rerouted = self._rerouted and len(contents) > 1, False
        super().accept(partition, key, contents[:-1] if cut else contents, since)


@defect("completion-undone-in-outage", "RCV-7")
class _CompletionUndone(_Troubled):
    """While another partition is down, completing a message only ends its lock."""

    def apply(self, action: str, stored: Stored) -> None:
        if action == "complete" and self.outage(stored.partition):
            stored.partition.release(stored)
            self.broker.ring()
        else:
            super().apply(action, stored)


@defect("renewal-forgotten-in-outage", "RCV-6")
class _RenewalForgotten(_Troubled):
    """While another partition is down, a renewal is answered and shown, and the lock ends as before."""

    def renew(self, token: str) -> Steps[list[Any]]:
        stored = self.broker.locks.get(token)
        before = 0 if stored is None else stored.until
        shown = yield from super().renew(token)
        if stored is not None and stored.lock == token and self.outage(stored.partition):
            stored.until = before
        return shown


@defect("lost-coming-back-first", "RCV-2", profile="azure-standard")
class _LostComingBackFirst(Faults):
    """A partition that comes back while another one is down has lost its newest message."""

    def partition_up(self, index: int) -> Steps[int]:
        name = yield from super().partition_up(index)
        partitions = self.broker.partitions
        if not all(partition.up for partition in partitions):
            partition = next(one for one in partitions if one.name == name)
            for stored in list(partition.store.live())[-1:]:
                lose(stored)
        return name


@defect("locked-lost-in-outage", "RCV-2", profile="azure-standard")
class _LockedLostInOutage(Faults):
    """A partition that goes down loses what is locked in it."""

    def partition_down(self, index: int) -> Steps[int]:
        name = yield from super().partition_down(index)
        partition = next(one for one in self.broker.partitions if one.name == name)
        for stored in [one for one in partition.store.live() if one.lock is not None]:
            lose(stored)
        return name


@defect("down-partition-not-found", "ROUTE-5")
class _DownPartitionNotFound(FrontEnd):
    """A keyed send whose partition is down, others being up, is told that no such entity is found."""

    def _give_up(self, timeout: int) -> Steps[None]:
        if any(partition.up for partition in self.partitions):
            yield HOP
            raise Refused("not_found", "no such entity")
        yield from super()._give_up(timeout)
