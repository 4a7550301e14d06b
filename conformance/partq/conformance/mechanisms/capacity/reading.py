"""Capacity in a history: how much the entity holds, and what exercises the rule.

What certainly is there was sent outside of a transaction, accepted before, neither scheduled nor mortal, no
possible duplicate, and never received; so it has a least size, and all that was ever asked for a most. Of a
topic nothing certainly is there, as that depends on rules, and each subscription may count a copy.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from msgspec import structs

from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.history import Header, Record
from partq.conformance.oracle.roles import DELIVERS
from partq.conformance.oracle.uses import Records, Use
from partq.conformance.screens.protocol import Exercise
from partq.model.operations import CONNECTION_LOST, OPS
from partq.model.profiles import Entity
from partq.model.sizes import HEADERS, least_of, most_of

_SENDS: Final = frozenset({"send", "send_batch"})

_FREES: Final = frozenset(
    name
    for name, op in OPS.items()
    if op.fault or op.cuts or op.link or ("session_id" in op.args and not op.delivers)
)
"""What may end a lock before its time: a fault, the end of a connection, and what is asked of a session."""

_STATE: Final = ("state", "session_id")


class _Sums:
    """Sizes by time."""

    def __init__(self, sizes: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(sizes)
        self.times = [time for time, _ in ordered]
        self.sums = [0, *accumulate(size for _, size in ordered)]

    def before(self, time: int) -> int:
        return self.sums[bisect_left(self.times, time)]

    def until(self, time: int) -> int:
        return self.sums[bisect_right(self.times, time)]


class _Kept(NamedTuple):
    """A message that is certainly there from one time on to another."""

    size: int
    since: int
    until: int


def _certain(entity: Entity, records: Records) -> Collection[str]:
    """The IDs of the messages which, accepted, certainly are stored: none that another one was sent with."""
    if entity.subscriptions:
        return ()
    sent = [message for record in records for message in record.sent]
    times = Counter(message.id for message in sent)
    counts = entity.duplicate_detection
    return {one.id for one in sent if not (counts and (one.without_id or times[one.id] > 1))}


def _kept(entity: Entity, records: Records, certain: Collection[str]) -> Iterator[_Kept]:
    """What of these messages certainly is there."""
    received = [(one.call, shown.id) for one in records if one.op in DELIVERS for shown in one.messages]
    first = {id: call for call, id in sorted(received, reverse=True)}
    unseen = [one.call for one in records if one.op in DELIVERS and one.unknown]
    lost = min(unseen, default=FOREVER)
    frees = [one.call for one in records if one.op in _FREES or one.error == CONNECTION_LOST]
    for record in records:
        if record.op in _SENDS and record.ok and "txn" not in record.args:
            worn = _worn(entity, record.call, frees)
            for message in record.sent:
                if message.ttl is None and message.scheduled_at is None and message.id in certain:
                    until = min(first.get(message.id, FOREVER), lost, worn)
                    yield _Kept(least_of(message), record.end, until)


def _worn(entity: Entity, since: int, frees: Sequence[int]) -> int:
    """When a message that was sent ``since`` may be a dead letter that nobody received, at the earliest: as
    many of its locks as lead to that have ended, each by time or early."""
    early = [since, *(at for at in frees if at >= since)]
    left = enumerate(early[: entity.max_delivery_count + 1])
    return min(max(at, since + entity.lock_duration * (entity.max_delivery_count - n)) for n, at in left)


def _compared(header: Header, entity: Entity, records: Records) -> Records:
    """The records, of which each send says how much there is at least, and may be."""
    sends = [record for record in records if "messages" in record.args]
    if entity.max_size is None or any("ever" in record.args for record in sends):
        return records
    certain = _certain(entity, records)
    kept = [*_kept(entity, records, certain)]
    came, went = _Sums((one.since, one.size) for one in kept), _Sums((one.until, one.size) for one in kept)
    copies = 1 + max((len(one.subscriptions) for one in header.entities.values()), default=0)
    ever = _Sums([*((one.call, copies * _most(one)) for one in sends), *_states(records)])

    def weighed(record: Record) -> Record:
        own = sum(least_of(message) for message in record.sent if message.id in certain)
        there = max(0, came.before(record.call) - went.until(record.end))
        told = {"held": own + there, "ever": ever.until(record.end)}
        return structs.replace(record, args={**record.args, **told})

    return tuple(weighed(record) if "messages" in record.args else record for record in records)


def _states(records: Records) -> Iterator[tuple[int, int]]:
    """The most bytes of the states of sessions that were written, which count towards the quota."""
    for record in records:
        if "state" in record.args and "state" not in OPS[record.op].tells:
            yield record.call, HEADERS + 4 * sum(len(record.args[name]) for name in _STATE)


def _most(record: Record) -> int:
    """The bytes that may count of a send; of one without bodies, which may be left out, any number."""
    messages = record.sent
    return most_of(messages) if all(message.body for message in messages) else FOREVER


def _uses(record: Record) -> bool:
    """A send of something that has a size, or one that is refused for a quota."""
    return record.error == "quota" or any(message.body for message in record.sent)


USE: Final = Use(
    uses=_uses,
    rule="ENT-6",
    what="sizes of entities",
    chosen=lambda entity: entity.max_size is not None,
    compared=_compared,
)


def _full(facts: Facts) -> int:
    """Each send that was refused as an entity whose size is known may be full."""
    sends = (record for record in facts.requests if "txn" not in record.args)
    return sum(record.error == "quota" and facts.entity.max_size is not None for record in sends)


EXERCISED: Final[Mapping[str, Exercise]] = {"ENT-6": Exercise(_full, ("send",))}
