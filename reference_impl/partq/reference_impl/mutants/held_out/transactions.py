"""Defects in transactions (TXN), set aside."""

from __future__ import annotations

from collections.abc import Sequence

from ...clock import Steps
from ...errors import Refused
from ...faults import Faults
from ...frontend import FrontEnd
from ...partition import Partition
from ...rules import PartitionedRules
from ...store import Content, Stored
from ...transactions import Transaction
from ..forgetting import Forgetting
from ..registry import APART, held_out
from ..straying import Straying


@held_out("one-front-end-takes-keyless", "TXN-1", profile="azure-standard")
class _OneFrontEndTakesKeyless(FrontEnd):
    """At one front end a send in a transaction needs no key."""

    def joins(self, txn: Transaction, key: str | None, contents: Sequence[Content]) -> bool:
        last = self.broker.front_ends[-1] is self
        return (key is None and last) or super().joins(txn, key, contents)


@held_out("second-partition-key-accepted", "TXN-2")
class _SecondPartitionKeyAccepted(Straying):
    """A second key is noticed as a session ID only. Else, if it belongs to another partition, its message is
    stored there after the commit."""

    def strays(self, txn: Transaction, key: str, contents: Sequence[Content]) -> bool:
        return contents[0].session_id is None and self.home(key, contents, txn.name) is not txn.partition


@held_out("rolled-back-locks-refused", "TXN-5", profile="azure-flat")
class _RolledBackLocksRefused(FrontEnd):
    """After a rollback the locks that were used in the transaction settle nothing any more."""

    def rollback(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        used = [] if txn is None else [(stored, token) for _, stored, token in txn.settlements]
        yield from super().rollback(name)
        for stored, token in used:
            if stored.lock == token:
                stored.enlisted = name


@held_out("one-front-end-commits-no-sends", "TXN-5", profile="azure-standard")
class _OneFrontEndCommitsNoSends(FrontEnd):
    """At one front end a commit settles, and forgets what was sent."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        if txn is not None and self.broker.front_ends[-1] is self:
            txn.sends.clear()
        yield from super().commit(name)


@held_out("outage-commits-what-was-sent", "TXN-5")
class _OutageCommitsWhatWasSent(Faults):
    """A partition that goes down stores what was sent to it in open transactions, and rolls the rest of them
    back."""

    def partition_down(self, index: int) -> Steps[int]:
        partition = self.broker.partitions[index % len(self.broker.partitions)]
        for txn in list(self.broker.transactions.values()):
            if txn.partition is partition and txn.sends:
                self.broker.accept(partition, txn.sends)
                txn.rollback()
                del self.broker.transactions[txn.name]
        return (yield from super().partition_down(index))


@held_out("rollback-keeps-abandons", "TXN-5", profile="azure-standard")
class _RollbackKeepsAbandons(FrontEnd):
    """No rollback undoes an abandon."""

    def rollback(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        abandons = [one for one in txn.settlements if one[0] == "abandon"] if txn is not None else []
        yield from super().rollback(name)
        now = self.clock.now
        for action, stored, token in abandons:
            if stored.partition.holds(stored, token, now):
                self.apply(action, stored)


@held_out("refusal-empties-transaction", "TXN-5")
class _RefusalEmptiesTransaction(FrontEnd):
    """A send or settlement that is refused as invalid in a transaction makes it forget what was sent in it
    before."""

    def in_transaction(self, txn: Transaction, steps: Steps[None]) -> Steps[None]:
        try:
            yield from super().in_transaction(txn, steps)
        except Refused as refused:
            if refused.kind == "invalid_operation" and txn.sends:
                txn.sends.clear()
            raise


@held_out("completions-of-two-partitions", "TXN-7", profile="azure-standard")
class _CompletionsOfTwoPartitions(FrontEnd):
    """A transaction that sends nothing may complete messages of several partitions."""

    _completing = False

    def _settle(self, action: str, tokens: Sequence[str], transaction: Transaction | None) -> Steps[None]:
        self._completing = action == "complete"
        yield from super()._settle(action, tokens, transaction)

    def admit_settlement(self, txn: Transaction, found: Sequence[Stored]) -> None:
        elsewhere = txn.settles_in not in (None, found[0].partition)
        if not (self._completing and txn.partition is None and elsewhere):
            super().admit_settlement(txn, found)


@held_out("keyless-settled-in-any-partition", "TXN-7")
class _KeylessSettledInAnyPartition(PartitionedRules):
    """A transaction that sends nothing may settle messages without a key in several partitions."""

    def admit_settlement(self, txn: Transaction, stored: Sequence[Stored]) -> None:
        keyless = all(self.key_of(one.content) is None for one in stored)
        elsewhere = txn.settles_in not in (None, stored[0].partition)
        if not (keyless and txn.partition is None and elsewhere):
            super().admit_settlement(txn, stored)


@held_out("transaction-goes-to-the-next", "TXN-8", also=APART)
class _TransactionGoesToTheNext(FrontEnd):
    """In a transaction a key belongs to the partition after its own, unless messages of that were settled
    before."""

    def home(self, key: str, contents: Sequence[Content], txn: str | None) -> Partition:
        home = super().home(key, contents, txn)
        if txn is not None and self.broker.transactions[txn].place is not home:
            home = self.partitions[(self.partitions.index(home) + 1) % len(self.partitions)]
        return home


@held_out("transaction-reads-keys-in-lower-case", "TXN-8", profile="azure-standard", also=APART)
class _TransactionReadsKeysInLowerCase(FrontEnd):
    """In a transaction a key goes where it belongs in lower case."""

    def home(self, key: str, contents: Sequence[Content], txn: str | None) -> Partition:
        folded = txn is not None and key != key.lower()
        return super().home(key.lower() if folded else key, contents, txn)


@held_out("rollback-after-commit-said-ok", "TXN-10", profile="azure-standard")
class _RollbackAfterCommitSaidOk(Forgetting):
    """A rollback after a commit answers ok, and does nothing."""

    REQUEST = "rollback"
    ENDS = ("commit",)


@held_out("settlement-after-the-end-forgotten", "TXN-10")
class _SettlementAfterTheEndForgotten(Forgetting):
    """A settlement in a transaction that was committed or rolled back is answered, and forgotten."""

    REQUEST = "settle"
    ENDS = ("commit", "rollback")
