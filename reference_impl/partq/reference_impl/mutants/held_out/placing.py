"""Defects in which partition a key has, and for how long (ROUTE-1, ROUTE-2), set aside."""

from __future__ import annotations

from collections.abc import Sequence

from ...clock import Steps
from ...faults import Faults
from ...flowend import FlowEnd
from ...frontend import FrontEnd
from ...partition import Partition
from ...settings import SECOND
from ...store import Content
from ..misrouting import Misrouting
from ..registry import APART, held_out

HALF_A_MINUTE = 30 * SECOND
"""ns after which a careless broker shuffles its partitions."""


@held_out("rehash-on-front-end-loss", "ROUTE-1", also=APART)
class _RehashOnFrontEndLoss(Faults):
    """The partition map is drawn anew when a front end is lost while no transaction is open."""

    def frontend_lost(self, proc: str) -> Steps[None]:
        yield from super().frontend_lost(proc)
        if not self.broker.transactions:
            self.broker.config.salt += 1
            self.broker.forget_homes()


@held_out("emptied-partition-gives-keys-away", "ROUTE-1", also=APART)
class _EmptiedPartitionGivesKeysAway(FrontEnd):
    """A key whose partition has become empty lives in the next one from its next send on, unless a partition
    is down or the send is in a transaction."""

    def home(self, key: str, contents: Sequence[Content], txn: str | None) -> Partition:
        home = super().home(key, contents, txn)
        at_rest = txn is None and all(partition.up for partition in self.partitions)
        if at_rest and home.store._orders and home.store.is_empty():
            here = self.partitions.index(home)
            home = self.broker._homes[key] = self.partitions[(here + 1) % len(self.partitions)]
        return home


@held_out("rehash-with-each-rebalance", "ROUTE-1", profile="solace", also=APART)
class _RehashWithEachRebalance(FlowEnd):
    """The partition map is drawn anew with each rebalance that is asked for."""

    def home(self, key: str, contents: Sequence[Content], txn: str | None) -> Partition:
        return super().home(f"{key}/{self.assignments.delays}", contents, txn)


@held_out("batches-have-their-own-map", "ROUTE-2")
class _BatchesHaveTheirOwnMap(Misrouting):
    """The messages of a batch are stored elsewhere than single ones of the same key, outside of
    transactions."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        return f"batches of {key}" if txn is None and len(contents) > 1 else key


@held_out("time-has-a-say", "ROUTE-2", profile="azure-standard")
class _TimeHasASay(Misrouting):
    """Each key changes its partition every half a minute, outside of transactions."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        halves = self.clock.now // HALF_A_MINUTE
        return f"{key}/{halves}" if txn is None and halves else key
