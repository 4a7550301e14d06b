"""Defects in what a message holds when it comes back: properties, keys, large bodies (RCV-1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..partition import Partition
from ..store import Content, Holder, Store, Stored
from .garbling import garbled
from .registry import defect
from .viewing import Viewing


@defect("batch-shares-properties", "RCV-1", profile="azure-flat")
class _BatchSharesProperties(Partition):
    """All messages of a batch have the user properties of its first one."""

    def accept(self, contents: Sequence[Content], now: int) -> None:
        shared = contents[0].properties
        super().accept([garbled(content, properties=shared) for content in contents], now)


@defect("keyed-properties-lost", "RCV-1", profile="azure-standard")
class _KeyedPropertiesLost(Store):
    """A message with a session ID or partition key loses its user properties."""

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        keyed = content.session_id is not None or content.partition_key is not None
        return super().append(garbled(content, properties=()) if keyed else content, now, partition)


@defect("empty-properties-dropped", "RCV-1", profile="solace")
class _EmptyPropertiesDropped(Store):
    """User properties whose value is empty are left out."""

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        kept = tuple((name, value) for name, value in content.properties if value)
        return super().append(garbled(content, properties=kept), now, partition)


@defect("partition-key-case-lost", "RCV-1")
class _PartitionKeyCaseLost(Store):
    """Partition keys are stored in lower case."""

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        key = content.partition_key
        return super().append(garbled(content, partition_key=key and key.lower()), now, partition)


@defect("large-bodies-peeked-cut", "RCV-1")
class _LargeBodiesPeekedCut(Viewing):
    """A peek shows of a body no more than an answer may hold."""

    def viewed(self, stored: Stored, message: Any) -> Any:
        return message._replace(body=message.body[: self.broker.config.peek_bytes])
