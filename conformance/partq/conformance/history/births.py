"""Messages of one ID that was sent more than once: which send does a message come from that is shown?

A client that sends again, or counts from 1 after it started again, gives several messages one ID. What tells
them apart: their bodies and keys, that a send was refused, or not called yet, and the number with which a
message is shown each time. Where that is enough for all that is shown of an ID, each send gets a name of its
own: ``m``, ``m~2`` …; otherwise the ID is left as it is. Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from msgspec import structs

from partq.conformance.history.entities import settings_of
from partq.conformance.history.record import Header, History, Record
from partq.conformance.history.transactions import transactions_apart
from partq.model.grouping import grouped
from partq.model.messages import Delivery, Message, is_shown_as


class Place(NamedTuple):
    """A message by its record's place in the history and its own place there, as sent or as shown."""

    record: int
    sent: bool
    nth: int


class Born(NamedTuple):
    """One of the sends of an ID."""

    place: Place
    record: Record
    message: Message


class Shown(NamedTuple):
    """One appearance of it."""

    place: Place
    record: Record
    delivery: Delivery


def told_apart(history: History) -> History:
    """The history in which each send of an ID has a name of its own, as far as what is shown tells, and each
    transaction."""
    history = transactions_apart(history)
    again = _sent_again(history)
    if not again:
        return history
    taken = {message.id for record in history.records for message in record.sent}
    names: dict[Place, str] = {}
    shown = _appearances(history, again)
    for id, sends in again.items():
        names |= _names(id, sends, shown[id], history.header, taken)
    records = tuple(_renamed(n, record, names) for n, record in enumerate(history.records))
    return replace(history, records=records)


def _sent_again(history: History) -> dict[str, list[Born]]:
    """The sends of each ID of which there are several."""
    found = grouped(
        (message.id, Born(Place(n, True, nth), record, message))
        for n, record in enumerate(history.records)
        for nth, message in enumerate(record.sent)
    )
    return {id: sends for id, sends in found.items() if len(sends) > 1}


def _appearances(history: History, ids: Iterable[str]) -> dict[str, list[Shown]]:
    """How each of these IDs is shown."""
    found: dict[str, list[Shown]] = {id: [] for id in ids}
    for n, record in enumerate(history.records):
        for nth, delivery in enumerate(record.messages):
            if delivery.id in found:
                found[delivery.id].append(Shown(Place(n, False, nth), record, delivery))
    return found


def _names(
    id: str, sends: Sequence[Born], shown: Sequence[Shown], header: Header, taken: set[str]
) -> dict[Place, str]:
    """What each send and each appearance is called; nothing where what is shown does not tell."""
    origins = _origins(sends, shown, header) if _can_be_told(sends, shown, header) else None
    if origins is None:
        return {}
    names = {sends[0].place: id}
    for send in sends[1:]:
        names[send.place] = next(name for n in count(2) if (name := f"{id}~{n}") not in taken)
        taken.add(names[send.place])
    return names | {place: names[send.place] for place, send in origins.items()}


def _can_be_told(sends: Sequence[Born], shown: Sequence[Shown], header: Header) -> bool:
    """Whether all happened to one entity, which keeps each of them under its first number."""
    entities = {record.entity for _, record, _ in (*sends, *shown)}
    if len(entities) > 1 or any(send.message.scheduled_at is not None for send in sends):
        return False
    entity = settings_of(header, next(iter(entities)))
    return entity is None or not entity.ids_count


def _origins(sends: Sequence[Born], shown: Sequence[Shown], header: Header) -> dict[Place, Born] | None:
    """Of each appearance the one send that it can come from; None where there is none, or several."""
    groups = grouped((_number(one), one) for one in shown)
    left = {
        number: [send for send in sends if all(_fits(send, one, header.skew_ns) for one in group)]
        for number, group in groups.items()
    }
    accepted = {
        number: [send for send in found if not send.record.refused] or found for number, found in left.items()
    }
    if not _eliminated(accepted):
        return None
    return {one.place: accepted[number][0] for number, group in groups.items() for one in group}


def _number(one: Shown) -> tuple[object, ...]:
    """What tells whether two appearances are the same message: partition and number, or nothing."""
    shown = one.delivery
    return one.place if shown.seq is None else (shown.partition, shown.seq)


def _fits(send: Born, one: Shown, skew: int) -> bool:
    """Whether it may be the message of this send that is shown."""
    called = one.record.ret is None or send.record.call <= one.record.ret + skew
    return called and is_shown_as(send.message, one.delivery)


def _eliminated(candidates: Mapping[tuple[object, ...], list[Born]]) -> bool:
    """Leave to each number only the sends that no other number must come from; whether each has one left."""
    waiting = [number for number, sends in candidates.items() if len(sends) == 1]
    while waiting:
        sure = waiting.pop()
        for number, sends in candidates.items():
            if _differ(sure, number) and candidates[sure][0] in sends:
                sends.remove(candidates[sure][0])
                if len(sends) == 1:
                    waiting.append(number)
                elif not sends:
                    return False
    return all(len(sends) == 1 for sends in candidates.values())


def _differ(number: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether two messages bear them: both name the partition, or neither does."""
    if isinstance(number, Place) or isinstance(other, Place):
        return False
    return number != other and (number[0] is None) == (other[0] is None)


def _renamed(n: int, record: Record, names: Mapping[Place, str]) -> Record:
    sent = record.sent
    if not any(Place(n, True, nth) in names for nth in range(len(sent))) and not any(
        Place(n, False, nth) in names for nth in range(len(record.messages))
    ):
        return record
    called = tuple(replace(m, id=names.get(Place(n, True, nth), m.id)) for nth, m in enumerate(sent))
    shown = tuple(
        d._replace(id=names.get(Place(n, False, nth), d.id)) for nth, d in enumerate(record.messages)
    )
    args = {**record.args, "messages": called} if sent else record.args
    return structs.replace(record, args=args, messages=shown)
