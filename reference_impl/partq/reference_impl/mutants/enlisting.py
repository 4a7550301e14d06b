"""Defects in what a transaction takes in (TXN)."""

from __future__ import annotations

from collections.abc import Sequence

from ..clock import Steps
from ..frontend import FrontEnd
from ..partition import Partition
from ..store import Content, Stored
from ..transactions import Transaction
from .registry import APART, defect
from .straying import Straying


@defect("keyless-batch-in-transaction", "TXN-1", profile="azure-standard")
class _KeylessBatchInTransaction(FrontEnd):
    """A batch in a transaction needs no key; a single message does."""

    def joins(self, txn: Transaction, key: str | None, contents: Sequence[Content]) -> bool:
        return (key is None and len(contents) > 1) or super().joins(txn, key, contents)


@defect("third-send-has-any-key", "TXN-2")
class _ThirdSendHasAnyKey(Straying):
    """From the third message of a transaction on any key is accepted. Those of another partition are stored
    there after the commit."""

    def strays(self, txn: Transaction, key: str, contents: Sequence[Content]) -> bool:
        return len(txn.sends) >= 2


@defect("abandons-of-two-partitions", "TXN-7", profile="azure-standard")
class _AbandonsOfTwoPartitions(FrontEnd):
    """A transaction may abandon messages of several partitions."""

    def _settle(self, action: str, tokens: Sequence[str], transaction: Transaction | None) -> Steps[None]:
        self._abandoning = action == "abandon"
        yield from super()._settle(action, tokens, transaction)

    def admit_settlement(self, txn: Transaction, found: Sequence[Stored]) -> None:
        if not self._abandoning:
            super().admit_settlement(txn, found)


@defect("sends-where-it-settled", "TXN-8", profile="azure-standard", also=APART)
class _SendsWhereItSettled(FrontEnd):
    """What a transaction sends that has settled something goes to that partition, whatever its key."""

    def home(self, key: str, contents: Sequence[Content], txn: str | None) -> Partition:
        settled = None if txn is None else self.broker.transactions[txn].settles_in
        there = next((partition for partition in self.partitions if partition is settled), None)
        return there or super().home(key, contents, txn)
