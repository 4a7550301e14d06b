"""What the broker showed of each message: its partition, its number, and since when it can have had them.

Shared by the screens; reached by ``facts.derive(Placements)``. Only messages whose ID was sent once are
followed. Nothing here judges; oddities are noted for the screen that owns them.
"""

from __future__ import annotations

from msgspec import Struct

from partq.conformance.facts.index import FOREVER, Facts, Observation, Sent
from partq.conformance.facts.records import returned
from partq.conformance.history import Record
from partq.model.operations import Outcome
from partq.model.state import COUNTER_BITS


class Placement(Struct, frozen=True, eq=False, gc=False):
    """A message that was seen, with what its first appearance says.

    ``partition`` is 0 on a non-partitioned entity, None where the broker does not show it. The message was
    accepted between ``earliest`` and ``latest``. ``times``: the enqueued times that it was ever shown with,
    in order. ``redelivered``: a lock on it had ended before.
    """

    sent: Sent
    partition: int | None
    seq: int | None
    times: tuple[int, ...]
    earliest: int
    latest: int
    seen: Observation
    redelivered: bool


class Placements:
    """``all``: the messages that were seen and may have been accepted · ``numbers``: number -> who bore
    it first · ``clashes``: two messages of one number · ``repeated``: how many messages were seen more than
    once · ``renumbered``: all appearances of each message that had two numbers · ``names``: (top 16 bits,
    partition the broker named) -> the first such appearance · ``unnumbered``: appearances without a number.
    """

    __slots__ = ("all", "clashes", "names", "numbers", "renumbered", "repeated", "unnumbered")

    def __init__(self, facts: Facts) -> None:
        self.all: list[Placement] = []
        self.numbers: dict[int, Observation] = {}
        self.clashes: list[tuple[Observation, Observation]] = []
        self.repeated = 0
        self.renumbered: list[list[Observation]] = []
        self.names: dict[tuple[int, int], Observation] = {}
        self.unnumbered: list[Observation] = []
        received, peeked, flat = facts.received, facts.peeked, not facts.profile.partitioned
        for id, seen in received.items():
            if id in peeked:
                seen = sorted(seen + peeked[id], key=_by_call)
            self._note(facts, facts.by_id.get(id), seen, flat)
        for id, seen in peeked.items():
            if id not in received:
                self._note(facts, facts.by_id.get(id), seen, flat)

    def _note(self, facts: Facts, sends: list[Sent] | None, seen: list[Observation], flat: bool) -> None:
        self._note_numbers(seen, flat)
        if sends is not None and len(sends) == 1:
            if len(seen) > 1:
                self.repeated += 1
                first = seen[0].delivery.seq
                if any(one.delivery.seq != first and one.delivery.seq is not None for one in seen):
                    self.renumbered.append(seen)
            if sends[0].record.outcome != Outcome.ERROR:
                self.all.append(_placement(facts, sends[0], seen, flat))

    def _note_numbers(self, seen: list[Observation], flat: bool) -> None:
        numbers = self.numbers
        for one in seen:
            delivery = one.delivery
            seq = delivery.seq
            if seq is None:
                self.unnumbered.append(one)
                continue
            first = numbers.setdefault(seq, one)
            if first is not one and first.delivery.id != delivery.id:
                self.clashes.append((first, one))
            if delivery.partition is not None and not flat:
                self.names.setdefault((seq >> COUNTER_BITS, delivery.partition), one)


def _placement(facts: Facts, sent: Sent, seens: list[Observation], flat: bool) -> Placement:
    seen, record = seens[0], sent.record
    delivery = seen.delivery
    seq, partition = delivery.seq, delivery.partition
    if flat:
        partition = 0
    elif partition is None and seq is not None:
        partition = seq >> COUNTER_BITS
    latest = min(returned(seen.record), _accepted(facts, record))
    if len(seens) == 1:
        times: tuple[int, ...] = () if delivery.enqueued_at is None else (delivery.enqueued_at,)
    else:
        shown = {one.delivery.enqueued_at for one in seens}
        times = tuple(sorted(at for at in shown if at is not None))
    again = bool(delivery.delivery_count or delivery.redelivered)
    return Placement(sent, partition, seq, times, record.call, latest, seen, again)


def _accepted(facts: Facts, record: Record) -> int:
    """When what was sent certainly had been accepted, as its sender knows; `FOREVER`: never certainly."""
    if "txn" in record.args:
        txn = facts.txns[record.args["txn"]]
        return FOREVER if txn.committed_by is None or txn.is_late(record) else txn.committed_by
    return record.ret if record.ret is not None and record.outcome == Outcome.OK else FOREVER


def _by_call(seen: Observation) -> int:
    return seen.record.call
