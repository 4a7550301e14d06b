"""How large messages are, and how large they may be (ENT-7): pure functions, for the norm and for screens.

No source says what is counted of a message besides its body, nor whether a megabyte is 10⁶ bytes or 2²⁰. So a
size has a least and a most, and a limit, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .messages import Message, sent_of
from .profiles import Entity, Profile, requirements_of

MEGABYTE: Final = 1 << 20
"""The limit of an entity that is not said to have another one, in bytes."""

HEADERS: Final = 1_024
"""Of a message, and of a batch, no more bytes than these are neither body nor text of its sender."""


def limit_of(profile: Profile, entity: Entity) -> int | None:
    """The most bytes of a message, or a batch; None where no rule says it."""
    if "ENT-7" not in requirements_of(profile.name):
        return None
    return MEGABYTE if entity.max_message_size is None else entity.max_message_size


def least_of(message: Message) -> int:
    """The bytes that certainly count of a message."""
    return _bytes(message.body)


def most_of(messages: Sequence[Message]) -> int:
    """The bytes that may count of the messages of one send."""
    messages = sent_of(messages)
    return (HEADERS if len(messages) > 1 else 0) + sum(map(_with_headers, messages))


def exceeds(profile: Profile, entity: Entity, messages: Sequence[Message]) -> bool:
    """Whether the messages of one send are certainly too large: by their bodies alone."""
    limit = limit_of(profile, entity)
    return limit is not None and sum(map(least_of, sent_of(messages))) > limit


def may_be_over(profile: Profile, entity: Entity, messages: Sequence[Message]) -> bool:
    """Whether they may be too large, with all that may count."""
    limit = limit_of(profile, entity)
    if limit is None:
        return False
    return most_of(messages) * MEGABYTE > limit * 1_000_000


def _with_headers(message: Message) -> int:
    texts = (message.id, message.body, message.session_id or "", message.partition_key or "")
    return HEADERS + sum(map(_bytes, (*texts, *(text for pair in message.properties for text in pair))))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
