"""Capacity in a history: how much the entity holds, and what exercises the rule.

What certainly is there was sent outside of a transaction, accepted before, neither scheduled nor mortal, and
never received; so it has a least size, and all that was ever asked for a most.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final, NamedTuple

from msgspec import structs

from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.facts.records import returned
from partq.conformance.history import Header, Record
from partq.conformance.oracle.roles import DELIVERS
from partq.conformance.oracle.uses import Records, Use
from partq.conformance.screens.protocol import Exercise
from partq.model.operations import Outcome
from partq.model.profiles import Entity
from partq.model.sizes import least_of, most_of

_SENDS: Final = frozenset({"send", "send_batch"})


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


def _kept(entity: Entity, records: Records) -> Iterator[_Kept]:
    received = [(one.call, shown.id) for one in records if one.op in DELIVERS for shown in one.messages]
    first = {id: call for call, id in sorted(received, reverse=True)}
    unseen = [one.call for one in records if one.op in DELIVERS and one.outcome == Outcome.UNKNOWN]
    lost = min(unseen, default=FOREVER)
    for record in records:
        if record.op in _SENDS and record.outcome == Outcome.OK and "txn" not in record.args:
            worn = record.call + entity.lock_duration * entity.max_delivery_count
            for message in record.args["messages"]:
                if message.ttl is None and message.scheduled_at is None:
                    until = min(first.get(message.id, FOREVER), lost, worn)
                    yield _Kept(least_of(message), returned(record), until)


def _compared(header: Header, entity: Entity, records: Records) -> Records:
    """The records, of which each send says how much there is at least, and may be."""
    sends = [record for record in records if "messages" in record.args]
    if entity.max_size is None or any("ever" in record.args for record in sends):
        return records
    kept = [*_kept(entity, records)]
    came, went = _Sums((one.since, one.size) for one in kept), _Sums((one.until, one.size) for one in kept)
    ever = _Sums((one.call, _most(one)) for one in sends)

    def weighed(record: Record) -> Record:
        own = sum(map(least_of, record.args["messages"]))
        there = max(0, came.before(record.call) - went.until(returned(record)))
        told = {"held": own + there, "ever": ever.until(returned(record))}
        return structs.replace(record, args={**record.args, **told})

    return tuple(weighed(record) if "messages" in record.args else record for record in records)


def _most(record: Record) -> int:
    """The bytes that may count of a send; of one without bodies, which may be left out, any number."""
    messages = record.args["messages"]
    return most_of(messages) if all(message.body for message in messages) else FOREVER


def _uses(record: Record) -> bool:
    """A send of something that has a size, or one that is refused for a quota."""
    return record.error == "quota" or any(message.body for message in record.args.get("messages", ()))


USE: Final = Use(
    uses=_uses,
    rule="ENT-6",
    what="sizes of entities",
    matters=lambda record, end: False,
    chosen=lambda entity: entity.max_size is not None,
    alone=True,
    compared=_compared,
)


def _full(facts: Facts) -> int:
    """Each send that was refused as an entity whose size is known may be full."""
    sends = (record for record in facts.records if record.op in _SENDS and "txn" not in record.args)
    return sum(record.error == "quota" and facts.entity.max_size is not None for record in sends)


EXERCISED: Final[Mapping[str, Exercise]] = {"ENT-6": Exercise(_full, ("send",), judged=True)}
