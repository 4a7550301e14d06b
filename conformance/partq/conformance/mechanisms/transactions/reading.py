"""Transactions in a history: how long nothing had been asked for in one, how much one was asked to take, and
what exercises these limits."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final

from msgspec import structs

from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.history import Header, Record
from partq.conformance.oracle.roles import ENDS, LOOKS
from partq.conformance.oracle.uses import Use
from partq.conformance.screens.protocol import Exercise
from partq.model.operations import OPS
from partq.model.profiles import LIMITS, Entity, Profile, requirements_of

Records = tuple[Record, ...]

_LIMITS: Final = "TXN-9"
_STRIKES: Final = frozenset(name for name, op in OPS.items() if op.fault or op.cuts or op.link)


def _compared(header: Header, entity: Entity, records: Records) -> Records:
    """The records, of which each in a transaction says for how long certainly nothing had happened to that,
    and how many messages it was asked to take by then. A fault in between leaves the time open, and so does
    an operation of unknown outcome."""
    inside = defaultdict[str, list[Record]](list)
    for record in records:
        if "txn" in record.args:
            inside[record.args["txn"]].append(record)
    if _LIMITS not in requirements_of(header.profile) or any("idle" in r.args for r in records):
        return records
    strikes = sorted((r.call, r.end) for r in records if r.op in _STRIKES) if inside else []
    calls, ends = [call for call, _ in strikes], [*accumulate((end for _, end in strikes), max)]

    def dated(record: Record) -> Record:
        mine = inside[record.args["txn"]]
        struck = bisect_right(calls, record.end)
        told = {
            "idle": _idle(record, mine, ends[struck - 1] if struck else 0),
            "taken": sum(_size(one) for one in mine if one.call <= record.end),
        }
        return structs.replace(record, args={**record.args, **told})

    return tuple(dated(record) if "txn" in record.args else record for record in records)


def _idle(record: Record, mine: Sequence[Record], struck: int) -> int:
    """For how long nothing had been asked for in the transaction of these records; 0: not known."""
    before = [one for one in mine if one.call <= record.call and one is not record]
    ends = (FOREVER if one.unknown else one.end for one in before)
    last = max(ends, default=FOREVER)
    return 0 if struck >= last else max(0, record.call - last)


def _size(record: Record) -> int:
    """How many messages an operation sends, settles or cancels."""
    return len(record.sent) + len(record.lock_tokens) + ("seq" in record.args)


def _fades(family: Profile, entity: Entity, records: Records) -> dict[str, bool]:
    """Whether a message that a transaction settles, or cancels, is peeked after its end."""
    ended = (r for r in reversed(records) if r.op in ENDS and not r.refused)
    ends = {r.args["txn"]: r.end for r in ended}  # of several of one name the first
    gone = dict[str | int, int]()
    for record in records:
        if (end := ends.get(record.args.get("txn", ""))) is not None:
            gone |= dict.fromkeys((*record.lock_tokens, record.args.get("seq", "")), end)
    shown = [(one, r) for r in records for one in r.messages] if gone else []
    since = {one.id: gone[name] for one, _ in shown for name in (one.lock, one.seq) if name in gone}
    return {"fading": any(r.op in LOOKS and r.call > since.get(one.id, FOREVER) for one, r in shown)}


USE: Final = Use(
    uses=lambda record: True,  # TXN-8 is about what is sent outside, too
    rule="TXN-5",
    what="limits of transactions",
    chosen=lambda entity: any(getattr(entity, name) != getattr(Entity(), name) for name in LIMITS),
    compared=_compared,
    begins=_fades,
)


def _beyond(facts: Facts) -> int:
    """Each operation in a transaction that certainly was idle for too long, and each send beyond the number
    of messages that were accepted in one."""
    entity, accepted, count = facts.entity, defaultdict[str, int](int), 0
    late = facts.header.lateness + facts.header.skew_ns
    for record in _compared(facts.header, entity, tuple(facts.records)):
        if "idle" in record.args:
            sent = len(record.sent)
            full = sent and accepted[record.args["txn"]] + sent > entity.max_transaction_messages
            count += bool(full or record.args["idle"] > entity.transaction_timeout + late)
            accepted[record.args["txn"]] += sent if record.ok else 0
    return count


EXERCISED: Final[Mapping[str, Exercise]] = {_LIMITS: Exercise(_beyond, ("begin",))}
