"""Defects in what the key is, and in what a request may hold (KEY)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import HOP, Steps
from ..errors import Refused
from ..flowend import FlowEnd
from ..frontend import FrontEnd
from ..partition import Partition
from ..rules import FlowRules, PartitionedRules
from ..store import Content
from .misrouting import Misrouting
from .registry import APART, BY_CHANCE, defect


@defect("session-not-a-key", "KEY-1", profile="azure-standard", also=APART)
class _SessionNotAKey(Misrouting):
    """Messages with a session ID are routed by their own ID."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        return key if contents[0].session_id is None else txn or contents[0].id


@defect("partition-key-not-a-key", "KEY-2", profile="azure-standard", also=APART)
class _PartitionKeyNotAKey(Misrouting):
    """Messages with nothing but a partition key are routed by their own ID."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        return key if contents[0].session_id is not None else txn or contents[0].id


@defect("session-wins", "KEY-3")
class _SessionWins(PartitionedRules):
    """A session ID and another partition key: the session ID is taken and nothing said."""

    def key_of(self, content: Content) -> str | None:
        return content.session_id if content.session_id is not None else content.partition_key


@defect("conflict-stored", "KEY-3")
class _ConflictStored(FrontEnd):
    """A session ID and another partition key: refused, but stored before it was looked at."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        try:
            self.broker.rules.key_of(contents[0])
        except Refused:
            self.broker.accept(self.next_partition(), contents)
        yield from super().send(contents, txn, timeout)


@defect("message-id-is-a-key", "KEY-5")
class _MessageIdIsAKey(PartitionedRules):
    """The messages of a keyless batch have different IDs, so they are taken to have different keys."""

    def common_key(self, contents: Sequence[Content]) -> str | None:
        key = super().common_key(contents)
        if key is None and len({content.id for content in contents}) > 1:
            raise Refused("invalid_operation", "a batch has one partition key")
        return key


@defect("mixed-batch-split", "KEY-7")
class _MixedBatchSplit(FrontEnd):
    """A batch of several keys is taken apart instead of refused."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        keys = {self.broker.rules.key_of(content) for content in contents}
        for content in contents if len(keys) > 1 else ():
            yield from super().send((content,), txn, timeout)
        if len(keys) == 1:
            yield from super().send(contents, txn, timeout)


@defect("refused-batch-half-stored", "KEY-7")
class _RefusedBatchHalfStored(FrontEnd):
    """A batch of several keys is refused when the second key comes, and the messages before it stay."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        first = self.broker.rules.key_of(contents[0])
        if first is not None and any(self.broker.rules.key_of(other) != first for other in contents):
            yield HOP
            self.broker.accept(self.home(first, contents[:1], txn), contents[:1])
        yield from super().send(contents, txn, timeout)


@defect("jms-group-ignored", "KEY-8", profile="solace", also=BY_CHANCE[1:])
class _JmsGroupIgnored(FlowRules):
    """Only one of the two well-known user properties is read."""

    KEYS: tuple[str, ...] = ("QUEUE_PARTITION_KEY",)


@defect("batch-forgets-its-session", "KEY-1", profile="azure-standard", also=APART)
class _BatchForgetsItsSession(Misrouting):
    """A batch of messages of a session is stored as if it had no key, outside of transactions."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        loose = txn is None and len(contents) > 1 and contents[0].session_id is not None
        return contents[0].id if loose else key


@defect("one-front-end-reads-no-partition-keys", "KEY-2", also=APART)
class _OneFrontEndReadsNoPartitionKeys(Misrouting):
    """At one front end a message with nothing but a partition key goes by its own ID, outside of
    transactions."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        blind = self.broker.front_ends[-1] is self and contents[0].session_id is None
        return contents[0].id if blind and txn is None else key


@defect("batch-goes-with-its-first", "KEY-8", profile="solace", also=(*APART, *BY_CHANCE[1:]))
class _BatchGoesWithItsFirst(FlowEnd):
    """All keyed messages of a batch are stored where the first one belongs."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._firsts: dict[str, str] = {}

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        first = next(filter(None, map(self.broker.rules.key_of, contents)), "")
        self._firsts |= {content.id: first for content in contents}
        yield from super().send(contents, txn, timeout)

    def home(self, key: str, contents: Sequence[Content], txn: str | None) -> Partition:
        return super().home(self._firsts[contents[0].id], contents, txn)


@defect("annotation-before-property", "KEY-8", profile="solace", also=APART)
class _AnnotationBeforeProperty(FlowRules):
    """A partition key beside the user properties is taken for the key."""

    def key_of(self, content: Content) -> str | None:
        if content.partition_key is not None:
            return content.partition_key
        return super().key_of(content)
