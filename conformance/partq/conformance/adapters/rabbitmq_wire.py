"""RabbitMQ: what a message looks like in AMQP 0-9-1, and what has to be done to pika by hand.

Functions without state; who calls them when is `rabbitmq_client.py`.
"""

from __future__ import annotations

import socket
import struct
import uuid
from collections.abc import Mapping
from typing import Any, Final

from partq.model.messages import Delivery, KeyRule, Message, effective_key

HASH_HEADER: Final = "partq-key"
"""What the exchange hashes."""

HEADERS: Final = ("id", "session_id", "partition_key")


def close_only(channel: Any) -> None:
    """Close a channel and no more: pika on its own cancels each consumer first (see `rabbitmq_client`)."""
    channel._cancel_all_consumers = lambda: None
    channel._impl.basic_cancel = lambda consumer_tag: None
    channel.close()


def cut(connection: Any, reason: Exception) -> None:
    """End the connection's socket by a reset, without a word of AMQP; `AttributeError` if pika hides it."""
    stream = connection._impl
    held = stream._transport._sock
    held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream._terminate_stream(reason)
    held.close()


def ack(channel: Any, number: int) -> None:
    """Delete the message."""
    channel.basic_ack(number)


def nack(channel: Any, number: int) -> None:
    """Requeue the message."""
    channel.basic_nack(number, requeue=True)


def reject(channel: Any, number: int) -> None:
    """Requeue the message, the older way."""
    channel.basic_reject(number, requeue=True)


def headers(message: Message) -> dict[str, Any]:
    """All of the message but its body, and what the exchange hashes: the key, or without one anything."""
    found: dict[str, Any] = {
        name: getattr(message, name) for name in HEADERS if getattr(message, name) is not None
    }
    if message.properties:
        found["properties"] = [text for pair in message.properties for text in pair]
    key = effective_key(message, KeyRule.SERVICE_BUS)
    found[HASH_HEADER] = uuid.uuid4().hex if key is None else key
    return found


def shown(index: int, lock: str, redelivered: bool, found: Mapping[str, Any], body: bytes) -> Delivery:
    """The message as the server shows it."""
    texts = found.get("properties", ())
    return Delivery(
        id=found["id"],
        body=body.decode(),
        partition=index,
        delivery_count=_count(found.get("x-delivery-count")),
        lock=lock,
        session_id=found.get("session_id"),
        partition_key=found.get("partition_key"),
        properties=tuple(zip(texts[::2], texts[1::2], strict=True)),
        redelivered=redelivered,
    )


def _count(value: int | None) -> int | None:
    return None if value is None else int(value)
