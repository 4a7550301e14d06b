"""Histories as plain data for the TLA+ specification (`partq.spec.validation`), a recording for each entity.

Nothing is judged here. What the specification does not say is told by `NotFollowed`, as there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from partq.conformance.history import Header, History, Record
from partq.conformance.history.entities import ByEntity, entity_of, is_dead_letters
from partq.conformance.history.lost_connections import with_lost_connections
from partq.conformance.history.partition_names import named_by_numbers
from partq.conformance.oracle.identity import Ambiguous, by_birth, numbers_named
from partq.conformance.oracle.uses import end_of, told_apart, uses
from partq.model.messages import (
    Delivery,
    KeyRule,
    Message,
    ambiguous,
    as_active,
    as_dead,
    conflicting,
    is_scheduled,
    message_id,
)
from partq.model.operations import LINK_LOST, Outcome
from partq.model.profiles import SECOND, SEND_TIMEOUT, Entity, Profile, profile, requirements_of
from partq.model.sizes import may_be_over
from partq.spec.validation import NotFollowed, Operation, Recording, Sent, Shown
from partq.spec.validation.timed import with_copies, with_limits

PATIENT = 15 * SECOND
"""ns that a keyless send has to wait to be sure of another partition (ROUTE-6)."""

_FOLLOWED = frozenset({"scheduling", "expiry", "deferral", "transactions", "duplicates", "sessions"})
"""The mechanisms of sends that the specification follows."""


def recordings_of(history: History) -> dict[str, Recording | NotFollowed]:
    """By entity its recording, or why the specification does not follow it. A queue's dead-letter queue is
    recorded with it."""
    found: dict[str, Recording | NotFollowed] = {}
    everything = ByEntity(history)
    for name in everything.names:
        if name in everything.beside.values():
            continue
        try:
            found[name] = _recording(everything, name)
        except NotFollowed as why:
            found[name] = why
    return found


def _recording(everything: ByEntity, name: str) -> Recording:
    header, records = everything.header, everything.tied(name)
    family = profile(header.profile)
    entity = entity_of(header, name)
    if is_dead_letters(name):
        raise NotFollowed("a dead-letter queue without its queue is not followed")
    if name in everything.topics or entity.subscriptions:
        raise NotFollowed("topics are not specified")
    if entity.requires_session and "SES-1" not in requirements_of(header.profile):
        raise NotFollowed("sessions of which no rule speaks")
    if entity.duplicate_detection and "DUP-1" not in requirements_of(header.profile):
        raise NotFollowed("duplicates of which no rule speaks")
    try:
        records = told_apart(header, entity, records)
    except Ambiguous as why:
        raise NotFollowed(str(why)) from None
    dead = {shown.lock for r in records if is_dead_letters(r.entity) for shown in r.messages}
    among_the_dead = {r.i for r in records if is_dead_letters(r.entity) or not dead.isdisjoint(r.lock_tokens)}
    records = _with_births(records, among_the_dead, header.skew_ns)
    sent = {
        id: message
        for record in records
        for message in record.sent
        for id in (message.id, _later(message) or message.id)
    }
    _check_messages(header, entity, records, sent)
    records = with_lost_connections(named_by_numbers(records, family))
    end, slack = end_of(header, records), header.skew_ns + header.lateness
    operations = tuple(operation_of(r, header, sent, r.i in among_the_dead, end) for r in records)
    if entity.duplicate_detection:
        operations = with_copies(
            operations,
            lambda sent: (message_id(sent.id), sent.key if family.partitioned else None),
            entity.duplicate_window,
            header.skew_ns,
            slack,
        )
    operations = with_limits(operations, entity.transaction_timeout - slack, entity.max_transaction_messages)
    return Recording(
        words_of(family),
        requirements_of(header.profile),
        entity.partitions,
        operations,
        family.counter_bits,
        entity.seq_start,
        entity.max_delivery_count,
        header.lateness + header.skew_ns + (len(records) if header.clock == "virtual" else 0),
        1 + _lasted(header, records) // entity.lock_duration if family.locks_expire else 1,
        entity.requires_session,
    )


def _lasted(header: Header, records: Sequence[Record]) -> int:
    """How long the history lasted by the broker's clock, at the most, ns."""
    return end_of(header, records) + header.lateness - min((r.call for r in records), default=0)


def _with_births(records: tuple[Record, ...], among_the_dead: set[int], skew: int) -> tuple[Record, ...]:
    """The records with names of births; a dead letter has that of the active one. Raises `NotFollowed`."""
    apart = [
        structs.replace(r, messages=tuple(one._replace(id=as_dead(one.id)) for one in r.messages))
        if r.i in among_the_dead
        else r
        for r in records
    ]
    try:
        named = by_birth(apart, skew)
    except Ambiguous as why:
        raise NotFollowed(str(why)) from None
    return tuple(
        structs.replace(one, messages=r.messages) if r.i in among_the_dead else one
        for one, r in zip(named, records, strict=True)
    )


def _later(message: Message) -> str | None:
    """The ID of a scheduled message from its activation on."""
    return as_active(message.id) if message.scheduled_at is not None and is_scheduled(message.id) else None


def words_of(family: Profile) -> frozenset[str]:
    """The family in the words of `Catalogue.tla`."""
    switches = {
        "partitioned": family.partitioned,
        "numbers": family.shows_seq,
        "expiry": family.locks_expire,
        "caches": family.caching_front_ends,
        "flows": family.flows,
    }
    return frozenset(word for word, on in switches.items() if on)


def _check_messages(
    header: Header, entity: Entity, records: tuple[Record, ...], sent: dict[str, Message]
) -> None:
    end = end_of(header, records)
    sends = [record for record in records if "messages" in record.args]
    for mechanism, use in uses().items():
        if mechanism in _FOLLOWED:
            continue
        if use.chosen(entity) or any(use.matters(record, end) for record in sends):
            raise NotFollowed(f"{use.what} are not followed")
    if any(may_be_over(profile(header.profile), entity, send.sent) for send in sends):
        raise NotFollowed("messages that may be too large are not followed")
    for record in records:
        for message in record.sent:
            if message.without_id:
                raise NotFollowed("messages that are sent without an ID are not followed")
            if ambiguous(message, profile(header.profile).key_rule):
                raise NotFollowed("a message with two keys, of which no source says which one counts")
        if not sent and record.messages:
            raise NotFollowed("how its messages came to the entity is not known")


def operation_of(
    record: Record, header: Header, sent: Mapping[str, Message], dead: bool, end: int
) -> Operation:
    """The operation that a record tells of. ``sent``: every message of the history by its ID; ``dead``: it
    names a lock of a dead letter; ``end``: times to live may have ended by then, ns."""
    args, family = record.args, profile(header.profile)
    entity = entity_of(header, record.entity)
    since, bits, numbers = args.get("from_seq"), family.counter_bits, numbers_named(record)
    unknown, dead = record.unknown, dead or is_dead_letters(record.entity)
    shown = (_shown(one, bits, family, sent) for one in record.messages)
    return Operation(
        record.i,
        record.op,
        args.get("proc", record.proc) if record.is_env else record.proc,
        record.call,
        None if unknown and record.op != LINK_LOST else record.ret,
        str(Outcome.UNKNOWN if unknown or _unnoticed(record, header) else record.outcome),
        record.error,
        tuple(
            sent_of(message, family, entity)._replace(
                past=_may_be_past(message, record, header),
                mortal=message.ttl is not None and record.call + message.ttl <= end,
            )
            for message in record.sent
        ),
        tuple(one._replace(tries=None) if dead else one for one in shown),
        record.lock_tokens,
        args.get("txn"),
        args.get("max", 1),
        record.deletes,
        None if since is None else (since >> bits, since % (1 << bits)),
        _waited(record, header) <= PATIENT,
        args.get("partition"),
        args.get("flow"),
        args.get("state"),
        dead,
        args.get("reason"),
        args.get("about", ()),
        len(args.get("about", ())) < len({*numbers}),
        family.partitioned and len({number >> bits for number in numbers}) > 1,
        session=args.get("session_id"),
        next=bool(args.get("next")),
    )


def _may_be_past(message: Message, record: Record, header: Header) -> bool:
    """Whether its scheduled time may have come by when it was stored."""
    if message.scheduled_at is None:
        return False
    unknown = record.ret is None or record.unknown
    return unknown or message.scheduled_at <= (record.ret or 0) + header.skew_ns


def _unnoticed(record: Record, header: Header) -> bool:
    """Whether it is not known when, if at all, the broker noticed that a connection had ended."""
    if record.op != LINK_LOST:
        return False
    return not record.ok or (header.clock == "wall" and record.args.get("how") == "socket")


def _waited(record: Record, header: Header) -> int:
    """How long a send waited for its answer at the most, ns."""
    timeout: int | None = record.args.get("timeout")
    if timeout is not None:
        return timeout
    if header.clock == "virtual":
        return SEND_TIMEOUT
    return 0 if record.ret is None else record.ret - record.call


def sent_of(message: Message, family: Profile, entity: Entity) -> Sent:
    """A message as it is sent to that queue of that family: its session is its key, where one is required."""
    key = family.key_of(message, entity) if family.partitioned else None
    return Sent(
        message.id,
        message.session_id if entity.requires_session else key,
        family.key_rule is KeyRule.SERVICE_BUS and conflicting(message),
        _later(message),
        lacking=entity.requires_session and message.session_id is None,
    )


def _shown(shown: Delivery, bits: int, family: Profile, sent: Mapping[str, Message]) -> Shown:
    message = sent.get(shown.id)
    altered = message is None or not (
        shown.body in (None, message.body)
        and shown.session_id in (None, message.session_id)
        and shown.partition_key in (None, message.partition_key, message.session_id)
        and family.may_show(shown, message)
    )
    tag = None if shown.seq is None or not family.partitioned else shown.seq >> bits
    number = None if shown.seq is None else shown.seq % (1 << bits)
    return Shown(
        shown.id,
        shown.partition,
        tag,
        number,
        shown.delivery_count,
        shown.lock,
        altered,
        shown.reason,
        shown.state,
    )
