"""The mechanisms that a history uses. It cannot break a rule of one that it does not use, and is not judged
where the profile is silent about one that it uses. The TLA+ specification follows no sends to which one
matters. How a mechanism is used its `reading` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

from partq.conformance.history import Header, History, Record
from partq.conformance.of_mechanisms import given
from partq.model.configuration import Config
from partq.model.profiles import Entity, Profile, requirements_of
from partq.model.requirements import catalogue

Records = tuple[Record, ...]


class Use(NamedTuple):
    """``uses``: whether a record makes use of the mechanism. ``rule``: without it the profile is silent, and
    nothing is known of what such a record does, if it ``matters`` in a history that ends then, ns.
    ``what``: the messages that make use of it, in words. ``spreads``: the rules which, waived, let what an
    excerpt leaves out matter to what is left (`excerpts`). ``timed``: what it does runs from enqueued
    times. ``chosen``: whether an entity makes use of it by its settings, whatever is asked of it.
    ``alone``: how it meets what else an entity may choose is not modelled, but for the mechanisms that it
    ``meets``.
    ``asked``: of an entity that has not chosen it nothing is known of what such a record does. ``whole``:
    there are no excerpts of the long history of an entity that has, since they lack what came before.
    ``tells_apart``: the records of such an entity with a name of its own for each message, where times of
    different clients may differ by so many ns; raises `Ambiguous`. ``compared``: the records of a history,
    without what their answers say that nothing can be held against, and with what others tell of them.
    ``wrong``: what no state of the model can show, by names of births: the rule, the record, and why.
    ``open``: why nothing is known of what such a record does, if so. ``begins``: with what the model begins
    where it is used (`state.initial`)."""

    uses: Callable[[Record], bool]
    rule: str
    what: str
    matters: Callable[[Record, int], bool] = lambda record, end: False
    spreads: frozenset[str] = frozenset()
    timed: bool = False
    chosen: Callable[[Entity], bool] = lambda entity: False
    alone: bool = False
    meets: frozenset[str] = frozenset()
    asked: bool = False
    whole: bool = False
    tells_apart: Callable[[Entity, Records, int], Records] = lambda entity, records, skew: records
    open: Callable[[Record], str | None] | None = None
    compared: Callable[[Header, Entity, Records], Records] | None = None
    wrong: Callable[[Config, Records], tuple[str, int, str] | None] | None = None
    begins: Callable[[Profile, Entity, Records], Mapping[str, Any]] | None = None


@cache
def uses() -> Mapping[str, Use]:
    """Mechanism -> how it is used."""
    return given("reading", "USE")


def unmet(history: History) -> frozenset[str]:
    """The rules that the history cannot break: those of mechanisms that nothing in it uses."""
    entities, records = history.header.entities.values(), history.records
    used = {
        mechanism
        for mechanism, one in uses().items()
        if any(map(one.chosen, entities)) or any(map(one.uses, records))
    }
    unused = uses().keys() - used
    return frozenset(id for id, one in catalogue().items() if one.mechanism in unused)


def runs_from_enqueued_times(records: Sequence[Record]) -> bool:
    """Whether enqueued times matter to what the records use, shown or not."""
    return any(any(map(one.uses, records)) for one in uses().values() if one.timed)


def has_excerpts(entity: Entity) -> bool:
    """Whether there are excerpts of a long history of the entity."""
    return not any(one.whole and one.chosen(entity) for one in uses().values())


def told_apart(header: Header, entity: Entity, records: Records) -> Records:
    """The records with names of their own for messages that what the entity chooses may confuse, and with
    those answers alone that are to be compared. Raises `Ambiguous`."""
    records = compared(header, entity, records)
    for one in uses().values():
        if one.chosen(entity):
            records = one.tells_apart(entity, records, header.skew_ns)
    return records


def compared(header: Header, entity: Entity, records: Records) -> Records:
    """The records with those answers alone that are to be compared."""
    for one in uses().values():
        if one.compared is not None and any(map(one.uses, records)):
            records = one.compared(header, entity, records)
    return records


def begins(family: Profile, entity: Entity, records: Records) -> dict[str, Any]:
    """With what the model begins, by what the records of an entity use."""
    found: dict[str, Any] = {}
    for one in uses().values():
        if one.begins is not None and any(map(one.uses, records)):
            found |= one.begins(family, entity, records)
    return found


def wrong(cfg: Config, records: Records) -> tuple[str, int, str] | None:
    """What the records of an entity show that no state can: the rule, the record, and why."""
    for one in uses().values():
        if one.wrong is not None and any(map(one.uses, records)) and (found := one.wrong(cfg, records)):
            return found
    return None


def not_modelled(header: Header, records: Sequence[Record], entity: Entity) -> str | None:
    """What the records do, or their entity has, of a mechanism that the profile is silent about, if any."""
    for one in uses().values():
        if one.asked and not one.chosen(entity) and any(map(one.uses, records)):
            return f"{one.what} are not modelled where the entity is not said to have them"
    for two in combinations((name for name, one in uses().items() if one.chosen(entity)), 2):
        if not _meet(*two):
            return f"{' and '.join(uses()[name].what for name in two)} are not modelled together"
    known = [one.open for one in uses().values() if one.open is not None]
    if why := next((why for record in records for is_open in known if (why := is_open(record))), None):
        return why
    silent = [one for one in uses().values() if one.rule not in requirements_of(header.profile)]
    end = end_of(header, records) if silent else 0
    used = (
        one.what
        for one in silent
        if one.chosen(entity) or any(one.matters(record, end) for record in records)
    )
    return next((f"{what} are not modelled where the profile has none" for what in used), None)


def _meet(one: str, other: str) -> bool:
    """Whether it is modelled how the two mechanisms meet, where an entity chooses both."""
    known = other in uses()[one].meets or one in uses()[other].meets
    return known or not (uses()[one].alone or uses()[other].alone)


def end_of(header: Header, records: Sequence[Record]) -> int:
    """The latest time, ns, that the broker's clock may have shown within these records."""
    return max((r.call if r.ret is None else r.ret for r in records), default=0) + header.skew_ns
