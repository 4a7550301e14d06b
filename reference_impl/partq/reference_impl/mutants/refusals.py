"""Defects in what is refused, and in what a refused request leaves behind (KEY)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import HOP, Steps
from ..errors import Refused, Unsure
from ..flowend import FlowEnd
from ..frontend import FrontEnd
from ..network import Connection
from ..partition import Partition
from ..rules import PartitionedRules
from ..store import Content
from .registry import defect

LATER = 3_000_000_000
"""ns after which what was refused is done all the same."""


@defect("conflict-stored-later", "KEY-3")
class _ConflictStoredLater(FrontEnd):
    """A message with a session ID and another partition key is refused, and stored three seconds later."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        try:
            yield from super().send(contents, txn, timeout)
        except Refused as refused:
            session, key = contents[0].session_id, contents[0].partition_key
            conflict = session is not None and key is not None and session != key
            if conflict and len(contents) == 1 and txn is None and refused.kind == "invalid_operation":
                self.clock.spawn(self._store(self.next_partition(), contents))
            raise

    def _store(self, partition: Partition, contents: Sequence[Content]) -> Steps[None]:
        yield self.clock.now + LATER
        self.broker.accept(partition, contents)


@defect("ids-of-three-compared", "KEY-5", profile="azure-standard")
class _IdsOfThreeCompared(PartitionedRules):
    """The IDs of a keyless batch of three messages or more are taken for keys, and it is refused."""

    def common_key(self, contents: Sequence[Content]) -> str | None:
        key = super().common_key(contents)
        if key is None and len(contents) > 2:
            raise Refused("invalid_operation", "a batch has one partition key")
        return key


@defect("cut-off-batch-half-stored", "KEY-7")
class _CutOffBatchHalfStored(FrontEnd):
    """Of a batch whose client is cut off before it is stored the first message is stored."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._stored: set[str] = set()

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        try:
            yield from super().send(contents, txn, timeout)
        except Unsure as unsure:
            key = self.broker.rules.common_key(contents)
            partition = self.next_partition() if key is None else self.home(key, contents, txn)
            early = contents[0].id not in self._stored and len(contents) > 1 and partition.up
            if early and unsure.kind == "connection_lost" and txn is None and self.broker.alive:
                self.accept(partition, key, contents[:1], self.clock.now)
            raise

    def accept(self, partition: Partition, key: str | None, contents: Sequence[Content], since: int) -> None:
        self._stored.update(content.id for content in contents)
        super().accept(partition, key, contents, since)


@defect("number-past-the-end-not-found", "KEY-9", profile="azure-flat")
class _NumberPastTheEndNotFound(FrontEnd):
    """A peek from a number on at which nothing is stored any more, and that is not zero, is refused."""

    def peek(self, connection: Connection, most: int, number: int | None) -> Steps[list[Any]]:
        shown = yield from super().peek(connection, most, number)
        if number and not shown and all(partition.up for partition in self.partitions):
            raise Refused("not_found", "no such number")
        return shown


@defect("second-renewal-refused", "KEY-9")
class _SecondRenewalRefused(FrontEnd):
    """A lock can be renewed once; after that it is an invalid operation."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._renewed: set[str] = set()

    def renew(self, token: str) -> Steps[list[Any]]:
        stored = self.broker.locks.get(token)
        if token in self._renewed and stored is not None and stored.partition.up:
            yield HOP
            if stored.partition.holds(stored, token, self.clock.now) and self.broker.alive:
                raise Refused("invalid_operation", "a lock is renewed once")
        shown = yield from super().renew(token)
        self._renewed.add(token)
        return shown


@defect("second-flow-of-a-client-refused", "KEY-9", profile="solace")
class _SecondFlowRefused(FlowEnd):
    """A client that has a flow cannot bind another one."""

    def bind(self, connection: Connection, name: str, partition: int | None) -> Steps[None]:
        if any(flow.proc == connection.proc and flow.name != name for flow in self.assignments.flows):
            yield HOP
            raise Refused("invalid_operation", "a client has one flow")
        yield from super().bind(connection, name, partition)
