"""Defects in what the key is, and in what is refused (KEY), set aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...clock import HOP, Steps
from ...errors import Refused, Unsure
from ...flowend import FlowEnd
from ...frontend import FrontEnd
from ...network import Connection
from ...partition import Partition
from ...rules import PartitionedRules
from ...store import Content
from ..misrouting import Misrouting
from ..registry import APART, BY_CHANCE, held_out

LATER = 3_000_000_000
"""ns after which what was refused is done all the same."""


@held_out("batch-forgets-its-session", "KEY-1", profile="azure-standard", also=APART)
class _BatchForgetsItsSession(Misrouting):
    """A batch of messages of a session is stored as if it had no key, outside of transactions."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        loose = txn is None and len(contents) > 1 and contents[0].session_id is not None
        return contents[0].id if loose else key


@held_out("one-front-end-reads-no-partition-keys", "KEY-2", also=APART)
class _OneFrontEndReadsNoPartitionKeys(Misrouting):
    """At one front end a message with nothing but a partition key goes by its own ID, outside of
    transactions."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        blind = self.broker.front_ends[-1] is self and contents[0].session_id is None
        return contents[0].id if blind and txn is None else key


@held_out("conflict-stored-later", "KEY-3")
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


@held_out("ids-of-three-compared", "KEY-5", profile="azure-standard")
class _IdsOfThreeCompared(PartitionedRules):
    """The IDs of a keyless batch of three messages or more are taken for keys, and it is refused."""

    def common_key(self, contents: Sequence[Content]) -> str | None:
        key = super().common_key(contents)
        if key is None and len(contents) > 2:
            raise Refused("invalid_operation", "a batch has one partition key")
        return key


@held_out("cut-off-batch-half-stored", "KEY-7")
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
                self.accept(partition, key, contents[:1])
            raise

    def accept(self, partition: Partition, key: str | None, contents: Sequence[Content]) -> None:
        self._stored.update(content.id for content in contents)
        super().accept(partition, key, contents)


@held_out("batch-goes-with-its-first", "KEY-8", profile="solace", also=(*APART, *BY_CHANCE[1:]))
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


@held_out("number-past-the-end-not-found", "KEY-9", profile="azure-flat")
class _NumberPastTheEndNotFound(FrontEnd):
    """A peek from a number on at which nothing is stored any more, and that is not zero, is refused."""

    def peek(self, connection: Connection, most: int, number: int | None) -> Steps[list[Any]]:
        shown = yield from super().peek(connection, most, number)
        if number and not shown and all(partition.up for partition in self.partitions):
            raise Refused("not_found", "no such number")
        return shown


@held_out("second-renewal-refused", "KEY-9")
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


@held_out("second-flow-of-a-client-refused", "KEY-9", profile="solace")
class _SecondFlowRefused(FlowEnd):
    """A client that has a flow cannot bind another one."""

    def bind(self, connection: Connection, name: str, partition: int | None) -> Steps[None]:
        if any(flow.proc == connection.proc and flow.name != name for flow in self.assignments.flows):
            yield HOP
            raise Refused("invalid_operation", "a client has one flow")
        yield from super().bind(connection, name, partition)
