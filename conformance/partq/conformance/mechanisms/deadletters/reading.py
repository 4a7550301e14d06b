"""Dead letters as a history shows them: which appearance is of the dead-letter queue, what certainly came
there, and whether the reason is one that somebody gave (RCV-9).

What a history shows of that queue has the name of its own birth (`messages.as_dead`), and nothing of what no
rule binds there. A message that is shown there came there before: the move is an effect of its own, as an
activation is. Of one that is not shown there nothing has to be explained but that it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import structs

from partq.conformance.history import Record
from partq.conformance.history.entities import is_dead_letters
from partq.conformance.oracle.effects import Effect, appearances_of
from partq.conformance.oracle.identity import Ambiguous
from partq.conformance.oracle.roles import DELIVERS, LOOKS, SETTLES
from partq.conformance.oracle.subqueues import Subqueue
from partq.model.actions import BURY, Action, Observed
from partq.model.deadletters.norm import OWN
from partq.model.messages import Delivery, Message, as_active, as_dead, is_dead
from partq.model.operations import DEAD_LETTER, OPS
from partq.model.profiles import Profile, requirements_of

_READ: Final = frozenset({"RCV-9"})
"""The rules that, waived, have the moves read otherwise."""

_ANY: Final = None
"""A holder's reason that is not recorded: any may be shown."""

Reasons = Mapping[str, frozenset[str | None]]
"""Message -> what its holders, as far as they were not refused, gave as reasons."""


def _in_two_queues(family: Profile, records: Sequence[Record], dead: str) -> tuple[Record, ...]:
    """The records of a queue and its dead-letter queue, of that name, with names of births, and with which of
    the two is asked as the argument ``entity``. Raises `Ambiguous` for what is not modelled."""
    if "RCV-9" not in requirements_of(family.name):
        raise Ambiguous("dead-letter queues are not modelled where the profile promises nothing of them")
    if any(is_dead(message.id) for r in records for message in r.sent):
        raise Ambiguous("a message bears the name of a birth")
    locks = {d.lock for r in records if r.entity == dead and r.op in DELIVERS for d in r.messages}
    mine = [r for r in records if r.entity == dead or not locks.isdisjoint(r.lock_tokens)]
    looks = any(record.op in LOOKS for record in mine)
    if looks and family.shows_seq and any(shown.seq is None for r in mine for shown in r.messages):
        raise Ambiguous("a dead letter is shown without its number, and the queue is peeked")
    _check_settlements(mine, locks)
    of_dead = {record.i for record in mine}
    return tuple(_named(record) if record.i in of_dead else record for record in records)


def _changed_by(records: Sequence[Record]) -> frozenset[str]:
    """Those of `_READ` that make a difference: where something is shown in a dead-letter queue."""
    return _READ if any(r.messages and is_dead_letters(r.entity) for r in records) else frozenset()


def _check_settlements(mine: Sequence[Record], locks: set[str | None]) -> None:
    for record in mine:
        if not locks.issuperset(record.lock_tokens):
            raise Ambiguous("a settlement names locks of both queues")
        if record.op in SETTLES and (record.op == DEAD_LETTER or "txn" in record.args):
            raise Ambiguous("dead letters are dead-lettered, or settled in a transaction")


def _named(record: Record) -> Record:
    messages = tuple(
        shown._replace(id=as_dead(shown.id), enqueued_at=None, delivery_count=None, redelivered=None)
        for shown in record.messages
    )
    asks = "entity" in OPS[record.op].args
    args = {**record.args, "entity": DEAD_LETTER} if asks else record.args
    return structs.replace(record, args=args, messages=messages)


def _burials(records: Sequence[Record], waived: frozenset[str]) -> Iterator[Effect]:
    """The moves of the broker by which what is shown in the dead-letter queue came there: after the message
    was sent, and last shown where it was, and before it is shown there. With RCV-9 waived it may have stayed
    where it was, too, and come there for any reason."""
    given, anyhow = _given(records), not _READ.isdisjoint(waived)
    for id, hint in appearances_of(records).items():
        if is_dead(id):
            first = min(
                (r for r in records if any(d.id == id for d in r.messages)), key=lambda record: record.end
            )
            reason = next((d.reason for r in records for d in r.messages if d.id == id and d.reason), None)
            told = reason if anyhow else _told(reason, given.get(as_active(id), frozenset()))
            hint = hint._replace(reason=told)
            began = [r.call for r in records if _before(r, as_active(id), anyhow)]
            call = min(max(began, default=first.call), first.end)
            action = Action(BURY, messages=(Message(id),), about=(as_active(id),))
            yield Effect(
                first.i, call, first.end, action, Observed(messages=(hint,)), rank=len(first.messages)
            )


def _before(record: Record, id: str, sends: bool) -> bool:
    """Whether the record certainly came before the message was set aside: its send, or, unless the ``sends``
    alone count, what shows it where it was."""
    if any(as_active(message.id) == id for message in record.sent):
        return True
    return not sends and any(shown.id == id for shown in record.messages)


def _given(records: Sequence[Record]) -> Reasons:
    held = {shown.lock: shown.id for record in records for shown in record.messages if shown.lock is not None}
    found: dict[str, set[str | None]] = {}
    for record in records:
        moves = record.op == DEAD_LETTER and not record.refused
        for token in record.lock_tokens if moves else ():
            found.setdefault(held.get(token, ""), set()).add(record.args.get("reason", _ANY))
    return {id: frozenset(reasons) for id, reasons in found.items()}


def _told(reason: str | None, given: frozenset[str | None]) -> str | None:
    """The reason, if it tells whether the holder set the message aside or the broker did."""
    by_holder = _ANY in given or reason in given
    return None if by_holder and (_ANY in given or reason in OWN) else reason


def _wrong_reason(records: Sequence[Record], waived: frozenset[str]) -> tuple[str, int, str] | None:
    """The first dead letter that is shown with a reason that neither a holder nor the broker gave, or with
    another one than before."""
    given, known = _given(records), dict[str, str]()
    for record in records if _READ.isdisjoint(waived) else ():
        for shown in record.messages:
            if is_dead(shown.id) and shown.reason is not None and (why := _wrong(shown, given, known)):
                return "RCV-9", record.i, why
    return None


def _wrong(shown: Delivery, given: Reasons, known: dict[str, str]) -> str:
    id, reason = as_active(shown.id), shown.reason or ""
    reasons = given.get(id, frozenset())
    if known.setdefault(id, reason) != reason:
        return f"{id!r} was dead-lettered for {known[id]!r}, and is shown with {reason!r}"
    if _ANY in reasons or reason in reasons or reason in OWN:
        return ""
    return f"{id!r} is shown as dead-lettered for {reason!r}, which no client gave as the reason"


SUBQUEUE: Final = Subqueue(_READ, _changed_by, _in_two_queues, _wrong_reason, _burials)
