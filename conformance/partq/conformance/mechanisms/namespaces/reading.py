"""Namespaces in a history, and what exercises their rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from partq.conformance.facts.index import Facts
from partq.conformance.history import Header, Record
from partq.conformance.history.entities import whole_of
from partq.conformance.oracle.identity import Ambiguous
from partq.conformance.oracle.uses import Records, Use
from partq.conformance.screens.protocol import Exercise
from partq.model.operations import Outcome
from partq.model.profiles import Entity

_CREATES: Final = "create"
_ASKED: Final[Mapping[str, Mapping[str, type]]] = {
    _CREATES: {"name": str, "partitioned": bool},
    "delete": {"name": str},
}
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9._-]{0,48}[a-z0-9])?")
"""Names that every broker takes."""


def _uses(record: Record, end: int = 0) -> bool:
    return record.op in _ASKED


def _is_open(record: Record) -> str | None:
    if not _uses(record):
        return None
    settings: Mapping[str, Any] = record.args.get("settings", {})
    if {name: type(value) for name, value in settings.items()} != _ASKED[record.op]:
        return "another entity is created by its name and whether it is partitioned, and deleted by its name"
    name = settings["name"]
    if name != name.lower():
        return "whether case matters in the names of entities is not known"
    if _is_own(record):
        return "creating or deleting an entity while it is in use is not modelled"
    return None if _NAME.fullmatch(name) else "which names of entities a broker refuses is not known"


def _is_own(record: Record) -> bool:
    entity = record.entity.lower()
    return record.args["settings"]["name"] in ("", entity, whole_of(entity))


def _compared(header: Header, entity: Entity, records: Records) -> Records:
    """The records. Raises `Ambiguous` where what others create may count, too."""
    if len([name for name in header.entities if whole_of(name) is None]) > 1:
        raise Ambiguous("entities that are created beside several others are not modelled")
    return records


USE: Final = Use(
    uses=_uses,
    rule="ENT-1",
    what="entities that are created or deleted",
    matters=_uses,
    open=_is_open,
    compared=_compared,
)


def _created(facts: Facts, outcome: str) -> list[Record]:
    return [one for one in facts.of(_CREATES) if one.outcome == outcome]


def _plain(facts: Facts) -> int:
    """Each entity without partitions that was created beside the partitioned one."""
    asked = (one.args.get("settings", {}) for one in _created(facts, Outcome.OK))
    return sum(settings.get("partitioned") is False for settings in asked)


def _beyond(facts: Facts) -> int:
    """Each entity that was refused for a quota."""
    return sum(one.error == "quota" for one in _created(facts, Outcome.ERROR))


EXERCISED: Final[Mapping[str, Exercise]] = {
    "ENT-4": Exercise(_plain, (_CREATES,)),
    "ENT-5": Exercise(_beyond, (_CREATES,)),
}
