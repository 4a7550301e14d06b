"""The lifetime of each message: its send, its deliveries and peeks, and from when on it was stored.

A message is followed if its ID was sent once and only clients' operations affect it; for the others
`Lifetimes.left_out` says why they are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct

from partq.conformance.facts.index import CALL, FOREVER, Facts, Observation, Sent
from partq.conformance.facts.locks import Locks
from partq.conformance.facts.records import REMOVALS
from partq.conformance.history import Record
from partq.model.grouping import grouped
from partq.model.messages import Delivery, ambiguous

SENT_TWICE: Final = "its ID was sent more than once"
SCHEDULED: Final = "it is scheduled: it gets another number when its time comes (SCH-4)"
EXPIRING: Final = "its time to live may end"
TWO_KEYS: Final = "it has two keys, and no source says which one counts (KEY-8)"


class Lifetime(Struct, eq=False, gc=False):
    """One message that is followed.

    ``record``: its send · ``deliveries``, ``peeks``, ``appearances``: how it was shown, either way and both,
    each in order of calls · ``partition``, ``seq``: what the first of them shows (0 on a non-partitioned
    entity, None where the broker does not show it) · ``accepted``: when it certainly had been accepted, as
    its sender knows; `FOREVER`: never certainly · ``certainly_from``: when it certainly had been stored, by
    its sender's answer or its first appearance · ``times``: the enqueued times that it was ever shown with,
    in order · ``redelivered``: whether a lock on it had ended before its first appearance.
    """

    id: str
    sent: Sent
    record: Record
    deliveries: Sequence[Observation]
    peeks: Sequence[Observation]
    appearances: Sequence[Observation]
    accepted: int
    certainly_from: int
    partition: int | None = None
    seq: int | None = None
    times: tuple[int, ...] = ()
    redelivered: bool = False

    @property
    def possibly_from(self) -> int:
        """When it may have been stored at the earliest: the call of its send."""
        return self.record.call

    @property
    def seen(self) -> bool:
        """Whether any client received or peeked it."""
        return bool(self.appearances)

    @property
    def first(self) -> Observation:
        """The earliest of its appearances, of which there must be one."""
        return self.appearances[0]

    @property
    def removal(self) -> Removal:
        """The operations that may have removed it: its deliveries, and the settlements of their locks."""
        answered = tried = certain = FOREVER
        last = self.appearances[-1].call if self.appearances else -1
        for seen in self.deliveries:
            if seen.delivery.lock is None:
                answered = min(answered, seen.call)
                if certain == FOREVER and seen.record.deletes:
                    certain = seen.ret
            for settlement in seen.settlements:
                called, removes = settlement.call, settlement.op in REMOVALS
                if settlement.ok:
                    last = max(last, called)
                    if removes:
                        answered = min(answered, called)
                        if certain == FOREVER and "txn" not in settlement.args:
                            certain = settlement.end
                elif removes:
                    tried = min(tried, called)
        return Removal(answered, tried, certain, last)


class Removal(Struct, frozen=True, gc=False):
    """The operations that may have removed a message.

    ``answered``: the earliest call of what removes it, and was answered so · ``tried``: that of a removal
    that was not · ``certain``: the return of what certainly removed it, outside transactions; `FOREVER`:
    there is none · ``last_there``: the latest call that shows it there; -1: none does.
    """

    answered: int
    tried: int
    certain: int
    last_there: int


class Lifetimes:
    """``by_id``: ID -> the lifetime of each message that is followed, in order of sends · ``left_out``: ID ->
    why another one that was sent is not followed · ``unseen``: those that no client saw, in order of sends ·
    ``delivered``: those that were received, in order of their first receives · ``stored``: those that were
    seen and may have been accepted, the ones received first · ``placed``: those of them whose number and
    partition are known, by partition · ``get``: the lifetime of an ID, if it is
    followed."""

    def __init__(self, facts: Facts) -> None:
        self.by_id: dict[str, Lifetime] = {}
        self.get = self.by_id.get
        self.left_out: dict[str, str] = {}
        self.unseen: list[Lifetime] = []
        facts.derive(Locks)  # fills in the deliveries
        received, peeked = facts.received, facts.peeked
        for id, sends in facts.by_id.items():
            why = _left_out(facts, sends)
            if why is not None:
                self.left_out[id] = why
                continue
            sent, seens, peeks = sends[0], received.get(id, ()), peeked.get(id, ())
            record, accepted = sent.record, _accepted(facts, sent.record)
            appearances = in_order(seens, peeks)
            life = Lifetime(id, sent, record, seens, peeks, appearances, accepted, accepted)
            if appearances:
                _place(facts, life)
            else:
                self.unseen.append(life)
            self.by_id[id] = life
        self.delivered = [life for life in map(self.get, received) if life is not None]
        peeked_only = (self.get(id) for id in peeked if id not in received)
        self.stored = [
            life for life in (*self.delivered, *peeked_only) if life is not None and not life.record.refused
        ]

    @cached_property
    def placed(self) -> dict[int, list[Lifetime]]:
        numbered = (life for life in self.stored if life.seq is not None)
        return grouped((life.partition, life) for life in numbered if life.partition is not None)

    def twice_in(self, answer: Record) -> Delivery | None:
        """The first message that is followed and in the answer for the second time."""
        once = set()
        for delivery in answer.messages:
            if delivery.id in once and delivery.id in self.by_id:
                return delivery
            once.add(delivery.id)
        return None


def in_order(deliveries: Sequence[Observation], peeks: Sequence[Observation]) -> Sequence[Observation]:
    """A message's deliveries and peeks, in order of calls, as each of the two is."""
    return sorted((*deliveries, *peeks), key=CALL) if deliveries and peeks else deliveries or peeks


def scheduled(sent: Sent) -> bool:
    """Whether the message is stored for a later time."""
    return sent.message.scheduled_at is not None or sent.record.op == "schedule"


def _left_out(facts: Facts, sends: Sequence[Sent]) -> str | None:
    """Why a message with these sends is not followed; None if it is."""
    if len(sends) > 1:
        return SENT_TWICE
    sent, message = sends[0], sends[0].message
    if scheduled(sent):
        return SCHEDULED
    if (
        message.ttl is not None
        and sent.record.call + message.ttl <= facts.derive(_end) + facts.header.skew_ns
    ):
        return EXPIRING
    if message.properties and ambiguous(message, facts.profile.key_rule):
        return TWO_KEYS
    return None


def _end(facts: Facts) -> int:
    """The last known return of an operation."""
    return max(record.call if record.ret is None else record.ret for record in facts.records)


def _accepted(facts: Facts, record: Record) -> int:
    if "txn" in record.args:
        txn = facts.txns[record.args["txn"]]
        return FOREVER if txn.committed_by is None or txn.is_late(record) else txn.committed_by
    return record.ret if record.ret is not None and record.ok else FOREVER


def was_delivered(seen: Observation) -> bool:
    """Whether the broker says that it had delivered the message before this appearance, seen or not."""
    return bool(seen.delivery.delivery_count or seen.delivery.redelivered)


def _place(facts: Facts, life: Lifetime) -> None:
    """Note what the first appearance shows."""
    first = life.appearances[0]
    delivery = first.delivery
    life.seq = delivery.seq
    life.redelivered = was_delivered(first)
    life.partition = first.partition if facts.profile.partitioned else 0
    if first.ret < life.accepted:
        life.certainly_from = first.ret
    times = {at for one in life.appearances if (at := one.delivery.enqueued_at) is not None}
    life.times = tuple(sorted(times))
