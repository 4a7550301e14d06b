"""Defects in what a message holds when it comes back: properties, keys, large bodies (RCV-1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import Steps
from ..flowend import FlowEnd
from ..frontend import FrontEnd
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


@defect("redelivered-body-cut", "RCV-1", profile="azure-flat")
class _RedeliveredBodyCut(FrontEnd):
    """A message that is delivered again has lost the last character of its body."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        return [m._replace(body=m.body[:-1]) if m.delivery_count else m for m in shown]


@defect("partition-key-shown-as-session", "RCV-1", profile="azure-standard")
class _PartitionKeyShownAsSession(FrontEnd):
    """A message with nothing but a partition key is delivered with a session ID, too."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        return [m if m.session_id else m._replace(session_id=m.partition_key) for m in shown]


@defect("batch-shares-its-body", "RCV-1", profile="solace")
class _BatchSharesItsBody(FlowEnd):
    """All messages of a batch have the body of the first one."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        yield from super().send([garbled(one, body=contents[0].body) for one in contents], txn, timeout)
