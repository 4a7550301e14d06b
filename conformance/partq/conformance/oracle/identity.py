"""Resolves to which birth of a message each appearance in a history, and each argument, refers.

A scheduled message is born twice: when it is scheduled, and with another number when it is activated. Here
each appearance, and each number that an argument names, gets the name of one birth, as `messages` has them,
or it is `Ambiguous`. What follows, the judge's static pass and the model, knows names of births alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec import structs

from partq.conformance.history import Record
from partq.conformance.oracle.roles import CANCELS, LOOKS, NUMBERS, ROLES, SCHEDULES, Role
from partq.model.configuration import FOREVER
from partq.model.messages import (
    SCHEDULED,
    Delivery,
    Message,
    as_active,
    as_again,
    as_scheduled,
    is_dead,
    is_scheduled,
)

READ: Final = frozenset({"PEEK-7", "SCH-6"})
"""The requirements whose waiver changes the names of births."""

Sends = dict[str, tuple[Record, Message]]
"""By scheduled message: its send, unless that was refused."""


def numbers_named(record: Record) -> tuple[int, ...]:
    """The numbers by which its arguments name messages."""
    named: int | Sequence[int] = record.args[NUMBERS[record.op]] if record.op in NUMBERS else ()
    return (named,) if isinstance(named, int) else tuple(named)


class Ambiguous(Exception):
    """An appearance may be of more than one birth. The text names the message."""


def _schedules(record: Record) -> bool:
    return record.op == CANCELS or any(one.scheduled_at is not None for one in record.sent)


def changed_by(records: Sequence[Record]) -> frozenset[str]:
    """The rules which, waived, may have these records named otherwise."""
    return READ if any(map(_schedules, records)) else frozenset()


def by_birth(
    records: Sequence[Record], skew: int, waived: frozenset[str] = frozenset(), guess: bool = False
) -> tuple[Record, ...]:
    """The records with names of births: of what is sent and shown, and, as ``about``, of what numbers name.
    Times of different clients may differ by ``skew`` (ns). ``waived``: with SCH-6 among it a message that is
    shown under another number once it was active was activated again; with PEEK-7 states say nothing.
    ``guess``: whether a message was scheduled first may be guessed. Raises `Ambiguous`."""
    sends = {
        message.id: (record, message)
        for record in records
        for message in (record.sent if not record.refused else ())
        if message.scheduled_at is not None
    }
    if not sends and all(record.op not in NUMBERS for record in records):
        return tuple(records)
    if any(message.id != as_active(message.id) for r in records for message in r.sent):
        raise Ambiguous("a message bears the name of a birth")
    births = _Births(records, sends, skew, waived, guess)
    return tuple(births.named(record) for record in records)


def late_cancels(records: Sequence[Record], skew: int) -> Iterator[tuple[Record, str | None]]:
    """The cancels that may have met an activation (SCH-5), and the ID of the message, None where no answer
    shows whose number it is. What a transaction cancels may be activated until that ends."""
    due: dict[str, int] = {}
    ends: dict[str, int] = {}
    for record in records:
        for message in record.sent:
            if message.scheduled_at is not None:
                due[message.id] = min(message.scheduled_at, due.get(message.id, FOREVER))
        if "txn" in record.args:
            ends[record.args["txn"]] = max(record.end, ends.get(record.args["txn"], 0))
    told = ((shown, shown.state == SCHEDULED or r.op == SCHEDULES) for r in records for shown in r.messages)
    ids = {shown.seq: shown.id for shown, waits in told if waits and shown.id in due}
    for record in records:
        if record.op == CANCELS:
            id = ids.get(record.args["seq"])
            at = min(due.values(), default=FOREVER) if id is None else due[id]
            if at - skew <= max(record.end, ends.get(record.args.get("txn", ""), 0)):
                yield record, id


class _Births:
    """What tells the births of the history's messages apart. ``numbers``: those under which each is certainly
    shown while scheduled (True), or later. ``shown``: the messages that are shown while they are scheduled:
    of others the time had come when they were sent. ``stored``: what may be stored at all."""

    def __init__(
        self, records: Sequence[Record], sends: Sends, skew: int, waived: frozenset[str], guess: bool
    ) -> None:
        self.sends = sends
        self.guess = guess
        self.skew = skew
        self.labels = "PEEK-7" not in waived
        self.states = self.labels and any(shown.state is not None for r in records for shown in r.messages)
        self.recurring = "SCH-6" in waived
        self.stored = {message.id for r in records if not r.refused for message in r.sent}
        self.ends = {record.args["txn"]: record for record in records if ROLES.get(record.op) is Role.END}
        self.numbers: dict[tuple[str, bool], dict[int, None]] = {}
        labelled, untold = set(), list[tuple[str, int]]()
        for record, shown in self._appearances(records):
            waits = self._certainly(record, shown)
            if waits is not None and shown.seq is not None:
                self.numbers.setdefault((shown.id, waits), {})[shown.seq] = None
            elif shown.seq is not None:
                untold.append((shown.id, shown.seq))
            if self.labels and shown.state == SCHEDULED:
                labelled.add(shown.id)
        for id, seq in () if self.recurring else untold:  # not the one that it had when it was delivered
            if seq not in self.numbers.get((id, False), {seq: None}):
                self.numbers.setdefault((id, True), {})[seq] = None
        self.shown = {id for id in sends if id in labelled or self._waited(id)}
        self.names = self._by_number(records)

    def _appearances(self, records: Sequence[Record]) -> Iterator[tuple[Record, Delivery]]:
        return ((r, shown) for r in records for shown in r.messages if shown.id in self.sends)

    def _certainly(self, record: Record, shown: Delivery) -> bool | None:
        """Whether it is shown while it is scheduled; None where only a number may tell."""
        if record.op == SCHEDULES or (self.labels and shown.state == SCHEDULED):
            return True
        if record.op not in LOOKS or self.states:
            return False
        due = self.sends[shown.id][1].scheduled_at or 0
        return True if record.ret is not None and record.ret < due - self.skew else None

    def _waited(self, id: str) -> bool:
        """Whether its time had not come when it was sent, or the number that it had then is not its last."""
        record, message = self.sends[id]
        if (message.scheduled_at or 0) > self._stored_by(record) + self.skew:
            return True
        scheduled, active = ({*self.numbers.get((id, waits), ())} for waits in (True, False))
        apart = bool(scheduled) and not scheduled & active
        if self.guess:
            return apart
        if scheduled and not active:
            raise Ambiguous(f"whether {id!r} was scheduled first is not shown")
        if "txn" in record.args and not apart:
            raise Ambiguous(f"whether {id!r} was scheduled first, in a transaction, is not shown")
        return apart

    def _stored_by(self, send: Record) -> int:
        """The instant by which a message is stored, if it is, ns: in a transaction, its end."""
        end = self.ends.get(send.args["txn"], send) if "txn" in send.args else send
        return FOREVER if end.ret is None or end.unknown else end.ret

    def _by_number(self, records: Sequence[Record]) -> dict[int, str]:
        """Under which number each birth is shown; that of a scheduled one, where several are. What clients
        name by number is in the queue itself: the dead-letter queue has numbers of its own."""
        found: dict[int, str] = {}
        for record in records:
            for shown in record.messages:
                if shown.seq is not None and not is_dead(shown.id):
                    name = self._name(record, shown)
                    if name != shown.id or shown.seq not in found:
                        found[shown.seq] = name
        return found

    def _name(self, record: Record, shown: Delivery) -> str:
        if shown.id not in self.sends:
            return shown.id
        if shown.id not in self.shown:
            unnumbered = record.op == SCHEDULES and shown.seq is None  # it may be activated after the answer
            return as_scheduled(shown.id) if unnumbered else self._active(shown)
        waits = self._certainly(record, shown)
        if waits is None:
            known = [kind for kind in (True, False) if shown.seq in self.numbers.get((shown.id, kind), ())]
            if len(known) != 1 and not self.labels and shown.state is not None:
                known = [shown.state == SCHEDULED]  # nothing but the state tells
            if len(known) != 1:
                raise Ambiguous(f"whether {shown.id!r} is scheduled still is not shown")
            waits = known[0]
        return as_scheduled(shown.id) if waits else self._active(shown)

    def _active(self, shown: Delivery) -> str:
        first = next(iter(self.numbers.get((shown.id, False), ())), None)
        again = self.recurring and shown.seq not in (None, first)
        return as_again(shown.id) if again else shown.id

    def named(self, record: Record) -> Record:
        """The record with names of births."""
        args: Mapping[str, Any] = record.args
        if any(message.id in self.sends for message in args.get("messages", ())):
            args = {**args, "messages": tuple(self._sent(message) for message in args["messages"])}
        elif record.op in NUMBERS:
            args = {**args, "about": self._about(record)}
        messages = tuple(self._shown(record, shown) for shown in record.messages)
        same = args is record.args and messages == record.messages
        return record if same else structs.replace(record, args=args, messages=messages)

    def _sent(self, message: Message) -> Message:
        return replace(message, id=as_scheduled(message.id)) if message.id in self.sends else message

    def _shown(self, record: Record, shown: Delivery) -> Delivery:
        """The appearance of a scheduled message, whose enqueued time says nothing."""
        name = self._name(record, shown)
        if name == shown.id:
            return shown
        return shown._replace(id=name, enqueued_at=None if is_scheduled(name) else shown.enqueued_at)

    def _about(self, record: Record) -> tuple[str, ...]:
        """The births with the numbers that it names; numbers that no message has are left out, and where it
        was refused those of which it is not shown whose they are: no message need have them."""
        seqs = numbers_named(record)
        unknown = [seq for seq in seqs if seq not in self.names]
        if unknown and not record.refused and self._unnumbered(record.op):
            raise Ambiguous(f"which message has the number {unknown[0]} is not shown")
        return tuple(dict.fromkeys(self.names[seq] for seq in seqs if seq in self.names))

    def _unnumbered(self, op: str) -> bool:
        """Whether a message that the operation may be about is never shown with its number."""
        if op == CANCELS:
            return any((id, True) not in self.numbers for id in self.shown)
        return not self.stored <= {as_active(name) for name in self.names.values()}
