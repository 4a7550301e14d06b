"""Defects in transactions of several steps, and in what others see of them before they end (TXN)."""

from __future__ import annotations

from collections.abc import Sequence

from ..clock import HOP, Steps
from ..errors import Refused
from ..frontend import FrontEnd
from ..network import Connection
from ..rules import PartitionedRules
from ..settings import SECOND
from ..store import Content, Stored
from ..transactions import Transaction
from .registry import defect
from .viewing import Viewing


@defect("sends-after-a-settlement-at-once", "TXN-5")
class _SendsAfterASettlement(FrontEnd):
    """What is sent in a transaction that has settled something before is stored at once."""

    def _send_in(self, txn: Transaction, key: str | None, contents: Sequence[Content]) -> Steps[None]:
        early = bool(txn.settlements) and not txn.sends
        yield from super()._send_in(txn, key, contents)
        if early and txn.partition is not None:
            self.broker.accept(txn.partition, txn.sends)
            txn.sends.clear()


@defect("second-send-at-once", "TXN-5", profile="azure-flat")
class _SecondSendAtOnce(FrontEnd):
    """The second send of a transaction is stored at once."""

    def _send_in(self, txn: Transaction, key: str | None, contents: Sequence[Content]) -> Steps[None]:
        second = len(txn.sends) == 1
        yield from super()._send_in(txn, key, contents)
        if second and txn.partition is not None:
            del txn.sends[1:]
            self.broker.accept(txn.partition, contents)


@defect("third-settlement-forgotten", "TXN-5")
class _ThirdSettlementForgotten(FrontEnd):
    """A commit does the first two settlements of a transaction and leaves the others undone."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        if txn is not None:
            for _, stored, _ in txn.settlements[2:]:
                stored.enlisted = None
            del txn.settlements[2:]
        yield from super().commit(name)


@defect("rollback-ends-locks", "TXN-5", also=("RCV-6",))
class _RollbackEndsLocks(FrontEnd):
    """A rollback gives back what was settled in the transaction. That ends locks whose time is not over."""

    def rollback(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        settled = [] if txn is None else [(stored, token) for _, stored, token in txn.settlements]
        yield from super().rollback(name)
        for stored, token in settled:
            if stored.partition.holds(stored, token, self.clock.now):
                stored.partition.release(stored)
        self.broker.ring()


@defect("enlisted-hidden", "PEEK-7", also=("TXN-5",))
class _EnlistedHidden(Viewing):
    """A message that an open transaction has settled is not peeked any more. That is also an effect of the
    transaction before its commit."""

    def views(self, stored: Stored) -> bool:
        return stored.enlisted is None


@defect("abandons-in-transactions-at-once", "TXN-5", profile="azure-flat")
class _AbandonsAtOnce(FrontEnd):
    """An abandon in a transaction is done at once, and stays done."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        at_once = action == "abandon" and txn in self.broker.transactions
        yield from super().settle(connection, action, tokens, None if at_once else txn)


@defect("commit-half-done-after-fault", "TXN-5")
class _CommitHalfDone(FrontEnd):
    """A commit that is refused because the partition is down has completed what the transaction settled."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        settled = [] if txn is None else list(txn.settlements)
        try:
            yield from super().commit(name)
        except Refused as refused:
            if refused.kind == "unavailable":
                for action, stored, token in settled:
                    if action == "complete" and stored.lock == token:
                        stored.partition.complete(stored)
            raise


@defect("key-free-after-settlement", "TXN-2")
class _KeyFreeAfterSettlement(FrontEnd):
    """In a transaction that has also settled, a second key, of another partition, is accepted and its message
    stored outside the transaction."""

    def _send_in(self, txn: Transaction, key: str | None, contents: Sequence[Content]) -> Steps[None]:
        second = txn.settlements and key is not None and txn.key is not None and key != txn.key
        if second and key is not None and self.home(key, contents, None) is not txn.partition:
            yield HOP
            self.broker.accept(self.home(key, contents, None), contents)
            return
        yield from super()._send_in(txn, key, contents)


@defect("keyless-after-keyed", "TXN-1")
class _KeylessAfterKeyed(PartitionedRules):
    """In a transaction that has a key, a further send needs none."""

    def admit_send(self, txn: Transaction, key: str | None) -> None:
        super().admit_send(txn, txn.key if key is None else key)


@defect("third-settlement-anywhere", "TXN-7")
class _ThirdSettlementAnywhere(PartitionedRules):
    """In a transaction that settles two messages of one partition, the third may be of any."""

    def admit_settlement(self, txn: Transaction, stored: Sequence[Stored]) -> None:
        if len(txn.settlements) < 2:
            super().admit_settlement(txn, stored)


@defect("abandons-in-transactions-uncounted", "RCV-9")
class _AbandonsUncounted(FrontEnd):
    """An abandon that a commit does does not raise the delivery count."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        settled = [] if txn is None else txn.settlements
        abandoned = [stored for action, stored, _ in settled if action == "abandon"]
        for stored in abandoned:
            stored.count -= 1
        try:
            yield from super().commit(name)
        except Refused:
            for stored in abandoned:
                stored.count += 1
            raise


@defect("commit-reverses-sends", "SEQ-3")
class _CommitReversesSends(FrontEnd):
    """A commit stores what was sent in the transaction in reverse order."""

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        if txn is not None:
            txn.sends.reverse()
        yield from super().commit(name)


@defect("settlements-lag-behind-commit", "TXN-5", profile="azure-flat")
class _SettlementsLagBehindCommit(FrontEnd):
    """A commit does what was settled in the transaction ten seconds later, if the locks hold then."""

    def commit(self, name: str) -> Steps[None]:
        txn, now = self.broker.transactions.get(name), self.clock.now
        later = [] if txn is None else list(txn.settlements)
        if txn is None or not all(stored.partition.holds(stored, token, now) for _, stored, token in later):
            yield from super().commit(name)
            return
        txn.settlements.clear()
        try:
            yield from super().commit(name)
        except Refused:
            txn.settlements += later
            if name not in self.broker.transactions:
                txn.rollback()
            raise
        self.clock.spawn(self._settle_later(later))

    def _settle_later(self, later: Sequence[tuple[str, Stored, str]]) -> Steps[None]:
        yield self.clock.now + 10 * SECOND
        for action, stored, token in later:
            if stored.lock == token:
                self.apply(action, stored)
