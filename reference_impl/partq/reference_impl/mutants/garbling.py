"""Messages as they come out of a store that garbles them. No mutant is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..store import Content


@dataclass(frozen=True)
class Garbled:
    """What became of a message."""

    id: str
    body: str
    session_id: str | None
    partition_key: str | None
    properties: tuple[tuple[str, str], ...]
    scheduled_at: int | None


def garbled(content: Content, **changed: Any) -> Garbled:
    """The message with other values in the fields named."""
    fields = {name: getattr(content, name) for name in Garbled.__dataclass_fields__}
    return Garbled(**{**fields, **changed})
