"""The messages of one ID: each has a name of its own (`messages.as_copy`, `messages.as_made`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from partq.conformance.oracle.effects import Effect
from partq.model.messages import Message, as_active, message_id, sent_of


def copies_of(effects: Iterable[Effect]) -> Mapping[str, frozenset[str]]:
    """Of each message ID that several messages bear the names of these."""
    return _named(message for effect in effects for message in effect.action.messages)


def sent_again(effects: Iterable[Effect]) -> Mapping[str, frozenset[str]]:
    """Of each that was sent several times."""
    return _named(message for effect in effects for message in sent_of(effect.action.messages))


def _named(messages: Iterable[Message]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for message in messages:
        found.setdefault(message_id(message.id), set()).add(as_active(message.id))
    return {id: frozenset(names) for id, names in found.items() if len(names) > 1}
