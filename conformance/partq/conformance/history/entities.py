"""What the names of entities say: which belong to which topic or queue. Nothing here knows what became of
them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from partq.conformance.history.record import Header
from partq.model.profiles import Entity

_PART: Final = re.compile(
    r"(?P<whole>.+?)/(?:(?P<subscription>Subscriptions/[^/]+)|(?:\$Transfer/)?\$DeadLetterQueue)",
    re.IGNORECASE,
)


def whole_of(name: str) -> str | None:
    """The topic of a subscription, the queue or subscription of a dead-letter queue; None for others."""
    match = _PART.fullmatch(name)
    return None if match is None else match["whole"]


def is_topic(name: str, names: Iterable[str]) -> bool:
    """Whether one of the names is a subscription of it. Nothing can be received from a topic itself."""
    parts = (_PART.fullmatch(other) for other in names)
    return any(part is not None and part["subscription"] and part["whole"] == name for part in parts)


def settings_of(header: Header, name: str) -> Entity | None:
    """What the header says of the entity, or of what it belongs to; None: nothing."""
    entity, whole = header.entities.get(name), whole_of(name) if "/" in name else None
    return entity if entity is not None or whole is None else settings_of(header, whole)
