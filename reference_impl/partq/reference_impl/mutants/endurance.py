"""Defects that show only in long programs: after many messages, deletions or transactions."""

from __future__ import annotations

from ..clock import Steps
from ..frontend import FrontEnd
from ..partition import Partition
from ..store import Store, Stored
from .losing import lose
from .registry import defect


@defect("compaction-loses-the-newest", "RCV-2")
class _CompactionLosesTheNewest(Store):
    """When the log is rid of what was deleted, its newest message goes, too."""

    def delete(self, stored: Stored) -> None:
        before = len(self._log)
        super().delete(stored)
        if len(self._log) < before and self._log:
            lose(self._log[-1])


@defect("fortieth-number-skipped", "SEQ-4")
class _FortiethNumberSkipped(Store):
    """A partition leaves out the number after its fortieth message."""

    def next_number(self) -> int:
        if self._orders == 40:
            super().next_number()
        return super().next_number()


@defect("crowded-newest-first", "RCV-3", profile="azure-flat")
class _CrowdedNewestFirst(Partition):
    """A queue with more than twenty messages waiting delivers the newest first."""

    def heads(self, most: int) -> list[Stored]:
        free = self._free
        if len(free) <= 20:
            return super().heads(most)
        free.sort()
        found = [stored for _, stored in reversed(free[-most:])]
        del free[-most:]
        return found


@defect("fourth-rollback-stores", "TXN-5")
class _FourthRollbackStores(FrontEnd):
    """From the fourth on, a rollback at a front end stores what was sent."""

    _rollbacks = 0

    def rollback(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        sends = [] if txn is None else list(txn.sends)
        yield from super().rollback(name)
        self._rollbacks += 1
        if self._rollbacks > 3 and txn is not None and txn.partition is not None and sends:
            self.broker.accept(txn.partition, sends)
