"""Forwarding in a history: what is judged of it, and what exercises its rules.

A queue that forwards is read as one that is only sent to. In the one that keeps what it gets, each of these
messages arrives by a move of the broker, an effect of its own: after its send, before it is shown, and before
the queue is found empty in the end. What else is asked of a queue that forwards is not followed yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from msgspec import structs

from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.facts.records import returned
from partq.conformance.history import Record
from partq.conformance.history.entities import is_dead_letters, is_destination
from partq.conformance.oracle.identity import Ambiguous
from partq.conformance.oracle.roles import CANCELS, OUTAGES, SCHEDULES
from partq.conformance.oracle.uses import Records, Use
from partq.conformance.screens.protocol import Exercise
from partq.model.actions import FORWARD
from partq.model.configuration import Config
from partq.model.deadletters.norm import TOO_FAR
from partq.model.messages import Message, as_active
from partq.model.operations import DRAINED, OPS, TOPICS, Outcome
from partq.model.profiles import MOST_HOPS, Destination, Entity
from partq.model.topics.norm import matches

_DUE: Final = "due"
"""The argument of an arrival that says from when on it may be."""

_GONE: Final = "cancelled"
"""That of one that may not be, as the message was cancelled before."""

_ALL: Final = frozenset({True})

_FOLLOWED: Final = frozenset({"send", "send_batch", SCHEDULES, CANCELS})


def _told_apart(entity: Entity, records: Records, skew: int) -> Records:
    """The records of a queue that forwards; or of the one that gets its messages, in which these arrive.
    Raises `Ambiguous` for what is not followed."""
    for record in records:
        if why := _not_followed(record):
            raise Ambiguous(why)
    if isinstance(entity, Destination) and entity.hops > MOST_HOPS and any(map(_set_aside, records)):
        raise Ambiguous("whether the queue behind the fourth hop has those dead letters is not known")
    if not isinstance(entity, Destination):
        return tuple(record for record in records if record.op != DRAINED)
    return tuple(_with_arrivals(entity, records, skew))


def _not_followed(record: Record) -> str | None:
    op = OPS[record.op]
    if op.fault and "partition" in op.args and (not record.entity or is_destination(record.entity)):
        return "whose partition it is, of the queue that forwards or of one that it forwards to, is not known"
    if record.is_env or op.link or is_destination(record.entity):
        return None
    if "txn" in record.args:
        return "transactions of queues that forward are not modelled"
    if record.lock_tokens or record.op in _FOLLOWED:
        return None
    return f"the operation {record.op} on a queue that forwards is not modelled"


def _set_aside(record: Record) -> bool:
    """Whether it shows dead letters that went too far, or may have."""
    return is_dead_letters(record.entity) and any(one.reason in (None, TOO_FAR) for one in record.messages)


def _with_arrivals(entity: Destination, records: Records, skew: int) -> Iterator[Record]:
    shown: dict[str, int] = {}
    for record in filter(lambda record: is_destination(record.entity), records):
        for one in record.messages:
            shown[one.id] = min(shown.get(one.id, returned(record)), returned(record))
    emptied, cancelled = _found_empty(entity, records), _cancelled(records)
    for record in filter(_reaches, records):
        if is_destination(record.entity) or "messages" not in record.args:
            yield _without_times(record)
        elif record.outcome != Outcome.ERROR:
            came = record.outcome == Outcome.OK and returned(record) < emptied
            for message in record.args["messages"]:
                fits, by = _fits(entity, message), shown.get(message.id)
                sure = came and False not in fits and message.ttl is None and message.scheduled_at is None
                gone = cancelled.get(message.id, FOREVER) < (message.scheduled_at or 0) - skew
                if by is not None or True in fits:
                    by = emptied - 1 if by is None and sure else by
                    yield _arrival(record, message, by, skew, _GONE if gone else _DUE)


def _fits(entity: Entity, message: Message) -> frozenset[bool]:
    """Whether it is forwarded, in one reading or another: a subscription forwards what its rule matches."""
    return frozenset[bool]().union(*(matches(rule, message) for _, rule in entity.subscriptions)) or _ALL


def _reaches(record: Record) -> bool:
    """Whether the queue that gets the messages is concerned: by no outage and no cancel of the one before."""
    return record.op not in OUTAGES and (record.op != CANCELS or is_destination(record.entity))


def _cancelled(records: Records) -> dict[str, int]:
    """The scheduled messages that were cancelled by the number which their send showed, and when."""
    done = (r for r in records if r.outcome == Outcome.OK and not is_destination(r.entity))
    numbers = {r.args["seq"]: returned(r) for r in done if r.op == CANCELS}
    named = ((one.id, numbers.get(one.seq or 0)) for r in records if r.op == SCHEDULES for one in r.messages)
    return {id: at for id, at in named if at is not None}


def _found_empty(entity: Destination, records: Records) -> int:
    """When all that was sent before had certainly come to the queue, and gone; -1: never. Of what is set
    aside that is known if some is shown in the dead-letter queue, as no source says where it comes to."""
    if not entity.forward_to:
        found = entity.hops <= MOST_HOPS
    else:
        found = entity.hops == MOST_HOPS and any(
            one.reason == TOO_FAR for r in records if is_dead_letters(r.entity) for one in r.messages
        )
    aside = bool(entity.forward_to)
    ends, down = [-1], set[tuple[str, int | None]]()
    for record in records if found else ():
        place = record.args.get("partition")
        if repair := OPS[record.op].undone_by:
            down.add((repair, place))
        elif record.outcome == Outcome.OK:
            down.discard((record.op, place))
        if record.op == DRAINED and is_dead_letters(record.entity) == aside and not down:
            ends.append(record.call)
    return ends[-1]


def _without_times(record: Record) -> Record:
    """No source says whether a message that is forwarded is enqueued anew."""
    messages = tuple(one._replace(enqueued_at=None) for one in record.messages)
    return structs.replace(record, messages=messages) if messages else record


def _arrival(send: Record, message: Message, by: int | None, skew: int, due: str) -> Record:
    """The message's arrival after that send, and not before its time, called ``due``, if it was scheduled, if
    it was sent: certainly by that time, or perhaps."""
    outcome = Outcome.UNKNOWN if by is None else Outcome.OK
    args: dict[str, Any] = {"messages": (replace(message, scheduled_at=None),)}
    call = send.call
    if message.scheduled_at is not None and message.scheduled_at - skew > call:
        call = args[due] = message.scheduled_at - skew
    ret = None if by is None else max(call, by)
    return structs.replace(
        send, call=call, op=FORWARD, args=args, ret=ret, outcome=outcome, error=None, messages=()
    )


def _wrong(cfg: Config, records: Records) -> tuple[str, int, str] | None:
    """What cannot have been forwarded yet, and what is lost for certain."""
    return _too_early(cfg, records) or _lost(cfg, records)


def _too_early(cfg: Config, records: Records) -> tuple[str, int, str] | None:
    """Where a message is shown that was scheduled, and cannot have been forwarded yet, or was cancelled."""
    shown = ((r, as_active(one.id)) for r in records for one in r.messages if is_destination(r.entity))
    gone = {m.id for r in records if _GONE in r.args for m in r.args["messages"]}
    for record, id in shown if gone and cfg.forbids("SCH-3") else ():
        if id in gone:
            return "SCH-3", record.i, f"{id!r} was forwarded though it was cancelled"
    due = {m.id: r.args[_DUE] for r in records if _DUE in r.args for m in r.args["messages"]}
    early = ((r, one) for r in records for one in r.messages if due and cfg.forbids("SCH-1"))
    for record, one in early:
        if returned(record) < due.get(as_active(one.id), 0):
            return "SCH-1", record.i, f"{one.id!r} was forwarded before its time"
    return None


def _lost(cfg: Config, records: Records) -> tuple[str, int, str] | None:
    """The end at which a message that was set aside for certain is nowhere, though all was found empty."""
    shown = {as_active(one.id) for record in records for one in record.messages}
    came = (r for r in records if r.op == FORWARD and r.outcome == Outcome.OK and cfg.entity.forward_to)
    lost = next((m.id for r in came for m in r.args["messages"] if m.id not in shown), None)
    if lost is None or not all(map(cfg.forbids, ("FWD-2", "RCV-2"))):
        return None
    end = max((r for r in records if r.op == DRAINED and "entity" in r.args), key=lambda record: record.call)
    return "RCV-2", end.i, f"{lost!r} is in no dead-letter queue, as others are that were forwarded as often"


USE: Final = Use(
    uses=lambda record: record.op == FORWARD,
    rule="FWD-1",
    what="queues that forward",
    chosen=lambda entity: bool(entity.forward_to) or isinstance(entity, Destination),
    alone=True,
    meets=frozenset({"topics"}),
    whole=True,
    tells_apart=_told_apart,
    wrong=_wrong,
)


def _keyed(facts: Facts) -> int:
    """Each message with a key that was forwarded, and is shown with its partition, one of several."""
    if not isinstance(facts.entity, Destination) or facts.entity.partitions == 1:
        return 0
    seen = (one for many in (*facts.received.values(), *facts.peeked.values()) for one in many[:1])
    placed = {one.delivery.id for one in seen if one.partition is not None}
    return sum(any(one.key is not None for one in facts.origins.get(id, ())) for id in placed)


def _stopped(facts: Facts) -> int:
    """Each message that is shown in a dead-letter queue, since it would have been forwarded too often."""
    shown = (one for record in (*facts.receives, *facts.peeks) for one in record.messages)
    return len({one.id for one in shown if one.reason == TOO_FAR})


EXERCISED: Final[Mapping[str, Exercise]] = {
    "FWD-1": Exercise(_keyed, ("receive", TOPICS)),
    "FWD-2": Exercise(_stopped, ("receive", TOPICS)),
}
