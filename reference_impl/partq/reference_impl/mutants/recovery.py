"""Defects that show only after the broker was killed: what it forgot, and what it should have forgotten."""

from __future__ import annotations

from ..clock import Steps
from ..faults import Faults
from ..flows import Assignments
from ..partition import Partition
from .registry import APART, BY_CHANCE, defect
from .routing import RehashOnRestart


@defect("solace-rehash-on-restart", "ROUTE-1", profile="solace", also=(*APART, BY_CHANCE[0]))
class _SolaceRehashOnRestart(RehashOnRestart):
    """The partition map is drawn anew when the broker starts."""


@defect("delay-survives-kill", "REB-4", profile="solace")
class _DelaySurvivesKill(Assignments):
    """A rebalance delay that ran before a kill goes on, so that the next flow does not wait its own delay."""

    def reset(self) -> None:
        running = self.rebalancing
        super().reset()
        if running:
            self.age -= 1
            self.rebalancing = True


@defect("kill-stops-rebalancing", "REB-4", profile="solace")
class _KillStopsRebalancing(Assignments):
    """After a kill during a rebalance delay no flow gets anything: it waits for a timer that is gone."""

    def reset(self) -> None:
        running = self.rebalancing
        super().reset()
        self.rebalancing = running


@defect("kill-skips-numbers", "SEQ-4", profile="azure-flat")
class _KillSkipsNumbers(Faults):
    """After a kill the queue leaves out ten numbers, unless the counter is about to roll over."""

    def broker_start(self) -> Steps[None]:
        yield from super().broker_start()
        for partition in self.broker.partitions:
            store = partition.store
            if store._counter < 1 << (store._bits - 1):
                store._counter += 10


@defect("kill-reverses-order", "RCV-3")
class _KillReversesOrder(Partition):
    """What is stored at a kill is delivered newest first afterwards."""

    def recover(self, counted: bool = False) -> None:
        super().recover(counted)
        self._free = sorted((-order, stored) for order, stored in self._free)


@defect("kill-orphans-locked", "RCV-2", profile="azure-flat")
class _KillOrphansLocked(Faults):
    """What was locked at a kill is never delivered again, though it can be peeked."""

    def drop_locks(self, partition: Partition) -> None:
        now = self.broker.clock.now
        locked = {stored.order for stored in partition.store.live() if stored.lock and stored.until > now}
        super().drop_locks(partition)
        free = partition.heads(len(partition._free))
        for stored in free:
            if stored.order not in locked:
                partition.release(stored)


@defect("kill-commits-what-was-sent", "TXN-5", profile="azure-flat")
class _KillCommits(Faults):
    """A kill stores what was sent in transactions that are open."""

    def broker_kill(self) -> Steps[None]:
        for txn in self.broker.transactions.values():
            if txn.partition is not None and txn.sends:
                self.broker.accept(txn.partition, txn.sends)
                txn.sends.clear()
        yield from super().broker_kill()
