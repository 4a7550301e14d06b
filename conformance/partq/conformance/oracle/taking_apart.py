"""A history taken apart into effects.

A front end asks each partition by itself. So a receive, a peek or a keyless batch that touches several has an
effect in each of them, with an instant of its own; a flow is handed its messages one by one. An operation of
unknown outcome may not have happened, or may take effect at any time after its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from partq.conformance.history import Header, Record
from partq.conformance.oracle.effects import (
    BUSY,
    MAYBE,
    UNSUPPORTED,
    Effect,
    appearances_of,
    name_of,
    names_of,
)
from partq.conformance.oracle.hidden_locks import missed_by
from partq.conformance.oracle.outlived import with_fates
from partq.conformance.oracle.roles import BATCHES, DELIVERS, DOWN, SCHEDULES, TELLS, UP, Role, by_role
from partq.model.actions import ACTIVATE, STORE, Action, Observed, action_of
from partq.model.configuration import FOREVER
from partq.model.grouping import grouped
from partq.model.messages import Delivery, as_active, as_again, as_dead, conflicting, is_scheduled
from partq.model.operations import CLOCK, CONNECTION_LOST, LINK_LOST, UNAVAILABLE, UNDOES, Outcome
from partq.model.profiles import Entity, Profile, profile

UNNAMED: Final = frozenset({"SEQ-2", "SEQ-5"})
"""If one of these is waived a message may be in another partition than its number says."""

_BUSY: Final = UNAVAILABLE | {UNSUPPORTED}

WITHHELD: Final = frozenset(
    {
        *("KEY-3", "KEY-7", "ROUTE-5", "ROUTE-6", "ROUTE-8", "RCV-1"),
        *("TXN-1", "TXN-2", "TXN-3", "TXN-4", "TXN-5", "TXN-10"),
    }
)
"""With one of these waived a message may be stored at another time than that of its send
(`routing.deviations.store_withheld`)."""

_OUTAGE_RULES: Final = frozenset({"ROUTE-5", "ROUTE-6", "ROUTE-8"})
"""Those of them that concern partitions that are down."""

_EARLY: Final = frozenset({"SCH-1", "SCH-3"})
"""With one of these waived what is scheduled, or was cancelled, may come before its time."""

READ: Final = WITHHELD | UNNAMED | _EARLY | {"ROUTE-1", "SCH-2"}
"""The requirements whose waiver changes the effects."""


def effects_of(
    header: Header,
    records: Sequence[Record],
    entity: Entity,
    whole: bool = False,
    waived: frozenset[str] = frozenset(),
) -> tuple[Effect, ...]:
    """The effects of one entity's records, in the order of the records. ``whole``: what a flow is handed in
    one answer is one effect, which is stricter than the rules. ``waived``: with KEY-7 waived a batch is
    stored message by message, with those of `WITHHELD` a message may be stored later than it was sent, with
    ROUTE-1 waived a repair may be felt twice, first by what serves again and then by the keys. Stretches of
    time are in the calls already."""
    family = profile(header.profile)
    told = records
    if any(record.op == SCHEDULES for record in records) and "SCH-2" in waived:
        told = [record for record in records if record.op != SCHEDULES]
    appearances = appearances_of(told)
    if family.flows:  # where partitions are not to be shown (REB-15), what is shown says nothing
        appearances = {
            id: shown if shown.partition is None else shown._replace(partition=None)
            for id, shown in appearances.items()
        }
    showings = _showings(records, appearances)
    missed = missed_by(records, entity.lock_duration if family.locks_expire else 0)
    unseen = {m.id for r in records for m in r.sent}
    if waived.isdisjoint(UNNAMED):
        unseen -= appearances.keys()
    positions = min(entity.partitions, len(names_of(records, family.partitioned)) + len(unseen)) or 1
    outage = min((r.call for r in records if r.op == DOWN), default=FOREVER)
    found: list[Effect] = []
    for record in records:
        if record.op != CLOCK and not _never_happened(record):
            effect = _effect(record, header, appearances)
            if record.op in DELIVERS and record.i in missed:
                effect = effect._replace(missed=missed[record.i])
            if whole and family.flows and not effect.action.messages:
                found.append(effect)
            else:
                torn = "KEY-7" in waived and effect.action.op == BATCHES
                found.extend(_of_torn_batch(effect) if torn else _parts(effect, family, entity, positions))
            if "ROUTE-1" in waived and record.op in UNDOES:
                found.append(effect._replace(rank=1))
            found.extend(_activations(record, showings, header.skew_ns, waived))
            if not waived.isdisjoint(WITHHELD) and _may_be_withheld(effect, waived, outage):
                found.extend(_stored_later(effect))
    _with_waiting(found, family, entity)
    if family.flows:
        with_fates(found, header.lateness + 2 * header.skew_ns + len(records))
    return tuple(found)


class Showing(NamedTuple):
    """How a message is shown that was scheduled, and by when it was activated, ns."""

    hint: Delivery
    until: int


def _showings(records: Sequence[Record], appearances: Mapping[str, Delivery]) -> dict[str, Showing]:
    """Of each message that is shown, if any was scheduled."""
    if not any(is_scheduled(m.id) for r in records for m in r.sent):
        return {}
    until: dict[str, int] = {}
    for record in records:
        for shown in record.messages:
            until[shown.id] = min(until.get(shown.id, FOREVER), record.end)
    return {id: Showing(appearances[id], ret) for id, ret in until.items() if id in appearances}


def _activations(
    record: Record, showings: Mapping[str, Showing], skew: int, waived: frozenset[str]
) -> Iterator[Effect]:
    """The moves of the broker by which what the record scheduled is activated, from its time on: it has to,
    if it is shown then; with SCH-6 waived it may be once more."""
    messages = record.sent
    if record.refused:
        return
    for rank, message in enumerate(messages, start=len(messages)):
        if message.scheduled_at is None or not is_scheduled(message.id):
            continue
        active = replace(message, id=as_active(message.id))
        action = Action(ACTIVATE, messages=(active,), about=(message.id,))
        due = max(record.call, message.scheduled_at - skew) if waived.isdisjoint(_EARLY) else record.call
        effect = Effect(record.i, due, FOREVER, action, Observed(), MAYBE, rank)
        yield _shown_by(effect, showings.get(active.id))
        if (again := showings.get(as_again(active.id))) is not None:
            twice = action._replace(messages=(replace(active, id=again.hint.id),))
            yield _shown_by(effect._replace(action=twice, rank=rank + len(messages)), again)


def _shown_by(activation: Effect, showing: Showing | None) -> Effect:
    """What certainly took place before it was shown."""
    if showing is None:
        return activation
    return activation._replace(
        ret=max(activation.call, showing.until), observed=Observed(messages=(showing.hint,)), doubt=0
    )


def _may_be_withheld(effect: Effect, waived: frozenset[str], outage: int) -> bool:
    """Whether what the history shows of a send may be stored later: it was refused, or is part of a
    transaction, or had to be refused. ``outage``: when the first one began, ns."""
    if effect.doubt & MAYBE or not effect.action.messages:
        return False
    if effect.observed.status == Outcome.ERROR or effect.action.txn is not None:
        return True
    conflict = "KEY-3" in waived and any(map(conflicting, effect.action.messages))
    return conflict or (effect.ret >= outage and not waived.isdisjoint(_OUTAGE_RULES))


def changed_by(records: Sequence[Record]) -> frozenset[str]:
    """The rules of `READ` which, waived, have these records taken apart otherwise whatever became of them. Of
    the others the model tells whether they make a difference."""
    ops = {record.op for record in records}
    sent = (message for record in records for message in record.sent)
    found = {"KEY-7"} if BATCHES in ops else set()
    found |= {"ROUTE-1"} if not ops.isdisjoint(UNDOES) else set()
    found |= {"SCH-2"} if SCHEDULES in ops else set()
    return frozenset(found | ({"SCH-1"} if any(m.scheduled_at is not None for m in sent) else set()))


def _stored_later(effect: Effect) -> Iterator[Effect]:
    """An effect for each message of the send that the history shows: stored at any time after the call."""
    for rank, message in enumerate(effect.action.messages, start=len(effect.action.messages)):
        shown = tuple(hint for hint in effect.observed.messages if hint.id == message.id)
        if shown:
            action = Action(STORE, messages=(message,))
            yield Effect(effect.record, effect.call, FOREVER, action, Observed(messages=shown), rank=rank)


def _never_happened(record: Record) -> bool:
    """Whether the broker does not offer the operation (in a transaction that is a refusal), or could not be
    made to have the fault."""
    if not record.refused:
        return False
    return record.is_env or (record.error == UNSUPPORTED and "txn" not in record.args)


def _with_waiting(effects: list[Effect], family: Profile, entity: Entity) -> None:
    """Note at each end of an outage the keyless sends that it may have kept waiting."""
    sends = [n for n, effect in enumerate(effects) if _is_keyless(effect, family, entity)]
    began: dict[int | None, int] = {}
    for n, effect in enumerate(effects):
        name = effect.action.partition
        if effect.action.op == DOWN:
            began.setdefault(name, effect.call)
        elif effect.action.op == UP and name in began:
            since = began.pop(name)
            waiting = [k for k in sends if effects[k].ret >= since and effects[k].call <= effect.ret]
            effects[n] = effect._replace(waiting=tuple(waiting))


def _is_keyless(effect: Effect, family: Profile, entity: Entity) -> bool:
    """Whether it is a send without a key, outside transactions, that was not refused."""
    action = effect.action
    return (
        bool(action.messages)
        and action.txn is None
        and family.partitioned
        and effect.ok
        and all(family.key_of(message, entity) is None for message in action.messages)
    )


def _effect(record: Record, header: Header, appearances: Mapping[str, Delivery]) -> Effect:
    """The record as a single effect."""
    unknown = record.unknown
    ret = FOREVER if record.ret is None or unknown else record.ret
    if record.op == LINK_LOST and record.error == CONNECTION_LOST and record.ret is not None:
        ret = record.ret + header.lateness  # its client knew
    refused = record.refused and record.error in _BUSY
    action = action_of(record.op, record.proc, record.args)
    if header.clock == "wall" and "timeout" not in record.args:
        action = action._replace(timeout=ret - record.call)  # it certainly would have waited so long
    shown = record.messages
    if action.messages:
        hints = (_hint(message.id, appearances) for message in action.messages)
        shown = tuple(hint for hint in hints if hint is not None)
    error = None if unknown or record.error == UNSUPPORTED else record.error
    observed = Observed(Outcome.OK if unknown else str(record.outcome), error, shown)
    harmless = record.op == LINK_LOST and not profile(header.profile).flows  # it only leaves more open
    happened = bool(action.messages and shown)
    doubt = 0 if harmless or (unknown and happened) else MAYBE if unknown else BUSY if refused else 0
    leeway = header.skew_ns if record.op == TELLS else 0  # an event's times are the broker's
    return Effect(record.i, record.call - leeway, ret + leeway, action, observed, doubt)


def _hint(id: str, appearances: Mapping[str, Delivery]) -> Delivery | None:
    """How a message that is sent is shown. One that is scheduled is activated where it was, and one that is
    dead-lettered stays in its partition."""
    shown = appearances.get(id)
    for later in (appearances.get(as_active(id)), appearances.get(as_dead(as_active(id)))):
        if later is not None and (shown is None or name_of(shown) is None):
            shown = (shown or Delivery(id))._replace(partition=name_of(later))
    return shown


def _parts(effect: Effect, family: Profile, entity: Entity, positions: int) -> Iterator[Effect]:
    """The effect in each partition that the operation touches: one of the first so many ``positions``."""
    if effect.doubt or not effect.ok:
        return iter((effect,))
    return _SPLITS.get(effect.action.op, _one)(effect, family, entity, positions)


def _one(effect: Effect, family: Profile, entity: Entity, positions: int) -> Iterator[Effect]:
    yield effect


def _of_receive(effect: Effect, family: Profile, entity: Entity, positions: int) -> Iterator[Effect]:
    seen, shown = effect.observed, effect.observed.messages
    if len(shown) <= 1 or len(shown) > effect.action.max or len({d.id for d in shown}) < len(shown):
        yield effect  # what no instants explain is not taken apart
        return
    for rank, group in enumerate(_groups(shown, family)):
        yield effect._replace(observed=Observed(seen.status, seen.error, group), rank=rank)


def _groups(shown: Sequence[Delivery], family: Profile) -> list[tuple[Delivery, ...]]:
    """The messages of an answer by partition; with flows each by itself, as flows do not show partitions."""
    if family.flows:
        return [(message,) for message in shown]
    if not family.partitioned:
        return [tuple(shown)]
    groups = grouped((name_of(message), message) for message in shown)
    return [tuple(shown)] if None in groups else [tuple(group) for group in groups.values()]


def _of_peek(effect: Effect, family: Profile, entity: Entity, positions: int) -> Iterator[Effect]:
    """A peek that shows nothing: each partition was empty when it was asked."""
    if effect.observed.messages:
        yield from _of_receive(effect, family, entity, positions)
        return
    first = entity.partitions if effect.action.entity else 0
    for position in range(positions):
        yield effect._replace(action=effect.action._replace(only=first + position), rank=position)


def _of_batch(effect: Effect, family: Profile, entity: Entity, positions: int) -> Iterator[Effect]:
    """The messages of a keyless batch may go to several partitions. Where those that are shown in one leave
    numbers out, what is never shown may have them, and goes with these."""
    action, hints = effect.action, {hint.id: name_of(hint) for hint in effect.observed.messages}
    keyless = _is_keyless(effect, family, entity)
    if action.txn is not None or len(action.messages) < 2 or not (keyless or family.flows):
        yield effect
        return
    groups: dict[object, list[int]] = {}
    for n, message in enumerate(action.messages):
        name = hints.get(message.id)
        groups.setdefault(("of", n) if name is None else name, []).append(n)
    unseen = [place for place in groups if isinstance(place, tuple)]
    for name, left_out in _left_out(effect.observed.messages).items():
        for place in unseen[:left_out]:
            groups[name] += groups.pop(place)
        del unseen[:left_out]
    for rank, group in enumerate(map(sorted, groups.values())):
        own = tuple(action.messages[n] for n in group)
        ids = {message.id for message in own}
        shown = tuple(hint for hint in effect.observed.messages if hint.id in ids)
        yield effect._replace(
            action=action._replace(messages=own), observed=effect.observed._replace(messages=shown), rank=rank
        )


def _left_out(shown: Iterable[Delivery]) -> dict[int | None, int]:
    """By partition: how many numbers there are between the lowest and the highest of these that none has."""
    numbers = grouped((name_of(one), one.seq) for one in shown if one.seq is not None)
    return {name: max(here) - min(here) + 1 - len(here) for name, here in numbers.items()}


def _of_torn_batch(effect: Effect) -> Iterator[Effect]:
    """The messages of a batch that was accepted, each by itself; a batch that was refused as a whole."""
    if effect.doubt or not effect.ok or effect.action.txn is not None:
        yield effect
        return
    for rank, message in enumerate(effect.action.messages):
        shown = tuple(hint for hint in effect.observed.messages if hint.id == message.id)
        action, observed = (
            effect.action._replace(messages=(message,)),
            effect.observed._replace(messages=shown),
        )
        yield effect._replace(action=action, observed=observed, rank=rank)


_SPLITS: Final = by_role({Role.DELIVERY: _of_receive, Role.LOOK: _of_peek, Role.SEND: _of_batch})
