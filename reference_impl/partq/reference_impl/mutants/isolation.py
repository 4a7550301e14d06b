"""Defects in what an outage touches, and in where messages go meanwhile (ROUTE)."""

from __future__ import annotations

from collections.abc import Sequence

from ..clock import HOP, Steps
from ..errors import Refused
from ..frontend import FrontEnd
from ..network import Connection
from ..partition import Partition
from ..sending import SERVER_TIMEOUT
from ..settings import SECOND
from ..store import Content
from .registry import APART, defect

PATIENCE = 600
"""Seconds for which a careless broker keeps what it has refused."""


@defect("refused-key-moves", "ROUTE-1", profile="azure-standard", also=APART)
class _RefusedKeyMoves(FrontEnd):
    """A key whose send was refused because its partition is down lives in the next partition from then on."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        try:
            yield from super().send(contents, txn, timeout)
        except Refused as refused:
            if refused.kind == "unavailable" and txn is None and self.broker.alive:
                self._move(self.broker.rules.common_key(contents))
            raise

    def _move(self, key: str | None) -> None:
        if key is not None:
            here = self.partitions.index(self.broker.partition_for(key))
            self.broker._homes[key] = self.partitions[(here + 1) % len(self.partitions)]


@defect("keyed-rerouted", "ROUTE-5", profile="azure-standard")
class _KeyedRerouted(FrontEnd):
    """A keyed send whose partition is down is stored in another one, as a keyless one is."""

    def _give_up(self, timeout: int) -> Steps[None]:
        if any(partition.up for partition in self.partitions):
            yield HOP
        else:
            yield from super()._give_up(timeout)


@defect("keyless-batch-not-rerouted", "ROUTE-6")
class _KeylessBatchNotRerouted(FrontEnd):
    """A keyless batch whose chosen partition is down is refused; single messages are not."""

    def _reroute(self, contents: Sequence[Content], timeout: int) -> Steps[Partition]:
        if len(contents) > 1 and timeout > SERVER_TIMEOUT:
            yield HOP
            raise Refused("unavailable", "the chosen partition is down")
        return (yield from super()._reroute(contents, timeout))


class _Outage(FrontEnd):
    """A front end that knows whether a partition beside the right one is down."""

    def beside(self, partition: object) -> bool:
        """Whether that partition is up, and another one is not."""
        up = [one for one in self.partitions if one.up]
        return self.broker.alive and len(up) < len(self.partitions) and any(one is partition for one in up)


@defect("keyed-batches-stop-in-outage", "ROUTE-7", profile="azure-standard")
class _KeyedBatchesStop(_Outage):
    """While any partition is down, no keyed batch is taken, wherever it belongs."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        key = self.broker.rules.common_key(contents)
        if key is not None and len(contents) > 1 and self.beside(self.home(key, contents, txn)):
            yield HOP
            raise Refused("unavailable", "a partition is down")
        yield from super().send(contents, txn, timeout)


@defect("abandons-stop-in-outage", "ROUTE-7")
class _AbandonsStop(_Outage):
    """While another partition is down, no message can be abandoned."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        found = [self.broker.locks.get(token) for token in tokens]
        if action == "abandon" and any(one is not None and self.beside(one.partition) for one in found):
            yield HOP
            raise Refused("unavailable", "a partition is down")
        yield from super().settle(connection, action, tokens, txn)


@defect("stored-when-up-again", "ROUTE-8")
class _StoredWhenUpAgain(FrontEnd):
    """With no partition up a keyless message is refused, and stored once one is up again."""

    def _reroute(self, contents: Sequence[Content], timeout: int) -> Steps[Partition]:
        try:
            return (yield from super()._reroute(contents, timeout))
        except Refused as refused:
            if refused.kind == "unavailable":
                self.clock.spawn(self._store(contents))
            raise

    def _store(self, contents: Sequence[Content]) -> Steps[None]:
        for _ in range(PATIENCE):
            yield self.clock.now + SECOND
            running = [partition for partition in self.partitions if partition.up]
            if running and self.broker.alive:
                self.broker.accept(running[0], contents)
                return
