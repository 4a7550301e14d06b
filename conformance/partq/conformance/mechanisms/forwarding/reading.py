"""Forwarding in a history: what is judged of it, and what exercises its rules.

A queue that forwards is read as one that is only sent to. In the one that keeps what it gets, each of these
messages arrives by a move of the broker, an effect of its own: after its send, before it is shown, and before
the queue is found empty in the end. What else is asked of a queue that forwards is not followed yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from msgspec import structs

from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.history import Record
from partq.conformance.history.entities import is_dead_letters, is_destination
from partq.conformance.oracle.identity import Ambiguous
from partq.conformance.oracle.roles import CANCELS, COMMITS, NUMBERS, OUTAGES, SCHEDULES, SHOWS
from partq.conformance.oracle.uses import Records, Use
from partq.conformance.screens.protocol import Exercise
from partq.model.actions import FORWARD
from partq.model.configuration import Config
from partq.model.deadletters.norm import TOO_FAR
from partq.model.messages import Message, as_active, is_copy, message_id
from partq.model.operations import DRAINED, OPS, TOPICS, Outcome
from partq.model.profiles import MOST_HOPS, Destination, Entity
from partq.model.topics.norm import matches

_DUE: Final = "due"
_COMMITTED: Final = "committed"
"""Arguments of an arrival that say from when on it may be: its time has come, or its transaction commits."""

_GONE: Final = "cancelled"
_UNDONE: Final = "not committed"
"""Those of one that may not be at all."""

_SENT: Final = "sent"
"""The argument of the arrival of a copy that says between which times it was stored, if it was."""

_WRONG: Final[Mapping[str, tuple[str, str]]] = {
    _GONE: ("SCH-3", "though it was cancelled"),
    _UNDONE: ("TXN-5", "though its transaction was not committed"),
    _DUE: ("SCH-1", "before its time"),
    _COMMITTED: ("TXN-5", "before its transaction was committed"),
}
"""What it is to show a message nevertheless: the rule, and how it was forwarded."""

_ALL: Final = frozenset({True})

_ENDS: Final = frozenset(name for name, op in OPS.items() if "txn" in op.args and op.args["txn"].required)
"""What begins and ends a transaction."""

_FOLLOWED: Final = frozenset({"send", "send_batch", SCHEDULES, CANCELS}) | _ENDS


def _told_apart(entity: Entity, records: Records, skew: int) -> Records:
    """The records of a queue that forwards; or of the one that gets its messages, in which these arrive.
    Raises `Ambiguous` for what is not followed."""
    records = tuple(record for record in records if not _in_vain(record))
    for record in records:
        if why := _not_followed(record):
            raise Ambiguous(why)
    begun = [record.args["txn"] for record in records if record.op in _ENDS and OPS[record.op].opens]
    if len({*begun}) < len(begun):
        raise Ambiguous("in which of the transactions of one name a message was sent is not known")
    if isinstance(entity, Destination) and entity.hops > MOST_HOPS and any(map(_set_aside, records)):
        raise Ambiguous("whether the queue behind the fourth hop has those dead letters is not known")
    if not isinstance(entity, Destination):
        return tuple(record for record in records if record.op != DRAINED)
    return tuple(_with_arrivals(entity, records, skew))


def _in_vain(record: Record) -> bool:
    """Whether a queue that forwards was asked for messages, and gave none. No source says how it answers."""
    answered = not record.unknown and not record.messages
    return record.op in SHOWS - NUMBERS.keys() and answered and not is_destination(record.entity)


def _not_followed(record: Record) -> str | None:
    op = OPS[record.op]
    if op.fault and "partition" in op.args and (not record.entity or is_destination(record.entity)):
        return "whose partition it is, of the queue that forwards or of one that it forwards to, is not known"
    if record.is_env or op.link or is_destination(record.entity):
        return None
    if "txn" in record.args and (record.lock_tokens or record.op == CANCELS):
        return "transactions that do more than send to a queue that forwards are not modelled"
    if record.lock_tokens or record.op in _FOLLOWED:
        return None
    return f"the operation {record.op} on a queue that forwards is not modelled"


def _set_aside(record: Record) -> bool:
    """Whether it shows dead letters that went too far, or may have."""
    return is_dead_letters(record.entity) and any(one.reason in (None, TOO_FAR) for one in record.messages)


class _Known(NamedTuple):
    """When each message was ``shown`` first, when the queue was found ``emptied`` of all that was sent before
    (-1: never), when scheduled messages were ``cancelled``, and, by transaction, from when on it may be
    committed and by when it certainly is. ``repeated``: the IDs that were sent again, whether or not all of
    it was stored at once, if at all."""

    shown: Mapping[str, int]
    emptied: int
    cancelled: Mapping[str, int]
    commits: Mapping[str, tuple[int, int]]
    repeated: Mapping[str, bool]
    skew: int


def _with_arrivals(entity: Destination, records: Records, skew: int) -> Iterator[Record]:
    shown: dict[str, int] = {}
    for record in filter(lambda record: is_destination(record.entity), records):
        for one in record.messages:
            shown[one.id] = min(shown.get(one.id, record.end), record.end)
    times = _found_empty(entity, records), _cancelled(records), _commits(records, shown)
    known = _Known(shown, *times, _repeated(records), skew)
    for record in filter(_reaches, records):
        if is_destination(record.entity) or "messages" not in record.args:
            yield _without_times(record)
        elif not record.refused:
            yield from _arrivals(entity, record, known)


def _arrivals(entity: Destination, send: Record, known: _Known) -> Iterator[Record]:
    """The arrivals of its messages, but for those that cannot have been forwarded, and are not shown."""
    since, done = known.commits.get(send.args.get("txn", ""), (send.call, send.end))
    came = send.ok and max(send.end, done) < known.emptied
    for message in send.sent:
        fits, by = _fits(entity, message), known.shown.get(message.id)
        if by is None and (since == FOREVER or True not in fits):
            continue
        plain = message.ttl is None and message.scheduled_at is None
        at_once = known.repeated.get(message_id(message.id))
        counts = at_once is None or (at_once and not entity.single)
        if by is None and came and False not in fits and plain and counts:
            by = known.emptied - 1
        arrival = _arrival(send, message, by, dict(_marks(send, message, since, known)))
        known_sent = send.ok and done < FOREVER and at_once is not None
        yield _noting(arrival, send.call, max(send.end, done)) if known_sent else arrival


def _noting(arrival: Record, since: int, by: int) -> Record:
    """The arrival that says when the first queue stored what it was sent, unless it dropped that."""
    return structs.replace(arrival, args={**arrival.args, _SENT: (since, by)})


def _repeated(records: Records) -> Mapping[str, bool]:
    """The IDs that were sent again, and whether each of their messages was stored at once, if at all: not in
    its time, or with its transaction."""
    sends = [(r, m) for r in records if not is_destination(r.entity) for m in r.sent]
    again = {message_id(message.id) for _, message in sends if is_copy(message.id)}
    late = {message_id(m.id) for r, m in sends if "txn" in r.args or m.scheduled_at is not None}
    return {id: id not in late for id in sorted(again)}


def _marks(send: Record, message: Message, since: int, known: _Known) -> Iterator[tuple[str, int]]:
    """From when on it may arrive, and why."""
    if "txn" in send.args:
        yield (_UNDONE, send.call) if since == FOREVER else (_COMMITTED, since)
    due = (message.scheduled_at or 0) - known.skew
    if due > send.call:
        yield _GONE if known.cancelled.get(message.id, FOREVER) < due else _DUE, due


def _commits(records: Records, shown: Mapping[str, int]) -> Mapping[str, tuple[int, int]]:
    """Of each transaction from when on it may be committed, and by when it certainly is; `FOREVER`: never. A
    message of it that is shown says that it is."""
    found: dict[str, tuple[int, int]] = {}
    for record in (record for record in records if "txn" in record.args):
        since, done = found.get(record.args["txn"], (FOREVER, FOREVER))
        if record.op == COMMITS and not record.refused:
            since = min(since, record.call)
            done = min(done, record.end if record.ok else FOREVER)
        seen = (shown.get(message.id, FOREVER) for message in record.sent)
        found[record.args["txn"]] = since, min(done, *seen, FOREVER)
    return found


def _fits(entity: Entity, message: Message) -> frozenset[bool]:
    """Whether it is forwarded, in one reading or another: a subscription forwards what its rule matches."""
    return frozenset[bool]().union(*(matches(rule, message) for _, rule in entity.subscriptions)) or _ALL


def _reaches(record: Record) -> bool:
    """Whether the queue that gets the messages is concerned: by no outage, transaction and cancel of the one
    before."""
    return record.op not in OUTAGES | _ENDS and (record.op != CANCELS or is_destination(record.entity))


def _cancelled(records: Records) -> dict[str, int]:
    """The scheduled messages that were cancelled by the number which their send showed, and when."""
    done = (r for r in records if r.ok and not is_destination(r.entity))
    numbers = {r.args["seq"]: r.end for r in done if r.op == CANCELS}
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
        elif record.ok:
            down.discard((record.op, place))
        if record.op == DRAINED and is_dead_letters(record.entity) == aside and not down:
            ends.append(record.call)
    return ends[-1]


def _without_times(record: Record) -> Record:
    """No source says whether a message that is forwarded is enqueued anew."""
    messages = tuple(one._replace(enqueued_at=None) for one in record.messages)
    return structs.replace(record, messages=messages) if messages else record


def _arrival(send: Record, message: Message, by: int | None, marks: Mapping[str, int]) -> Record:
    """The message's arrival after that send, if it was sent: certainly by that time, or perhaps."""
    outcome = Outcome.UNKNOWN if by is None else Outcome.OK
    args: dict[str, Any] = {"messages": (replace(message, scheduled_at=None),), **marks}
    call = max((send.call, *marks.values()))
    ret = None if by is None else max(call, by)
    return structs.replace(
        send, call=call, op=FORWARD, args=args, ret=ret, outcome=outcome, error=None, messages=()
    )


def _wrong(cfg: Config, records: Records) -> tuple[str, int, str] | None:
    """What cannot have been forwarded yet, and what is lost for certain."""
    return _too_early(cfg, records) or _twice(cfg, records) or _lost(cfg, records)


def _too_early(cfg: Config, records: Records) -> tuple[str, int, str] | None:
    """Where a message is shown that cannot have been forwarded, or not yet."""
    marks = {m.id: r.args for r in records if r.op == FORWARD for m in r.sent}
    for record, id in ((r, as_active(one.id)) for r in records for one in r.messages):
        for mark, (rule, how) in _WRONG.items() if id in marks else ():
            early = mark in marks[id] and (mark in (_GONE, _UNDONE) or record.end < marks[id][mark])
            if early and cfg.forbids(rule):
                return rule, record.i, f"{id!r} was forwarded {how}"
    return None


def _twice(cfg: Config, records: Records) -> tuple[str, int, str] | None:
    """Where the second of two messages is shown of which the first queue had to drop one."""
    arrived = {m.id: (m, *r.args[_SENT]) for r in records if _SENT in r.args for m in r.sent}
    seen: dict[str, None] = {}
    for record, id in ((r, as_active(one.id)) for r in records for one in r.messages):
        if id not in arrived or id in seen or cfg.untimed or not cfg.forbids("DUP-1"):
            continue
        if any(_are_one(cfg, arrived[id], arrived[other]) for other in seen):
            return "DUP-1", record.i, f"two messages of the ID {message_id(id)!r} were forwarded"
        seen[id] = None
    return None


def _are_one(cfg: Config, one: tuple[Message, int, int], other: tuple[Message, int, int]) -> bool:
    """Whether one of them is a duplicate, whichever was stored first. Each with when it was sent."""
    same = message_id(one[0].id) == message_id(other[0].id)
    within = max(one[2], other[2]) - min(one[1], other[1]) < cfg.entity.duplicate_window - cfg.skew
    keys = {cfg.profile.key_of(message, cfg.entity) for message in (one[0], other[0])}
    return same and within and len(keys) == 1


def _lost(cfg: Config, records: Records) -> tuple[str, int, str] | None:
    """The end at which a message that was set aside for certain is nowhere, though all was found empty. Of
    several of one ID one is enough: the others may be duplicates."""
    shown = {message_id(one.id) for record in records for one in record.messages}
    came = (r for r in records if r.op == FORWARD and r.ok and cfg.entity.forward_to)
    lost = next((m.id for r in came for m in r.sent if message_id(m.id) not in shown), None)
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
    meets=frozenset({"duplicates", "sessions", "topics"}),
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
