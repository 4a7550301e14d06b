"""What a queue's interface demands of a request, by family: where the key is, and what is refused.

Pure decisions about single requests. Where messages go and who gets them is elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from .errors import Refused
from .store import Content, Stored, id_of
from .transactions import Transaction


class Rules:
    """An Azure queue without partitions: sessions and partition keys mean nothing to routing. ``by_id``: the
    message ID is the key where no other is (KEY-4)."""

    def __init__(self, by_id: bool = False) -> None:
        self.by_id = by_id

    def key_of(self, content: Content) -> str | None:
        """The key that decides the partition; None for a keyless message."""
        return content.session_id if content.session_id is not None else content.partition_key

    def common_key(self, contents: Sequence[Content]) -> str | None:
        """The one key of all messages of a request. Raises `Refused`."""
        return self.key_of(contents[0])

    def admit_send(self, txn: Transaction, key: str | None) -> None:
        """Whether a send of that key may join the transaction. Raises `Refused`."""

    def admit_settlement(self, txn: Transaction, stored: Sequence[Stored]) -> None:
        """Whether a settlement may join the transaction. Raises `Refused`."""

    def check_settlement(self, stored: Sequence[Stored], txn: Transaction | None) -> None:
        """Whether these messages may be settled in one request. Raises `Refused`."""


class PartitionedRules(Rules):
    """An Azure partitioned queue: a request, and a transaction, concerns one partition only."""

    def key_of(self, content: Content) -> str | None:
        """Session ID, else partition key; both set must be equal."""
        session, key = content.session_id, content.partition_key
        if session is None:
            return id_of(content) if key is None and self.by_id else key
        if key is not None and key != session:
            raise Refused("invalid_operation", "session ID and partition key differ")
        return session

    def common_key(self, contents: Sequence[Content]) -> str | None:
        key = self.key_of(contents[0])
        if len(contents) > 1 and any(self.key_of(other) != key for other in contents[1:]):
            raise Refused("invalid_operation", "a batch has one partition key")
        return key

    def admit_send(self, txn: Transaction, key: str | None) -> None:
        if key is None:
            raise Refused("invalid_operation", "a send in a transaction needs a partition key")
        if txn.key is not None and txn.key != key:
            raise Refused("invalid_operation", "a transaction has one partition key")

    def admit_settlement(self, txn: Transaction, stored: Sequence[Stored]) -> None:
        if any(stored[0].partition.main is not partition for partition in txn.partitions()):
            raise Refused("invalid_operation", "a transaction has one partition")

    def check_settlement(self, stored: Sequence[Stored], txn: Transaction | None) -> None:
        if len({one.partition.name for one in stored}) > 1:
            raise Refused("invalid_operation", "a settlement concerns one partition")


class QueueRules(PartitionedRules):
    """Any partitioned queue: the key is the partition key alone."""

    def key_of(self, content: Content) -> str | None:
        return content.partition_key


class FlowRules(Rules):
    """A Solace partitioned queue: the key is a user property."""

    KEYS: tuple[str, ...] = ("QUEUE_PARTITION_KEY", "JMSXGroupID")

    def key_of(self, content: Content) -> str | None:
        """The first of the two well-known properties that is set."""
        properties = dict(content.properties)
        for name in self.KEYS:
            if properties.get(name):
                return properties[name]
        return None
