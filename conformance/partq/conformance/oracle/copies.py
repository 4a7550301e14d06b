"""The messages that were sent under one ID: each has a name of its own (`messages.as_copy`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from partq.conformance.oracle.effects import Effect
from partq.model.messages import as_active, message_id, sent_of


def copies_of(effects: Iterable[Effect]) -> Mapping[str, frozenset[str]]:
    """Of each message ID that was sent several times the names of these messages."""
    found: dict[str, set[str]] = {}
    for effect in effects:
        for message in sent_of(effect.action.messages):
            found.setdefault(message_id(message.id), set()).add(as_active(message.id))
    return {id: frozenset(names) for id, names in found.items() if len(names) > 1}
