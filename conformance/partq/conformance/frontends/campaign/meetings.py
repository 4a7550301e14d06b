"""Which mechanisms met: in one message, or, of those that are about no message, in an operation after what
others did. A campaign counts each pair, so that a pair that programs never bring together can be seen. What
met in an operation, `combinations` says. Nothing is judged here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from itertools import combinations
from typing import Final

from partq.conformance.history import History, Record
from partq.conformance.history.entities import entity_of, is_dead_letters, is_destination
from partq.conformance.oracle.identity import numbers_named
from partq.conformance.oracle.uses import uses
from partq.model.conditions import STRIKES
from partq.model.operations import DRAINER, ENV, SUBSCRIPTION
from partq.model.profiles import Entity, requirements_of

_Used = tuple[frozenset[str], str]
"""What a record makes use of, and the mechanism that it is of if it is about no message."""

SENT_TWICE: Final = "sent twice"
FAULT: Final = "fault"
"""Of a message whose ID is sent again, and of one about which something is asked after a fault."""

MARKS: Final[Mapping[str, Callable[[Record, Entity], bool]]] = {
    "batch": lambda record, entity: len(record.sent) > 1,
    "capacity": lambda record, entity: entity.max_size is not None and any(one.body for one in record.sent),
    "dead letters": lambda record, entity: is_dead_letters(record.entity),
    "forwarding": lambda record, entity: is_destination(record.entity),
    "topics": lambda record, entity: f"/{SUBSCRIPTION}" in record.entity,
    "transaction": lambda record, entity: "txn" in record.args,
}
"""What a record makes use of by its entity or its arguments, and not by a mechanism's operation."""

ABOUT_NO_MESSAGE: Final = ("management", "namespaces")
"""The mechanisms whose operations name and show no message: each meets what was done before it. What creates
an entity is the latter's."""

OTHERWISE: Final = frozenset({"duplicates", "transactions", "resuming", "scaling", *MARKS, *ABOUT_NO_MESSAGE})
"""The mechanisms that are not told by operations on messages: `SENT_TWICE` and the transaction are marks, and
flows come back, and entities are scaled, where nothing else of these is."""

RULES: Final[Mapping[str, str]] = {
    "dead letters": "RCV-9",
    "transaction": "TXN-5",
    SENT_TWICE: "DUP-1",
    "capacity": "ENT-6",
    "forwarding": "FWD-1",
    "management": "MGT-1",
    "namespaces": "ENT-1",
    "topics": "TOPIC-1",
}
"""Without which rule a profile has none of it."""


_ALONE: Final = "settings that are not modelled together"
_ON_IT: Final = "what a topic, or a queue that forwards, is asked besides sends is not modelled"
_OF_BOTH: Final[Mapping[str, str]] = {
    "capacity": _ALONE,
    **dict.fromkeys(("deferral", *ABOUT_NO_MESSAGE), _ON_IT),
}
DECLINED: Final[Mapping[str, Mapping[str, str]]] = {
    "topics": {**_OF_BOTH, "sessions": _ALONE},
    "forwarding": _OF_BOTH,
}
"""What the judge declines, and why: no programs bring these pairs together."""


def declined() -> Mapping[str, str]:
    """Pair -> why no program brings it together."""
    return {pair(one, other): why for one, others in DECLINED.items() for other, why in others.items()}


def names(profile: str) -> tuple[str, ...]:
    """What may meet in a message of the profile, or after it, in alphabetical order."""
    rules = requirements_of(profile)
    needs = {**{name: use.rule for name, use in uses().items() if name not in OTHERWISE}, **RULES}
    return tuple(sorted(["batch", FAULT, *(name for name, rule in needs.items() if rule in rules)]))


@cache
def pair(one: str, other: str) -> str:
    """The pair's name."""
    return " × ".join(sorted((one, other)))


def met(history: History) -> Counter[str]:
    """Pair -> in how many messages both met, by their IDs, or in how many operations about no message: these
    meet what was done before. A drain's operations do not count."""
    marks: dict[str, set[str]] = {}
    after: Counter[str] = Counter()
    before, sent, struck = set[str](), set[str](), set[str]()
    held, numbered = dict[str, str](), dict[int, str]()
    used_by = _used_by(history)
    for record in history.records:
        if record.proc == ENV and record.op in STRIKES:
            before.add(FAULT)
            struck |= sent
        if record.proc in (ENV, DRAINER):
            continue
        mine, (used, own) = {message.id for message in record.sent}, used_by(record)
        again = sent & mine
        for id in _named(record, held, numbered).union(mine) if record.messages or not mine else mine:
            mark = marks.setdefault(id, set())
            mark |= used
            if id in struck:
                mark.add(FAULT)
            if id in again:
                mark.add(SENT_TWICE)
        if own:
            after.update(pair(own, other) for other in sorted(before - {own}))
            before.add(own)
        before |= used
        if again:
            before.add(SENT_TWICE)
        sent |= mine
    for found, times in Counter(map(frozenset, marks.values())).items():
        for two in combinations(sorted(found), 2):
            after[pair(*two)] += times
    return after


def _named(record: Record, held: dict[str, str], numbered: dict[int, str]) -> set[str]:
    """The messages that the record shows, or names by a lock or a number. ``held``, ``numbered``: which
    message each of these is of, to which is added what it shows."""
    found = {shown.id for shown in record.messages}
    for shown in record.messages:
        if shown.lock is not None:
            held[shown.lock] = shown.id
        if shown.seq is not None:
            numbered[shown.seq] = shown.id
    found.update(held[token] for token in record.lock_tokens if token in held)
    found.update(numbered[seq] for seq in numbers_named(record) if seq in numbered)
    return found


def _used_by(history: History) -> Callable[[Record], _Used]:
    """What a record of the history uses. Where it sends nothing, that goes by its operation, its entity and
    which arguments it has."""
    known: dict[tuple[str, ...], _Used] = {}
    entities: dict[str, Entity] = {}

    def used_by(record: Record) -> _Used:
        name = record.entity
        like = (record.op, name, *record.args)
        if like in known:
            return known[like]
        if name not in entities:
            entities[name] = entity_of(history.header, name)
        used = _used(record, entities[name])
        if not record.sent:
            known[like] = used
        return used

    return used_by


def _used(record: Record, entity: Entity) -> _Used:
    about_none = [name for name in ABOUT_NO_MESSAGE if not record.sent and uses()[name].uses(record)]
    used = {name for name, is_used in _by_operation() if is_used(record)}
    used |= {name for name, is_marked in MARKS.items() if is_marked(record, entity)}
    return frozenset(used), about_none[-1] if about_none else ""


@cache
def _by_operation() -> tuple[tuple[str, Callable[[Record], bool]], ...]:
    return tuple((name, use.uses) for name, use in uses().items() if name not in OTHERWISE)
