"""An effect: the change that an operation made in one partition, at one instant between its call and its
return.

It says what has to be explained, not how: the guided search and the plain one explain the same effects. How a
history is taken apart into effects is the business of `taking_apart`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from partq.conformance.history import Record
from partq.conformance.oracle.roles import BIRTHS
from partq.model.actions import Action, Observed
from partq.model.configuration import COUNTER_BITS
from partq.model.messages import Delivery
from partq.model.operations import Outcome

MAYBE: Final = 1
"""The outcome is unknown: the operation may not have happened."""

UNSUPPORTED: Final = "unsupported"
"""The error of an operation that the broker does not offer (`Rejected("unsupported")` of an adapter)."""

BUSY: Final = 2
"""It was refused, possibly because the broker was busy: at any time while no partition is down, and once in a
history while one is."""


class Effect(NamedTuple):
    """One effect, to be placed in an order that the model explains.

    ``record``: its `Record.i`. ``call``, ``ret``: it happens between these instants, ns; ``ret`` is `FOREVER`
    where it may happen at any later time. ``doubt``: 0, `MAYBE` or `BUSY`. ``rank``: how many effects of the
    same record stand before it in the answer. ``waiting``: where a partition's outage ends, the keyless sends
    of that time, by their place among the effects: they may have been tried there first. ``missed``: of a
    receive of unknown outcome, the messages that it may have taken, as they came back, or never.
    """

    record: int
    call: int
    ret: int
    action: Action
    observed: Observed
    doubt: int = 0
    rank: int = 0
    waiting: tuple[int, ...] = ()
    missed: frozenset[str] = frozenset()

    @property
    def ok(self) -> bool:
        """Whether it is seen that the request succeeded."""
        return self.observed.status == Outcome.OK


def without_others(effect: Effect) -> Effect:
    """The effect in an excerpt, which may lack what made something come next, or what an answer counts."""
    action = effect.action
    if not (action.next or action.told):
        return effect
    return effect._replace(action=action._replace(next=False, told=()))


def names_of(records: Iterable[Record], partitioned: bool) -> tuple[int, ...]:
    """The names of the partitions that the records show, in order of first appearance."""
    if not partitioned:
        return ()
    names: dict[int, None] = {}
    for record in records:
        if record.is_env and record.args.get("partition") is not None:
            names[record.args["partition"]] = None
        for shown in record.messages:
            name = name_of(shown)
            if name is not None:
                names[name] = None
    return tuple(names)


def name_of(shown: Delivery) -> int | None:
    """The name of a message's partition, if its number or the broker shows it."""
    if shown.partition is not None or shown.seq is None:
        return shown.partition
    return shown.seq >> COUNTER_BITS


def held_messages(effects: Iterable[Effect]) -> dict[str, str]:
    """By lock token: the ID of its message."""
    return {shown.lock: shown.id for e in effects for shown in e.observed.messages if shown.lock is not None}


def named_by(action: Action, held: Mapping[str, str]) -> set[str]:
    """The messages that the arguments name, by lock (``held``) or by number."""
    named = {held[token] for token in action.locks if token in held}
    return named.union(action.about)


def appearances_of(records: Iterable[Record]) -> dict[str, Delivery]:
    """By message: partition, number and enqueued time, each as first shown."""
    found: dict[str, Delivery] = {}
    for record in records:
        for shown in record.messages:
            known = found.get(shown.id)
            if known is None:
                found[shown.id] = Delivery(
                    shown.id, seq=shown.seq, partition=shown.partition, enqueued_at=shown.enqueued_at
                )
                continue
            seq = shown.seq if known.seq is None else known.seq
            partition = shown.partition if known.partition is None else known.partition
            at = shown.enqueued_at if known.enqueued_at is None else known.enqueued_at
            if (seq, partition, at) != (known.seq, known.partition, known.enqueued_at):
                found[shown.id] = known._replace(seq=seq, partition=partition, enqueued_at=at)
    return found


def tried_meanwhile(effects: Sequence[Effect], outage: Effect, done: int, horizon: int) -> int:
    """How many messages of keyless sends may have been tried in vain before this outage ended: of those that
    waited for it, are not among the effects ``done`` (as bits), and were called by ``horizon`` (ns)."""
    sends = (effects[k] for k in outage.waiting if not done >> k & 1)
    return sum(len(send.action.messages) for send in sends if send.call <= horizon)


def may_fail(effect: Effect) -> bool:
    """Whether it is a client's send, which may have used up numbers if it failed."""
    return bool(effect.action.messages) and effect.action.op not in BIRTHS
