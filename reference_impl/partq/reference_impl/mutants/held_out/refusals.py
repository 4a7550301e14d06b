"""Defects in what is refused for good although it is allowed (KEY-9), set aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...clock import HOP, Steps
from ...errors import Refused
from ...flowend import FlowEnd
from ...frontend import FrontEnd
from ...network import Connection
from ...store import Content
from ..registry import held_out

LONGEST = 128
"""Characters that a key may have."""

MOST_PEEKED = 50
"""So many messages a careless broker lets clients ask for."""


@held_out("large-peeks-refused", "KEY-9")
class _LargePeeksRefused(FrontEnd):
    """A peek that asks for more than fifty messages is refused as invalid."""

    def peek(self, connection: Connection, most: int, number: int | None) -> Steps[list[Any]]:
        if most > MOST_PEEKED and self.broker.alive and all(partition.up for partition in self.partitions):
            yield HOP
            raise Refused("invalid_operation", "too many messages")
        return (yield from super().peek(connection, most, number))


@held_out("foreign-properties-refused", "KEY-9", profile="azure-flat")
class _ForeignPropertiesRefused(FrontEnd):
    """A send of a user property that is not all ASCII is refused as invalid, outside of transactions."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        properties = (text for content in contents for pair in content.properties for text in pair)
        if txn is None and self.broker.alive and not all(map(str.isascii, properties)):
            yield HOP
            raise Refused("invalid_operation", "a property is not ASCII")
        yield from super().send(contents, txn, timeout)


@held_out("longest-key-refused", "KEY-9", profile="azure-standard")
class _LongestKeyRefused(FrontEnd):
    """A key of the greatest length that is allowed is refused as invalid, outside of transactions."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        key = self.broker.rules.common_key(contents) or ""
        if txn is None and self.broker.alive and len(key) == LONGEST:
            yield HOP
            raise Refused("invalid_operation", "the key is too long")
        yield from super().send(contents, txn, timeout)


@held_out("one-transaction-at-each-front-end", "KEY-9")
class _OneTransactionAtEachFrontEnd(FrontEnd):
    """A transaction cannot be begun while another one is open at the front end."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._begun = ""

    def begin(self, name: str) -> Steps[None]:
        if self._begun in self.broker.transactions and self.broker.alive:
            yield HOP
            raise Refused("invalid_operation", "a transaction is open")
        yield from super().begin(name)
        self._begun = name


@held_out("bind-after-unbind-refused", "KEY-9", profile="solace")
class _BindAfterUnbindRefused(FlowEnd):
    """The first bind of a client after an unbind is refused as invalid."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._unbound: set[str] = set()

    def unbind(self, connection: Connection, name: str) -> Steps[None]:
        yield from super().unbind(connection, name)
        self._unbound.add(connection.proc)

    def bind(self, connection: Connection, name: str, partition: int | None) -> Steps[None]:
        if connection.proc in self._unbound and self.broker.alive and partition is None:
            self._unbound.remove(connection.proc)
            yield HOP
            raise Refused("invalid_operation", "the flow was closed")
        yield from super().bind(connection, name, partition)
