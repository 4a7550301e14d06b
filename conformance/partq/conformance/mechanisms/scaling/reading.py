"""Updates of the number of partitions in a history: what is judged of them, and what exercises their rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from partq.conformance.facts.index import Facts
from partq.conformance.history import Header, Record
from partq.conformance.oracle.effects import names_of
from partq.conformance.oracle.identity import Ambiguous
from partq.conformance.oracle.reading import PUNCTUAL
from partq.conformance.oracle.roles import RESUMES, UPDATES
from partq.conformance.oracle.uses import Records, Use
from partq.conformance.screens.protocol import Exercise
from partq.model.profiles import Entity, Profile, requirements_of

_COUNT: Final = "partitions"
_RULE: Final = "REB-17"

_MOST: Final = 1_000
"""So many partitions are followed."""


def _scales(record: Record) -> bool:
    return record.op == UPDATES and record.args.get("settings", {}).keys() == {_COUNT}


def _asked(records: Records) -> list[Any]:
    """The numbers of partitions that are asked for, without refused ones that are none, or too many."""
    asked = ((record, _count_of(record)) for record in records if _scales(record))
    return [count for record, count in asked if not record.refused or _is_count(count)]


def _count_of(update: Record) -> Any:
    return update.args["settings"][_COUNT]


def _is_count(count: Any) -> bool:
    return type(count) is int and 0 < count <= _MOST


def _names(records: Records) -> tuple[int, ...]:
    """The names of the partitions that the events show."""
    return names_of([record for record in records if record.is_env], True)


def _compared(header: Header, entity: Entity, records: Records) -> Records:
    """The records. Raises `Ambiguous` for what is not modelled of another number of partitions."""
    rules = requirements_of(header.profile)
    if rules.isdisjoint({_RULE, "MGT-1"}):
        raise Ambiguous("updates of entities are not modelled where the profile has none")
    if _RULE not in rules:
        return records
    if not all(map(_is_count, _asked(records))):
        raise Ambiguous(f"a number of partitions that is none, or above {_MOST:,}, is not modelled")
    if any(_goes_by_steps(header, entity, record, records) for record in records):
        raise Ambiguous("partitions that may come, or go, one after the other are not modelled")
    if any(record.op == RESUMES for record in records):
        raise Ambiguous("flows that come back where the number of partitions changes are not modelled")
    if _lowest(entity, records) is None:
        raise Ambiguous("which partition is the first one is not shown")
    return records


def _goes_by_steps(header: Header, entity: Entity, record: Record, records: Records) -> bool:
    """Whether an update may change partition after partition, so far apart that it shows."""
    if not _scales(record) or record.refused:
        return False
    most = max(abs(_count_of(record) - count) for count in (entity.partitions, *_asked(records)))
    return most > 1 and (record.ret is None or record.ret - record.call > max(header.lateness, PUNCTUAL))


def _lowest(entity: Entity, records: Records) -> int | None:
    """The name of the first partition, which is not deleted; None where events show some of them alone."""
    first = next(n for n, record in enumerate(records) if _scales(record))
    before = [record for record in records[:first] if record.call < records[first].call]
    own, names = _names(tuple(before)), _names(records)
    if not names or 0 in names:
        return 0
    if len(own) >= entity.partitions:
        return min(own)
    whole = max(names) - min(names) + 1 >= max((entity.partitions, *_asked(records)))
    return min(names) if whole else None


def _begins(family: Profile, entity: Entity, records: Records) -> Mapping[str, Any]:
    """The partitions by their numbers, those to come included, and one that a broker may add wrongly."""
    if not family.flows:
        return {}
    most, lowest = max((entity.partitions, *_asked(records))) + 1, _lowest(entity, records) or 0
    return {"most": most, "names": tuple(range(lowest, lowest + most))}


USE: Final = Use(
    uses=_scales,
    rule=_RULE,
    what="updates of the number of partitions",
    spreads=frozenset({_RULE}),
    compared=_compared,
    begins=_begins,
)


def _changed(facts: Facts) -> int:
    """Each update to another number of partitions."""
    count, last = 0, facts.entity.partitions
    for record in facts.of(UPDATES):
        if _scales(record) and record.ok:
            asked = _count_of(record)
            count, last = count + (asked != last), asked
    return count


EXERCISED: Final[Mapping[str, Exercise]] = {
    _RULE: Exercise(_changed, (UPDATES, "assignment")),
}
