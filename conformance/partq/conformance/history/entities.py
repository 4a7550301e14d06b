"""What the names of entities say: which belong to which topic or queue. Nothing here knows what became of
them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from partq.conformance.history.record import Header, History, Record
from partq.model.profiles import Entity

_PART: Final = re.compile(
    r"(?P<whole>.+?)/(?:(?P<subscription>Subscriptions/[^/]+)|(?:\$Transfer/)?\$DeadLetterQueue)",
    re.IGNORECASE,
)


def whole_of(name: str) -> str | None:
    """The topic of a subscription, the queue or subscription of a dead-letter queue; None for others."""
    match = _PART.fullmatch(name)
    return None if match is None else match["whole"]


def topics_among(names: Iterable[str]) -> frozenset[str]:
    """Those of which one of the names is a subscription. Nothing can be received from a topic itself."""
    parts = (_PART.fullmatch(name) for name in names if "/" in name)
    return frozenset(part["whole"] for part in parts if part is not None and part["subscription"])


def entities_of(history: History) -> tuple[str, ...]:
    """The names of the history's entities: first those of the header, then in order of first appearance; one
    without a name where it has none."""
    named = dict.fromkeys((*history.header.entities, *(r.entity for r in history.records if r.entity)))
    return tuple(named) or ("",)


class ByEntity:
    """A history's records sorted by entity, once for all of them. ``sent``: the IDs of all messages that were
    sent to any. ``topics``: the entities that are topics."""

    def __init__(self, history: History) -> None:
        self.header = history.header
        self.records = history.records
        self.names = entities_of(history)
        self.topics = topics_among(self.names)
        self.sent = frozenset(m.id for r in history.records for m in r.args.get("messages", ()))
        self._places: dict[str, list[int]] = {}
        for place, record in enumerate(history.records):
            self._places.setdefault(record.entity, []).append(place)

    def of(self, name: str) -> tuple[Record, ...]:
        """The entity's records, and those that name none: they belong to every entity."""
        everywhere = self._places.get("", []) if name else []
        places = sorted((*self._places.get(name, ()), *everywhere))
        return tuple(self.records[place] for place in places)


def settings_of(header: Header, name: str) -> Entity | None:
    """What the header says of the entity, or of what it belongs to; None: nothing."""
    entity, whole = header.entities.get(name), whole_of(name) if "/" in name else None
    return entity if entity is not None or whole is None else settings_of(header, whole)
