"""Defects planted in the adapters of examples/: one for each mechanism, put before either client or broker.

What is done wrong depends on the message alone, so that a defect shows itself in every run.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from partq.conformance.adapters import Broker, Client
from partq.model.family import Entity
from partq.model.messages import Message

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from nats_jetstream import NatsJetStream
from redis_streams import RedisStreams


def _chosen(message: str) -> bool:
    """One message of four."""
    return zlib.crc32(message.encode()) % 4 == 0


class Loses(Client):
    """Says that it has sent what it has not."""

    def send(self, message: Message, **options: Any) -> None:
        if not _chosen(message.id):
            super().send(message, **options)


class Duplicates(Client):
    """Sends twice."""

    def send(self, message: Message, **options: Any) -> None:
        super().send(message, **options)
        if _chosen(message.id):
            super().send(message, **options)


class Forgets(Client):
    """Says that it has completed what it has not."""

    def complete(self, locks: Sequence[str], **options: Any) -> None:
        pass


class Delays(Client):
    """Stores a message after the next one, though it said before that it had."""

    late: Message | None = None

    def send(self, message: Message, **options: Any) -> None:
        late, self.late = self.late, None
        if late is None and _chosen(message.id):
            self.late = message
            return
        super().send(message, **options)
        if late is not None:
            super().send(late, **options)

    def close(self) -> None:
        if self.late is not None:
            super().send(self.late)
        super().close()


class Scatters(Client):
    """Sends messages of a key to several partitions."""

    def route(self, message: Message) -> Any:
        return super().route(replace(message, session_id=None, partition_key=message.id))  # type: ignore[misc]


class Unlocks(Broker):
    """Locks messages for a fifth of the time that it states."""

    def open(self, entity: Entity) -> Entity | None:
        answer = super().open(replace(entity, lock_duration=entity.lock_duration // 5))
        return replace(answer or entity, lock_duration=entity.lock_duration)


def planted(defect: type[Client] | type[Broker], broker: type[Broker]) -> type[Broker]:
    """The broker with the defect."""
    name = f"{defect.__name__}{broker.__name__}"
    if issubclass(defect, Broker):
        return type(name, (defect, broker), {})
    return type(name, (broker,), {"client_class": type(name, (defect, broker.client_class), {})})


BROKERS = (NatsJetStream, RedisStreams)
