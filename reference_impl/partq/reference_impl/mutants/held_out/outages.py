"""Defects in what a partition's fault does to sends (ROUTE-5 to ROUTE-8), set aside."""

from __future__ import annotations

from collections.abc import Sequence

from ...clock import HOP, Steps
from ...core import PASSING
from ...errors import Refused, Unsure
from ...frontend import FrontEnd
from ...partition import Partition
from ...sending import SERVER_TIMEOUT
from ...settings import SECOND
from ...store import Content
from ..registry import held_out

PATIENCE = 600
"""Seconds for which a careless broker keeps what it has refused."""


class _Outage(FrontEnd):
    """A front end that looks which partitions are up."""

    def up(self) -> list[Partition]:
        """Those that are up."""
        return [partition for partition in self.partitions if partition.up]

    def beside(self, partition: Partition) -> bool:
        """Whether that partition is up, and another one is not."""
        return self.broker.alive and partition.up and len(self.up()) < len(self.partitions)


@held_out("sessions-rerouted", "ROUTE-5")
class _SessionsRerouted(_Outage):
    """A message with a session ID whose partition is down is stored in another one."""

    def home(self, key: str, contents: Sequence[Content], txn: str | None) -> Partition:
        home, running = super().home(key, contents, txn), self.up()
        session = contents[0].session_id is not None and txn is None
        return running[0] if session and not home.up and running else home


@held_out("keyed-stored-when-up-again", "ROUTE-5", profile="azure-standard")
class _KeyedStoredWhenUpAgain(_Outage):
    """A keyed message is refused because its partition is down, others being up, and stored there later."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        try:
            yield from super().send(contents, txn, timeout)
        except Refused as refused:
            sure = not isinstance(refused, Unsure) and txn is None and self.broker.alive
            key = self.broker.rules.common_key(contents) if sure and refused.kind in PASSING else None
            home = None if key is None else self.home(key, contents, txn)
            if home is not None and not home.up and self.up():
                self.clock.spawn(self._store(home, contents))
            raise

    def _store(self, home: Partition, contents: Sequence[Content]) -> Steps[None]:
        for _ in range(PATIENCE):
            yield self.clock.now + SECOND
            if home.up and self.broker.alive:
                self.broker.accept(home, contents)
                return


@held_out("keyed-batch-invalid-in-outage", "ROUTE-5", profile="azure-standard")
class _KeyedBatchInvalidInOutage(_Outage):
    """A keyed batch whose partition is down, others being up, is refused as invalid."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        batch = txn is None and len(contents) > 1 and self.broker.alive
        key = self.broker.rules.common_key(contents) if batch else None
        if key is not None and not self.home(key, contents, txn).up and self.up():
            yield HOP
            raise Refused("invalid_operation", "the batch has no partition")
        yield from super().send(contents, txn, timeout)


@held_out("rerouting-needs-a-majority", "ROUTE-6")
class _ReroutingNeedsAMajority(_Outage):
    """A keyless send whose chosen partition is down gives up, unless most of the partitions are up."""

    def _reroute(self, contents: Sequence[Content], timeout: int) -> Steps[Partition]:
        few = 0 < 2 * len(self.up()) <= len(self.partitions)
        if few and timeout > SERVER_TIMEOUT:
            yield HOP
            raise Refused("unavailable", "most partitions are down")
        return (yield from super()._reroute(contents, timeout))


@held_out("last-front-end-does-not-reroute", "ROUTE-6")
class _LastFrontEndDoesNotReroute(_Outage):
    """At one front end a keyless send whose chosen partition is down gives up."""

    def _reroute(self, contents: Sequence[Content], timeout: int) -> Steps[Partition]:
        last = self.broker.front_ends[-1] is self
        if last and timeout > SERVER_TIMEOUT and self.up():
            yield HOP
            raise Refused("unavailable", "the chosen partition is down")
        return (yield from super()._reroute(contents, timeout))


@held_out("sessions-stop-in-outage", "ROUTE-7")
class _SessionsStopInOutage(_Outage):
    """While another partition is down, no message with a session ID is taken, outside of transactions."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        session = txn is None and contents[0].session_id is not None
        key = self.broker.rules.common_key(contents) if session else None
        if key is not None and self.beside(self.home(key, contents, txn)):
            yield HOP
            raise Refused("unavailable", "a partition is down")
        yield from super().send(contents, txn, timeout)


@held_out("transactional-sends-stop-in-outage", "ROUTE-7")
class _TransactionalSendsStopInOutage(_Outage):
    """While another partition is down, nothing is sent in a transaction."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        key = None if txn is None else self.broker.rules.common_key(contents)
        if key is not None and self.beside(self.home(key, contents, txn)):
            yield HOP
            raise Refused("unavailable", "a partition is down")
        yield from super().send(contents, txn, timeout)


@held_out("neighbour-fails-too", "ROUTE-7")
class _NeighbourFailsToo(_Outage):
    """While a partition is down, the one before it takes no keyed messages, outside of transactions."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        key = None if txn is not None else self.broker.rules.common_key(contents)
        home = None if key is None else self.home(key, contents, txn)
        if home is not None and self.beside(home) and not self._after(home).up:
            yield HOP
            raise Refused("unavailable", "the partition is down")
        yield from super().send(contents, txn, timeout)

    def _after(self, partition: Partition) -> Partition:
        return self.partitions[(self.partitions.index(partition) + 1) % len(self.partitions)]


@held_out("keyed-stored-nowhere-up", "ROUTE-8")
class _KeyedStoredNowhereUp(_Outage):
    """With no partition up, keyed messages are accepted by their own."""

    def _give_up(self, timeout: int) -> Steps[None]:
        if self.up():
            yield from super()._give_up(timeout)

    def _reroute(self, contents: Sequence[Content], timeout: int) -> Steps[Partition]:
        key = self.broker.rules.common_key(contents)
        if key is None or self.up():
            return (yield from super()._reroute(contents, timeout))
        return self.home(key, contents, None)


@held_out("keyless-batch-stored-nowhere-up", "ROUTE-8")
class _KeylessBatchStoredNowhereUp(_Outage):
    """With no partition up, keyless batches are accepted by the first one."""

    def _reroute(self, contents: Sequence[Content], timeout: int) -> Steps[Partition]:
        keyless = self.broker.rules.common_key(contents) is None
        if keyless and len(contents) > 1 and not self.up():
            yield HOP
            return self.partitions[0]
        return (yield from super()._reroute(contents, timeout))
