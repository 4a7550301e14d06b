"""Defects in where messages go (ROUTE)."""

from __future__ import annotations

from collections.abc import Sequence

from ..clock import HOP, Steps
from ..errors import Refused
from ..faults import Faults
from ..flowend import FlowEnd
from ..frontend import FrontEnd
from ..partition import Partition
from ..store import Content
from .misrouting import Misrouting
from .registry import APART, BY_CHANCE, defect

FULL = 3
"""So many messages fill a careless broker's partition."""


@defect("rehash-on-restart", "ROUTE-1", profile="azure-standard", also=APART)
class RehashOnRestart(Faults):
    """The partition map is drawn anew when the broker starts."""

    def broker_start(self) -> Steps[None]:
        yield from super().broker_start()
        self.broker.config.salt += 1
        self.broker.forget_homes()


@defect("rehash-on-recovery", "ROUTE-1", profile="azure-standard", also=APART)
class _RehashOnRecovery(Faults):
    """The partition map is drawn anew when a partition comes back."""

    def partition_up(self, index: int) -> Steps[int]:
        name = yield from super().partition_up(index)
        self.broker.config.salt += 1
        self.broker.forget_homes()
        return name


@defect("route-by-body", "ROUTE-2", profile="azure-standard")
class _RouteByBody(Misrouting):
    """The body has a say in the partition; in a transaction, that of its first message."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        before = [] if txn is None else self.broker.transactions[txn].sends
        return f"{key}/{(before or contents)[0].body}"


@defect("route-by-sender", "ROUTE-2", profile="azure-standard")
class _RouteBySender(Misrouting):
    """Every client has a partition map of its own."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        senders = [one.proc for one in self.broker.connections if one.task is self.clock.current]
        return "/".join((key, *senders))


@defect("solace-route-by-body", "ROUTE-2", profile="solace", also=BY_CHANCE)
class _SolaceRouteByBody(FlowEnd):
    """The body has a say in the partition."""

    def home(self, key: str, contents: Sequence[Content], txn: str | None) -> Partition:
        return super().home(f"{key}/{contents[0].body}", contents, txn)


@defect("sticky-keyless", "ROUTE-4", profile="azure-standard")
class _StickyKeyless(FrontEnd):
    """Keyless messages all go to the first partition."""

    def next_partition(self) -> Partition:
        return self.partitions[0]


@defect("accepted-while-down", "ROUTE-5")
class _AcceptedWhileDown(FrontEnd):
    """A keyed send does not notice that its partition is down, as long as some other one is up."""

    def _give_up(self, timeout: int) -> Steps[None]:
        if any(partition.up for partition in self.partitions):
            yield HOP
        else:
            yield from super()._give_up(timeout)

    def _reroute(self, contents: Sequence[Content], timeout: int) -> Steps[Partition]:
        key = self.broker.rules.common_key(contents)
        if key is None:
            return (yield from super()._reroute(contents, timeout))
        return self.home(key, contents, None)


@defect("refused-while-down-and-stored", "ROUTE-5")
class _RefusedWhileDownAndStored(FrontEnd):
    """A keyed send to a partition that is down, others being up, is refused, and stored all the same."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        key = self.broker.rules.common_key(contents)
        if key is not None and txn is None and self.broker.alive:
            partition = self.home(key, contents, txn)
            if not partition.up and any(other.up for other in self.partitions):
                self.broker.accept(partition, contents)
                yield HOP
                raise Refused("unavailable", "the partition of this key is down")
        yield from super().send(contents, txn, timeout)


@defect("no-rerouting", "ROUTE-6")
class _NoRerouting(FrontEnd):
    """A keyless send whose chosen partition is down gives up."""

    def _reroute(self, contents: Sequence[Content], timeout: int) -> Steps[Partition]:
        yield from self._give_up(timeout)
        raise Refused("unavailable", "the chosen partition is down")


@defect("one-down-all-down", "ROUTE-7", profile="azure-standard")
class _OneDownAllDown(FrontEnd):
    """While any partition is down, no keyed message is taken."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        keyed = self.broker.rules.common_key(contents) is not None
        if keyed and not all(partition.up for partition in self.partitions):
            raise Refused("unavailable", "a partition is down")
        yield from super().send(contents, txn, timeout)


@defect("stored-nowhere-up", "ROUTE-8")
class _StoredNowhereUp(FrontEnd):
    """With no partition up, keyless messages are accepted by one that is down."""

    def _reroute(self, contents: Sequence[Content], timeout: int) -> Steps[Partition]:
        if not any(partition.up for partition in self.partitions):
            yield HOP
            return self.next_partition()
        return (yield from super()._reroute(contents, timeout))


@defect("refused-nowhere-up-and-stored", "ROUTE-8")
class _RefusedNowhereUpAndStored(FrontEnd):
    """With no partition up, keyless messages are refused, and stored all the same."""

    def _reroute(self, contents: Sequence[Content], timeout: int) -> Steps[Partition]:
        try:
            return (yield from super()._reroute(contents, timeout))
        except Refused as refused:
            if refused.kind == "unavailable":
                self.broker.accept(self.next_partition(), contents)
            raise


@defect("full-partition-overflows", "ROUTE-2", also=BY_CHANCE[1:])
class _FullPartitionOverflows(Misrouting):
    """While its partition holds three messages or more, a key belongs to another one, outside of
    transactions."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        home = self.broker.partition_for(key)
        full = txn is None and sum(1 for _ in home.store.live()) >= FULL
        return f"overflow of {key}" if full else key


@defect("route-by-number-of-flows", "ROUTE-2", profile="solace", also=BY_CHANCE)
class _RouteByNumberOfFlows(FlowEnd):
    """How many flows are bound has a say in the partition."""

    def home(self, key: str, contents: Sequence[Content], txn: str | None) -> Partition:
        return super().home(f"{key}/{len(self.assignments.flows)}", contents, txn)
