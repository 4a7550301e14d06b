"""Which counts of a get were read at rest.

At rest is what nothing changes any more (`_REST`): counts may lag behind, and no source says how far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import structs

from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.history import Header, Record
from partq.conformance.oracle.identity import late_cancels
from partq.conformance.oracle.roles import COMMITS
from partq.model.operations import CLOCK, OPS
from partq.model.profiles import SECOND, Entity, profile

Records = tuple[Record, ...]

GETS: Final = "get"
COUNTS: Final = ("active", "scheduled", "dead_lettered")
_UNDOES: Final = "rollback"

_REST: Final = 10 * SECOND
"""So long before it is called nothing else may have happened to an entity whose counts are compared."""


def at_rest(facts: Facts) -> list[Record]:
    """Its gets, as they are `compared`."""
    return [one for one in compared(facts.header, facts.entity, facts.records) if one.op == GETS]


def compared(header: Header, entity: Entity, records: Records) -> Records:
    """The records, in which a get shows those counts alone that were read at rest."""
    if not any(record.op == GETS for record in records):
        return records
    others = [record for record in records if _disturbs(record)]
    raced = _raced_since(records, header.skew_ns)
    family = profile(header.profile)
    lasting = entity.lock_duration if family.caching_front_ends and family.locks_expire else 0
    return tuple(
        _at_rest(one, others, header.skew_ns, lasting, raced) if one.op == GETS else one for one in records
    )


def _raced_since(records: Records, skew: int) -> int:
    """Since when a cancel may have met an activation, so that it may be counted (SCH-5). None did in a
    transaction that was rolled back, nor once its message had been received."""
    undone = {r.args["txn"] for r in records if r.op == _UNDOES and r.ok}
    undone -= {r.args["txn"] for r in records if r.op == COMMITS and not r.refused}
    came: dict[str | None, int] = {}
    for record in records:
        for shown in record.messages if OPS[record.op].delivers else ():
            came[shown.id] = min(record.end, came.get(shown.id, FOREVER))
    late = (cancel for cancel, id in late_cancels(records, skew) if cancel.call <= came.get(id, FOREVER))
    return min((cancel.call for cancel in late if cancel.args.get("txn") not in undone), default=FOREVER)


def _disturbs(record: Record) -> bool:
    """Whether it may change what is counted, or where it is."""
    spec = OPS[record.op]
    looks = spec.answers and not (spec.delivers or spec.locks or "messages" in spec.args)
    return not (record.op in (GETS, CLOCK) or spec.instant or looks)


def _at_rest(get: Record, others: Sequence[Record], skew: int, lasting: int, raced: int) -> Record:
    dropped = _unsure(get, others, skew, lasting)
    if raced <= get.end:
        dropped |= {"scheduled"}
    if dropped.isdisjoint(get.args):
        return get
    return structs.replace(get, args={name: value for name, value in get.args.items() if name not in dropped})


def _unsure(get: Record, others: Sequence[Record], skew: int, lasting: int) -> frozenset[str]:
    """The counts that nothing can be held against, whatever was cancelled. A front end may keep messages
    locked that it fetched for an earlier receive (RCV-5)."""
    before = [one for one in others if one.call <= get.end]
    if any(one.unknown or one.end + skew + _REST > get.call for one in before):
        return frozenset(COUNTS)
    received = [one.end for one in before if OPS[one.op].delivers]
    if received and max(received) + skew + lasting + _REST > get.call:
        return frozenset({"active"})
    return frozenset()
