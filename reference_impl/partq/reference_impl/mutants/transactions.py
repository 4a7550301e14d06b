"""Defects in transactions (TXN)."""

from __future__ import annotations

from collections.abc import Sequence

from ..clock import HOP, Steps
from ..core import Core
from ..frontend import FrontEnd
from ..network import Connection
from ..rules import PartitionedRules
from ..store import Content, Stored
from ..transactions import Transaction
from .misrouting import Misrouting
from .registry import APART, defect


@defect("keyless-in-transaction", "TXN-1")
class _KeylessInTransaction(PartitionedRules):
    """A send in a transaction needs no key."""

    def admit_send(self, txn: Transaction, key: str | None) -> None:
        if key is not None:
            super().admit_send(txn, key)


@defect("two-keys-in-transaction", "TXN-2")
class _TwoKeys(FrontEnd):
    """A send of a second key, of another partition, is accepted, and done outside the transaction."""

    def _send_in(self, txn: Transaction, key: str | None, contents: Sequence[Content]) -> Steps[None]:
        if key is not None and txn.key is not None and key != txn.key:
            home = self.home(key, contents, None)
            if home is not txn.partition:
                yield HOP
                self.broker.accept(home, contents)
                return
        yield from super()._send_in(txn, key, contents)


@defect("visible-before-commit", "TXN-5")
class _VisibleBeforeCommit(FrontEnd):
    """Messages sent in a transaction are stored at once."""

    def _send_in(self, txn: Transaction, key: str | None, contents: Sequence[Content]) -> Steps[None]:
        yield from super()._send_in(txn, key, contents)
        if txn.partition is not None:
            self.broker.accept(txn.partition, txn.sends)
            txn.sends.clear()


@defect("rollback-sends", "TXN-5")
class _RollbackSends(FrontEnd):
    """A rollback gives the locks back, and stores what was sent."""

    def rollback(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        sends = [] if txn is None else list(txn.sends)
        yield from super().rollback(name)
        if txn is not None and txn.partition is not None and sends:
            self.broker.accept(txn.partition, sends)


@defect("commit-loses-the-last", "TXN-5")
class _CommitLosesTheLast(FrontEnd):
    """A commit of several sends stores all but the last."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        if txn is not None and len(txn.sends) > 1:
            txn.sends.pop()
        yield from super().commit(name)


@defect("rollback-completes", "TXN-5")
class _RollbackCompletes(FrontEnd):
    """No rollback undoes a completion."""

    def rollback(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        completed = (
            [] if txn is None else [stored for action, stored, _ in txn.settlements if action == "complete"]
        )
        yield from super().rollback(name)
        for stored in completed:
            if not stored.gone:
                stored.partition.complete(stored)


@defect("commit-forgets-settlements", "TXN-5")
class _CommitForgetsSettlements(FrontEnd):
    """A commit stores what was sent, and leaves the settlements of the same transaction undone."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        if txn is not None:
            for _, stored, _ in txn.settlements:
                stored.enlisted = None
            txn.settlements.clear()
        yield from super().commit(name)


@defect("transaction-settles-anywhere", "TXN-7")
class _SettlesAnywhere(PartitionedRules):
    """A transaction may settle messages of several partitions."""

    def admit_settlement(self, txn: Transaction, stored: Sequence[Stored]) -> None:
        return


@defect("transaction-has-its-own-map", "TXN-8", profile="azure-standard", also=APART)
class _OwnMap(Misrouting):
    """In a transaction a key goes elsewhere than outside."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        return key if txn is None else f"in transaction: {key}"


class _Remembering(FrontEnd):
    """A front end that knows the transactions which ended through it: ``over``."""

    def __init__(self, broker: Core, turn: int) -> None:
        super().__init__(broker, turn)
        self.over: set[str | None] = set()

    def commit(self, name: str) -> Steps[None]:
        yield from super().commit(name)
        self.over.add(name)

    def rollback(self, name: str) -> Steps[None]:
        yield from super().rollback(name)
        self.over.add(name)


@defect("ends-twice", "TXN-10")
class _EndsTwice(_Remembering):
    """A commit or a rollback of a transaction that is over answers ok."""

    def commit(self, name: str) -> Steps[None]:
        yield from self._again() if name in self.over else super().commit(name)

    def rollback(self, name: str) -> Steps[None]:
        yield from self._again() if name in self.over else super().rollback(name)

    def _again(self) -> Steps[None]:
        yield HOP


@defect("sends-after-the-end", "TXN-10", profile="azure-flat")
class _SendsAfterTheEnd(_Remembering):
    """A send in a transaction that is over is done as if it were in none."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        yield from super().send(contents, None if txn in self.over else txn, timeout)


@defect("settles-after-the-end", "TXN-10", profile="azure-standard")
class _SettlesAfterTheEnd(_Remembering):
    """A settlement in a transaction that is over is done as if it were in none."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        yield from super().settle(connection, action, tokens, None if txn in self.over else txn)
