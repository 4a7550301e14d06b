"""Transactions in a history: how long nothing had been asked for in one, how much one was asked to take, and
what exercises these limits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Final

from msgspec import structs

from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.history import Header, Record
from partq.conformance.oracle.roles import ENDS, LOOKS
from partq.conformance.oracle.uses import Use
from partq.conformance.screens.protocol import Exercise
from partq.model.grouping import grouped
from partq.model.operations import OPS
from partq.model.profiles import LIMITS, Entity, Profile, requirements_of

Records = tuple[Record, ...]

_LIMITS: Final = "TXN-9"
_STRIKES: Final = frozenset(name for name, op in OPS.items() if op.fault or op.cuts or op.link)


def _compared(header: Header, entity: Entity, records: Records) -> Records:
    """The records, of which each in a transaction says for how long certainly nothing had happened to that,
    and how many messages it was asked to take by then."""
    inside = _inside(records)
    if _LIMITS not in requirements_of(header.profile) or any("idle" in r.args for r in records):
        return records
    idle = _idles(records, inside)

    def dated(record: Record) -> Record:
        taken = sum(_size(one) for one in inside[record.args["txn"]] if one.call <= record.end)
        return structs.replace(record, args={**record.args, "idle": idle(record), "taken": taken})

    return tuple(dated(record) if "txn" in record.args else record for record in records)


def _inside(records: Sequence[Record]) -> Mapping[str, list[Record]]:
    """The records of each transaction."""
    return grouped((record.args["txn"], record) for record in records if "txn" in record.args)


def _idles(records: Sequence[Record], inside: Mapping[str, Sequence[Record]]) -> Callable[[Record], int]:
    """For how long nothing had happened to a record's transaction. A fault in between leaves the time open,
    and so does an operation of unknown outcome."""
    strikes = sorted((r.call, r.end) for r in records if r.op in _STRIKES) if inside else []
    calls, ends = [call for call, _ in strikes], [*accumulate((end for _, end in strikes), max)]

    def idle(record: Record) -> int:
        struck = bisect_right(calls, record.end)
        return _idle(record, inside[record.args["txn"]], ends[struck - 1] if struck else 0)

    return idle


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
    entity, late, count = facts.entity, facts.header.lateness + facts.header.skew_ns, 0
    inside = _inside(facts.records)
    idle = _idles(facts.records, inside)
    for mine in inside.values():
        accepted = 0
        for record in mine:
            sent = len(record.sent)
            full = sent and accepted + sent > entity.max_transaction_messages
            count += bool(full or idle(record) > entity.transaction_timeout + late)
            accepted += sent if record.ok else 0
    return count


EXERCISED: Final[Mapping[str, Exercise]] = {_LIMITS: Exercise(_beyond, ("begin",))}
