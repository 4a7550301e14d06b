"""Defects in what the end of a transaction does (TXN)."""

from __future__ import annotations

from collections.abc import Sequence

from ..clock import Steps
from ..errors import Refused
from ..faults import Faults
from ..frontend import FrontEnd
from ..settings import SECOND
from ..store import Holder, Stored
from .forgetting import Forgetting
from .registry import defect


@defect("refused-commit-stores", "TXN-5", profile="azure-flat")
class _RefusedCommitStores(FrontEnd):
    """A commit that is refused because a lock has ended stores what was sent."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        sends = [] if txn is None else list(txn.sends)
        try:
            yield from super().commit(name)
        except Refused as refused:
            if refused.kind == "lock_lost" and txn is not None and txn.partition is not None and sends:
                self.broker.accept(txn.partition, sends)
            raise


@defect("committed-in-steps", "TXN-5", profile="azure-standard")
class _CommittedInSteps(FrontEnd):
    """Of what a transaction sent the first message can be seen after the commit, the others, which have their
    numbers, ten seconds later."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        later = [] if txn is None else txn.sends[1:]
        if txn is not None:
            del txn.sends[1:]
        yield from super().commit(name)
        if txn is not None and txn.partition is not None and later:
            hidden = txn.partition.reserve(later, self.clock.now)
            self.clock.spawn(self._reveal(txn.partition, hidden))

    def _reveal(self, partition: Holder, hidden: Sequence[Stored]) -> Steps[None]:
        yield self.clock.now + 10 * SECOND
        partition.reveal(hidden)
        self.broker.ring()


@defect("front-end-loss-stores-what-was-sent", "TXN-5")
class _FrontEndLossStores(Faults):
    """The loss of a front end stores what was sent in open transactions, and rolls the rest of them back."""

    def frontend_lost(self, proc: str) -> Steps[None]:
        yield from super().frontend_lost(proc)
        for txn in list(self.broker.transactions.values()):
            if txn.partition is not None and txn.sends:
                self.broker.accept(txn.partition, txn.sends)
                txn.rollback()
                del self.broker.transactions[txn.name]


@defect("commit-after-rollback-said-ok", "TXN-10", profile="azure-flat")
class _CommitsAfterRollback(Forgetting):
    """A commit after a rollback answers ok, and does nothing."""

    REQUEST = "commit"
    ENDS = ("rollback",)


@defect("enlists-after-the-end", "TXN-10")
class _EnlistsAfterTheEnd(Forgetting):
    """A send in a transaction that was committed is answered, and forgotten."""

    REQUEST = "send"
    ENDS = ("commit",)
