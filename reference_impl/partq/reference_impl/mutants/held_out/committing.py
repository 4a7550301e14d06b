"""Defects in transactions (TXN), set aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...clock import HOP, Steps
from ...errors import Refused
from ...faults import Faults
from ...frontend import FrontEnd
from ...partition import Partition
from ...settings import SECOND
from ...store import Content, Stored
from ...transactions import Transaction
from ..registry import APART, held_out


@held_out("keyless-batch-in-transaction", "TXN-1", profile="azure-standard")
class _KeylessBatchInTransaction(FrontEnd):
    """A batch in a transaction needs no key; a single message does."""

    def joins(self, txn: Transaction, key: str | None, contents: Sequence[Content]) -> bool:
        return (key is None and len(contents) > 1) or super().joins(txn, key, contents)


@held_out("third-send-has-any-key", "TXN-2")
class _ThirdSendHasAnyKey(FrontEnd):
    """From the third message of a transaction on any key is accepted. Those of another partition are stored
    there after the commit."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._others: dict[Transaction, list[tuple[Partition, Sequence[Content]]]] = {}

    def _send_in(self, txn: Transaction, key: str | None, contents: Sequence[Content]) -> Steps[None]:
        if key is None or txn.key in (None, key) or len(txn.sends) < 2:
            yield from super()._send_in(txn, key, contents)
            return
        yield HOP
        self.broker.check_open(txn)
        home = self.home(key, contents, None)
        self.broker.check_up(home)
        self._others.setdefault(txn, []).append((home, contents))

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        yield from super().commit(name)
        for home, contents in self._others.pop(txn, ()) if txn is not None else ():
            self.broker.accept(home, contents)


@held_out("refused-commit-stores", "TXN-5", profile="azure-flat")
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


@held_out("committed-in-steps", "TXN-5", profile="azure-standard")
class _CommittedInSteps(FrontEnd):
    """Of what a transaction sent the first message is stored by the commit, the others ten seconds later."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        later = [] if txn is None else txn.sends[1:]
        if txn is not None:
            del txn.sends[1:]
        yield from super().commit(name)
        if txn is not None and txn.partition is not None and later:
            self.clock.spawn(self._store(txn, later))

    def _store(self, txn: Transaction, contents: Sequence[Content]) -> Steps[None]:
        yield self.clock.now + 10 * SECOND
        if txn.partition is not None:
            self.broker.accept(txn.partition, contents)


@held_out("front-end-loss-stores-what-was-sent", "TXN-5")
class _FrontEndLossStores(Faults):
    """The loss of a front end stores what was sent in open transactions, and rolls the rest of them back."""

    def frontend_lost(self, proc: str) -> Steps[None]:
        yield from super().frontend_lost(proc)
        for txn in list(self.broker.transactions.values()):
            if txn.partition is not None and txn.sends:
                self.broker.accept(txn.partition, txn.sends)
                txn.rollback()
                del self.broker.transactions[txn.name]


@held_out("abandons-of-two-partitions", "TXN-7", profile="azure-standard")
class _AbandonsOfTwoPartitions(FrontEnd):
    """A transaction may abandon messages of several partitions."""

    def _settle(self, action: str, tokens: Sequence[str], transaction: Transaction | None) -> Steps[None]:
        self._abandoning = action == "abandon"
        yield from super()._settle(action, tokens, transaction)

    def admit_settlement(self, txn: Transaction, found: Sequence[Stored]) -> None:
        if not self._abandoning:
            super().admit_settlement(txn, found)


@held_out("sends-where-it-settled", "TXN-8", profile="azure-standard", also=APART)
class _SendsWhereItSettled(FrontEnd):
    """What a transaction sends that has settled something goes to that partition, whatever its key."""

    def home(self, key: str, contents: Sequence[Content], txn: str | None) -> Partition:
        settled = None if txn is None else self.broker.transactions[txn].settles_in
        there = next((partition for partition in self.partitions if partition is settled), None)
        return there or super().home(key, contents, txn)


@held_out("commit-after-rollback-said-ok", "TXN-10", profile="azure-flat")
class _CommitsAfterRollback(FrontEnd):
    """A commit after a rollback answers ok, and does nothing."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._rolled_back: set[str] = set()

    def rollback(self, name: str) -> Steps[None]:
        yield from super().rollback(name)
        self._rolled_back.add(name)

    def commit(self, name: str) -> Steps[None]:
        if name in self._rolled_back and name not in self.broker.transactions and self.broker.alive:
            yield HOP
            return
        yield from super().commit(name)


@held_out("enlists-after-the-end", "TXN-10")
class _EnlistsAfterTheEnd(FrontEnd):
    """A send in a transaction that was committed is answered, and forgotten."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._committed: set[str] = set()

    def commit(self, name: str) -> Steps[None]:
        yield from super().commit(name)
        self._committed.add(name)

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        if txn in self._committed and txn not in self.broker.transactions and self.broker.alive:
            yield HOP
            return
        yield from super().send(contents, txn, timeout)
