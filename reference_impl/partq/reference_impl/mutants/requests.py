"""Defects in what is taken for one request: odd messages amid a batch, keys that differ a little, locks of
several partitions."""

from __future__ import annotations

from collections.abc import Sequence

from ..clock import HOP, Steps
from ..errors import Refused
from ..flowend import FlowEnd
from ..frontend import FrontEnd
from ..partition import Partition
from ..rules import FlowRules, PartitionedRules
from ..store import Content, Stored
from ..transactions import Transaction
from .misrouting import Misrouting
from .registry import APART, BY_CHANCE, defect

LONG = 64
"""Characters in a key that a careless broker still handles."""


class _Splitting(FrontEnd):
    """A front end that takes some batches of several keys apart, instead of refusing them."""

    def tolerates(self, keys: Sequence[str | None]) -> bool:
        """Whether a batch of those keys is taken apart."""
        return False

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        keys = [self.broker.rules.key_of(content) for content in contents]
        if len(set(keys)) == 1 or not self.tolerates(keys):
            yield from super().send(contents, txn, timeout)
            return
        for content in contents:
            yield from super().send((content,), txn, timeout)


@defect("odd-one-in-the-middle", "KEY-7")
class _OddOneInTheMiddle(_Splitting):
    """Of a batch only the first and the last message's keys are compared."""

    def tolerates(self, keys: Sequence[str | None]) -> bool:
        return keys[0] == keys[-1]


@defect("conflict-after-the-first", "KEY-3")
class _ConflictAfterTheFirst(PartitionedRules):
    """Session ID and partition key are compared in the first message of a batch only; then the session ID
    counts."""

    def common_key(self, contents: Sequence[Content]) -> str | None:
        key = self.key_of(contents[0])
        others = (one.partition_key if one.session_id is None else one.session_id for one in contents[1:])
        if any(other != key for other in others):
            raise Refused("invalid_operation", "a batch has one partition key")
        return key


@defect("seventh-of-a-batch-lost", "KEY-7")
class _SeventhLost(FrontEnd):
    """A batch is stored up to its sixth message."""

    def accept(self, partition: Partition, key: str | None, contents: Sequence[Content], since: int) -> None:
        super().accept(partition, key, contents[:6], since)


@defect("batch-folds-case", "KEY-7")
class _BatchFoldsCase(_Splitting):
    """A batch whose keys differ in case only is accepted."""

    def tolerates(self, keys: Sequence[str | None]) -> bool:
        return len({key if key is None else key.casefold() for key in keys}) == 1


@defect("conflict-folds-case", "KEY-3")
class _ConflictFoldsCase(PartitionedRules):
    """A session ID and a partition key that differ in case only are taken to be equal."""

    def key_of(self, content: Content) -> str | None:
        session, key = content.session_id, content.partition_key
        if session is not None and key is not None and session.casefold() == key.casefold():
            return session
        return super().key_of(content)


@defect("transaction-folds-case", "TXN-2")
class _TransactionFoldsCase(FrontEnd):
    """A second key that differs from the first in case only is accepted in a transaction. If it belongs
    to another partition its message is stored there at once."""

    def _send_in(self, txn: Transaction, key: str | None, contents: Sequence[Content]) -> Steps[None]:
        if key is not None and txn.key not in (None, key) and key.casefold() == (txn.key or "").casefold():
            home = self.home(key, contents, None)
            if home is not txn.partition:
                yield HOP
                self.broker.accept(home, contents)
                return
        yield from super()._send_in(txn, key, contents)


@defect("long-keys-scatter", "ROUTE-2", profile="azure-standard")
class _LongKeysScatter(Misrouting):
    """Messages of a key over 64 characters are routed by their own ID; in a transaction, by its name."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        return key if len(key) <= LONG else txn or contents[0].id


@defect("key-must-come-first", "KEY-8", profile="solace", also=(*APART, BY_CHANCE[1]))
class _KeyMustComeFirst(FlowRules):
    """The key is only found if it is the first of the user properties."""

    def key_of(self, content: Content) -> str | None:
        return next((value for name, value in content.properties[:1] if name in self.KEYS and value), None)


@defect("equal-keys-refused", "KEY-9")
class _EqualKeysRefused(PartitionedRules):
    """A message with both a session ID and a partition key is refused, also if they are equal."""

    def key_of(self, content: Content) -> str | None:
        if content.session_id is not None and content.partition_key is not None:
            raise Refused("invalid_operation", "a message has a session ID or a partition key")
        return super().key_of(content)


@defect("long-bodies-refused", "KEY-9", profile="azure-flat")
class _LongBodiesRefused(FrontEnd):
    """A message whose body is longer than 40 characters is refused as invalid."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        if any(len(content.body) > 40 for content in contents):
            yield HOP
            raise Refused("invalid_operation", "the body is too long")
        yield from super().send(contents, txn, timeout)


@defect("empty-properties-refused", "KEY-9", profile="solace")
class _EmptyPropertiesRefused(FlowEnd):
    """A message with a user property that is empty is refused: its topic, one says, is not found."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        if any(value == "" for content in contents for _, value in content.properties):
            yield HOP
            raise Refused("not_found", "no such topic")
        yield from super().send(contents, txn, timeout)


@defect("abandons-across-partitions", "RCV-14", profile="azure-standard")
class _AbandonsAcrossPartitions(FrontEnd):
    """One request may abandon messages of several partitions, outside of transactions."""

    def _settle(self, action: str, tokens: Sequence[str], transaction: Transaction | None) -> Steps[None]:
        if action != "abandon" or transaction is not None:
            yield from super()._settle(action, tokens, transaction)
            return
        for token in dict.fromkeys(tokens):
            self.check_locks((token,), (self.broker.locked(token),))
            self.broker.check_up(self.broker.locked(token).partition)
        for token in dict.fromkeys(tokens):
            yield from super()._settle(action, (token,), None)


@defect("pairs-across-partitions", "RCV-14")
class _PairsAcrossPartitions(PartitionedRules):
    """A request may settle just two messages of two partitions, outside of transactions."""

    def check_settlement(self, stored: Sequence[Stored]) -> None:
        if len(stored) != 2:
            super().check_settlement(stored)

    def admit_settlement(self, txn: Transaction, stored: Sequence[Stored]) -> None:
        super().check_settlement(stored)
        super().admit_settlement(txn, stored)
