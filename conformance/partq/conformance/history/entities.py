"""What the names of entities say: which belong to which topic or queue. Nothing here knows what became of
them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from msgspec import structs

from partq.conformance.history.record import Header, History, Record
from partq.model.operations import (
    CONNECTION_LOST,
    DEAD_LETTER,
    DEAD_LETTERS,
    DRAINED,
    FORWARDS_TO,
    LINK_LOST,
    OPS,
    Outcome,
)
from partq.model.profiles import Entity, profile

_OF_TRANSACTIONS: Final = frozenset(
    name for name, op in OPS.items() if "txn" in op.args and op.args["txn"].required
)
"""What begins and ends a transaction."""

_SHARED: Final = _OF_TRANSACTIONS | {
    name for name, op in OPS.items() if (op.env and name != DRAINED) or op.link
}
"""What a queue and its dead-letter queue share: faults and time, a client's connection, its transactions."""

_OF_ONE: Final = frozenset(name for name, op in OPS.items() if "partition" in op.args)
"""What concerns a partition, of one queue of a chain alone."""

_SETS: Final = frozenset(name for name, op in OPS.items() if "settings" in op.args)
"""What creates, changes or deletes an entity."""

_LOOKS: Final = frozenset(
    name
    for name, op in OPS.items()
    if (op.answers or op.tells) and not op.args.keys() & {"messages", "settings"}
)
"""What asks for messages, or how many there are."""

ELSEWHERE: Final = "shown elsewhere"
"""The argument of a send to a topic, as one subscription is read with it: its messages that others show, by
ID, each with when the first of them showed it and the IDs that were shown for it."""

_TRANSFER: Final = "/$transfer/"
_PART: Final = re.compile(
    r"(?P<whole>.+?)/(?:(?P<outlet>(?P<subscription>Subscriptions/[^/]+)|ForwardTo/[^/]+)"
    r"|(?:\$Transfer/)?\$DeadLetterQueue)",
    re.IGNORECASE,
)


def whole_of(name: str) -> str | None:
    """The topic of a subscription, the queue that forwards to one, the queue or subscription of a dead-letter
    queue; None for others."""
    match = _PART.fullmatch(name)
    return None if match is None else match["whole"]


def addressed(name: str, args: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The entity that a request to the one of that name is recorded with, and its other arguments."""
    if "entity" not in args:
        return name, args
    part = DEAD_LETTERS if args["entity"] == DEAD_LETTER else f"/{args['entity']}"
    return name + part, {key: value for key, value in args.items() if key != "entity"}


def asked(record: Record) -> Mapping[str, Any]:
    """The record's arguments, with which of the entities that belong together was asked."""
    if is_dead_letters(record.entity):
        beneath = _PART.fullmatch(whole_of(record.entity) or "")
        word = DEAD_LETTER if beneath is None else f"{beneath['outlet']}{DEAD_LETTERS}"
        return {**record.args, "entity": word}
    match = _PART.fullmatch(record.entity) if "/" in record.entity else None
    return record.args if match is None else {**record.args, "entity": match["outlet"]}


def is_dead_letters(name: str) -> bool:
    """Whether it is the name of a queue's, or a subscription's, dead-letter queue."""
    return "/" in name and name.lower().endswith(DEAD_LETTERS.lower()) and _TRANSFER not in name.lower()


def is_destination(name: str) -> bool:
    """Whether it is the name of a queue to which another one forwards, or of what belongs to it."""
    match = _PART.fullmatch(name) if "/" in name else None
    if match is None:
        return False
    return bool(match["outlet"] and not match["subscription"]) or is_destination(match["whole"])


def topics_among(names: Iterable[str]) -> frozenset[str]:
    """Those of which one of the names is a subscription. Nothing can be received from a topic itself."""
    parts = (_PART.fullmatch(name) for name in names if "/" in name)
    return frozenset(part["whole"] for part in parts if part is not None and part["subscription"])


def entities_of(history: History) -> tuple[str, ...]:
    """The names of the history's entities: first those of the header, then in order of first appearance; one
    without a name where it has none."""
    named = dict.fromkeys((*history.header.entities, *filter(None, [r.entity for r in history.records])))
    return tuple(named) or ("",)


class ByEntity:
    """A history's records sorted by entity, once for all of them. ``topics``: the entities that are topics.
    ``beside``: entity -> its dead-letter queue, where both are in the history: what moves from one to the
    other ties them. ``outlets``: entity -> the one whose settings say that what is sent there is received
    here. A settlement is its lock's entity's, and what strikes the one of them strikes the others.
    ``across``: each transaction of several entities, which share its begin and its end, with these.
    ``beside_it``: those that a client created or deleted. ``unlisted``: these, subscriptions that their topic
    is not said to have, and their dead-letter queues: nothing is judged of them."""

    def __init__(self, history: History) -> None:
        self.header = history.header
        self.records = history.records
        self.outlets = {
            f"{name}/{word.removesuffix(DEAD_LETTERS)}": name
            for name, one in history.header.entities.items()
            for word in one.outlets
        }
        spelled = {name.lower(): name for name in self.outlets}
        spelled |= {name: name for name in self.outlets}
        named = {name: spelled.get(name, spelled.get(name.lower(), name)) for name in entities_of(history)}
        self.names = tuple(dict.fromkeys((*named.values(), *self.outlets)))
        self.topics = topics_among(self.names)
        self.beside_it = frozenset(filter(None, map(other_entity, history.records)))
        self.unlisted = frozenset(filter(self._is_unlisted, self.names))
        listed = [name for name in self.names if name not in self.unlisted]
        ends = ((whole_of(name), name) for name in listed if is_dead_letters(name))
        self.beside = {whole: name for whole, name in ends if whole is not None and whole in self.names}
        self._places: dict[str, list[int]] = {}
        homes = _homes(history.records) if len(self.names) > 1 else {}
        own = [r.entity for r in history.records]
        if homes:
            own = [next((homes[t] for t in r.lock_tokens if t in homes), r.entity) for r in history.records]
        own = [named.get(entity, entity) for entity in own] if spelled else own
        partners, self.across = self._partners(), self._across(own) if len(self.names) > 1 else {}
        for place, (record, entity) in enumerate(zip(history.records, own, strict=True)):
            self._places.setdefault(entity, []).append(place)
            if record.op in _SHARED:
                for other in self._sharing(record, entity, partners.get(entity, ())):
                    self._places.setdefault(other, []).append(place)

    @property
    def components(self) -> tuple[str, ...]:
        """The entities but for dead-letter queues that are tied to theirs, and for topics with outlets."""
        apart = {*self.beside.values(), *self.topics.intersection(self.outlets.values())}
        return tuple(name for name in self.names if name not in apart)

    @cached_property
    def sent(self) -> frozenset[str]:
        """The IDs of all messages that were sent to any."""
        return frozenset(message.id for record in self.records for message in record.sent)

    def _sharing(self, record: Record, entity: str, partners: Iterable[str]) -> set[str]:
        """The others that share the record. ``partners``: those of its entity."""
        shares = {*partners}
        if record.op in _OF_ONE:
            shares = {one for one in shares if is_destination(one) == is_destination(entity)}
        if record.op in _OF_TRANSACTIONS and entity:
            shares.update(self.across.get(record.args["txn"], ()))
        return shares - {entity}

    def _is_unlisted(self, name: str) -> bool:
        if name.lower() in self.beside_it:
            return True
        part = None if name in self.outlets else _PART.fullmatch(name)
        if part is None:
            return False
        of_topic = part["outlet"] and part["whole"] in self.outlets.values()
        return bool(of_topic) or self._is_unlisted(part["whole"])

    def _across(self, own: Sequence[str]) -> dict[str, frozenset[str]]:
        """Each transaction of several entities that are not asked about together, with these. ``own``: the
        entity of each record."""
        copies = {name: whole for name, whole in self.outlets.items() if not is_destination(name)}
        apart = {**copies, **{dead: whole for whole, dead in self.beside.items()}}
        found: dict[str, set[str]] = {}
        for record, entity in zip(self.records, own, strict=True):
            if "txn" in record.args and entity:
                found.setdefault(record.args["txn"], set()).add(entity)
        return {
            txn: frozenset(names)
            for txn, names in found.items()
            if len({apart.get(name, name) for name in names}) > 1
        }

    def _partners(self) -> dict[str, list[str]]:
        """By entity those that share with it what all of them share."""
        groups = [[name, other] for name, other in self.beside.items()]
        for whole in dict.fromkeys(self.outlets.values()):
            groups.append([whole, *(name for name, one in self.outlets.items() if one == whole)])
        found: dict[str, list[str]] = {}
        for group in groups:
            for name in group:
                found.setdefault(name, []).extend(one for one in group if one != name)
        return found

    def tied(self, name: str) -> tuple[Record, ...]:
        """The records of the entity and, if there is one, of its dead-letter queue. That one was found empty
        says nothing where what was in it may have gone unseen. And what was asked of the entity whose
        messages it gets, with the losses of connections that those beside it show."""
        if name not in self.beside and name not in self.outlets:
            return self.of(name)
        dead, places = self.beside.get(name), {*self._of(name)}
        if dead is not None:
            places.update(self._of(dead))
        every = [*self._with_whole(places, name)] if name in self.outlets else self._at(places)
        taken = any(r.entity == dead and r.deletes and r.unknown for r in every)
        return tuple(r for r in every if not (taken and r.entity == dead and r.op == DRAINED))

    def _at(self, places: Iterable[int]) -> list[Record]:
        return [self.records[place] for place in sorted(places)]

    def _with_whole(self, own: set[int], name: str) -> Iterator[Record]:
        whole = self.outlets[name]
        mine = own.union(self._places.get(whole, ()), self._on_the_way(name))
        beside = {
            n for other, one in self.outlets.items() if one == whole for n in self._places.get(other, ())
        }
        shown = self._shown(beside - mine) if whole in self.topics else {}
        for record, place in ((self.records[n], n) for n in sorted(mine | beside)):
            if sighted := {one.id: shown[one.id] for one in record.sent if one.id in shown}:
                record = structs.replace(record, args={**record.args, ELSEWHERE: sighted})
            if place not in mine and record.error == CONNECTION_LOST:
                yield structs.replace(record, op=LINK_LOST, args={}, outcome=Outcome.UNKNOWN, messages=())
            elif place in mine and (place in own or record.op != DRAINED):
                yield record

    def _shown(self, places: Iterable[int]) -> dict[str, tuple[int, tuple[str, ...]]]:
        """The messages that these records show: by when, and with which IDs."""
        found: dict[str, tuple[int, tuple[str, ...]]] = {}
        for record in self._at(places):
            for one in record.messages if OPS[record.op].answers else ():
                end, ids = found.get(one.id, (record.end, ()))
                ids = ids if one.message_id is None else (*ids, one.message_id)
                found[one.id] = min(end, record.end), ids
        return found

    def _on_the_way(self, name: str) -> Iterator[int]:
        """What concerns a queue to which others forward: all that is asked of the subscription that forwards,
        and outages of the queues in between."""
        whole = self.outlets[name]
        entity = self.header.entities[whole] if is_destination(name) else Entity()
        chain = {f"{whole}/{FORWARDS_TO}{one}".lower() for one in entity.chain} - {name.lower()}
        for other, places in self._places.items():
            if entity.source and other.lower() == f"{whole}/{entity.source}".lower():
                yield from places
            elif other.lower() in chain:
                yield from (n for n in places if "partition" in OPS[self.records[n].op].args)

    def of(self, name: str) -> tuple[Record, ...]:
        """The entity's records, and those that name none: they belong to every entity."""
        return tuple(self._at(self._of(name)))

    @property
    def passing(self) -> frozenset[str]:
        """The entities that keep no messages: topics, and queues that forward."""
        return self.topics.union(self.outlets.values())

    def telling(self, name: str) -> tuple[Record, ...]:
        """The records of `of`, of an entity that keeps no messages without those that ask for some."""
        records = self.of(name)
        if name not in self.passing:
            return records
        return tuple(r for r in records if r.op not in _LOOKS and not r.lock_tokens)

    def _of(self, name: str) -> list[int]:
        everywhere = self._places.get("", []) if name else []
        return sorted((*self._places.get(name, ()), *everywhere))


def other_entity(record: Record) -> str | None:
    """The name of the other entity, in small letters, that the record creates or deletes; None: none."""
    if record.op not in _SETS:
        return None
    settings = record.args.get("settings")
    name = settings.get("name") if isinstance(settings, Mapping) else None
    return name.lower() if isinstance(name, str) and name.lower() != record.entity.lower() else None


def _homes(records: Iterable[Record]) -> dict[str, str]:
    """Of each lock that a receive of one entity alone gave that entity."""
    givers: dict[str, set[str]] = {}
    for record in records:
        for shown in record.messages if OPS[record.op].delivers else ():
            if shown.lock is not None:
                givers.setdefault(shown.lock, set()).add(record.entity)
    return {lock: next(iter(names)) for lock, names in givers.items() if len(names) == 1}


def entity_of(header: Header, name: str) -> Entity:
    """The entity's settings: what the header says of it, otherwise what is usual for the profile."""
    return settings_of(header, name) or profile(header.profile).default_entity


def settings_of(header: Header, name: str) -> Entity | None:
    """What the header says of the entity, or of what it belongs to; None: nothing."""
    entity, whole = header.entities.get(name), whole_of(name) if "/" in name else None
    if entity is not None or whole is None:
        return entity
    entity = settings_of(header, whole)
    return entity.outlet(name[len(whole) + 1 :]) if entity is not None and entity.outlets else entity
