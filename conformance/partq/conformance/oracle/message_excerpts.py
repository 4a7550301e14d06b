"""Excerpts of a history: the effects on a few of its messages.

Every explanation of the whole explains the excerpt: fewer messages are in the way of others. A peek that
continues the last one depends on others, too, and is left out. A transaction is kept whole or left out.
What messages that are left out may have done to others is waived (`excerpts.LEFT_OUT`), and so is what only
flows tell where these are left out (`excerpts.FLOWLESS`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Self

from partq.conformance.oracle.copies import copies_of
from partq.conformance.oracle.effects import MAYBE, Effect, held_messages, name_of, named_by, without_others
from partq.conformance.oracle.roles import FLOWS, OUTAGES, Role, by_role
from partq.model.messages import as_active, births_of, message_id

LARGEST: Final = 6
"""The limit of messages in an excerpt, besides those of its transactions."""

Ids = frozenset[str]


def by_messages(
    effects: Sequence[Effect], stuck: Sequence[Effect], concerned: Sequence[Ids], outages: bool = False
) -> Iterator[tuple[Effect, ...]]:
    """The excerpts about effects that a search could not explain, with each of the messages ``concerned`` by
    itself, then with those of one effect together. ``outages``: those of other partitions are left in."""
    whole = _Whole.of(effects)
    singles = [(n, frozenset({id})) for n, ids in enumerate(concerned) for id in sorted(ids)]
    several = [(n, ids) for n, ids in enumerate(concerned) if len(ids) <= LARGEST]
    for n, ids in dict.fromkeys((*singles, *several)):
        yield _about(whole, ids, outages, stuck[n])


def by_message(effects: Sequence[Effect], outages: bool = False) -> Iterator[tuple[Effect, ...]]:
    """The excerpt about each message."""
    whole = _Whole.of(effects)
    for id in dict.fromkeys(message.id for effect in effects for message in effect.action.messages):
        yield _about(whole, frozenset({id}), outages)


class _Whole(NamedTuple):
    """What excerpts are made of: the ``effects``, the message that each lock is ``held`` on, by token, and
    the ``copies`` of each message ID that was sent several times. ``everywhere``: outages of any partition
    matter, as there are sessions."""

    effects: Sequence[Effect]
    held: Mapping[str, str]
    copies: Mapping[str, Ids]
    everywhere: bool

    @classmethod
    def of(cls, effects: Sequence[Effect]) -> Self:
        """Index a history."""
        everywhere = any(effect.action.session_id is not None for effect in effects)
        return cls(effects, held_messages(effects), copies_of(effects), everywhere)


def _about(whole: _Whole, ids: Ids, outages: bool, stuck: Effect | None = None) -> tuple[Effect, ...]:
    """The excerpt about these messages. ``stuck``: the effect that was not explained, which is kept if it
    was refused."""
    effects, held = whole.effects, whole.held
    ids, txns = _with_transactions(whole, ids)
    names = frozenset[int]() if outages or whole.everywhere else _names(effects, ids)
    kept = []
    for effect in effects:
        part: Effect | None = effect
        if effect is not stuck or effect.ok:
            mine = effect.action.txn is None or effect.action.txn in txns
            part = _PARTS.get(effect.action.op, _other)(effect, ids, held) if mine else None
        # Outages of other partitions let the broker do nothing that it may not do as busy while all are up.
        elsewhere = effect.action.op in OUTAGES and names and effect.action.partition not in {*names, None}
        if part is not None and not elsewhere:
            kept.append(part._replace(waiting=()) if part.waiting else part)
    return tuple(kept)


def without_flows(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """The effects without flows' binds and unbinds and assignment events."""
    return tuple(effect for effect in effects if effect.action.op not in FLOWS)


def _names(effects: Sequence[Effect], ids: Ids) -> frozenset[int]:
    """The names of these messages' partitions; none unless each is shown."""
    shown = [(one.id, name_of(one)) for effect in effects for one in effect.observed.messages]
    mine = {name for id, name in shown if id in ids}
    if None in mine or {as_active(id) for id in ids} - {as_active(id) for id, _ in shown}:
        return frozenset()
    return frozenset(name for name in mine if name is not None)


def _with_transactions(whole: _Whole, ids: Ids) -> tuple[Ids, Ids]:
    """The messages, with all that their transactions send and settle, in all their births; and these
    transactions."""
    touched: dict[str, set[str]] = {}
    for effect in whole.effects:
        if effect.action.txn is not None:
            own = touched.setdefault(effect.action.txn, set())
            own.update(message.id for message in effect.action.messages)
            own |= named_by(effect.action, whole.held)
    found, txns = _births(ids, whole.copies), set[str]()
    while more := [txn for txn, own in touched.items() if txn not in txns and own & found]:
        txns.update(more)
        found |= _births((id for txn in more for id in touched[txn]), whole.copies)
    return frozenset(found), frozenset(txns)


def _births(ids: Iterable[str], copies: Mapping[str, Ids]) -> set[str]:
    """All names of these messages, and of their copies."""
    every = {one for id in ids for one in (id, *copies.get(message_id(id), ()))}
    return {birth for id in every for birth in births_of(id)}


def _other(effect: Effect, ids: Ids, held: Mapping[str, str]) -> Effect | None:
    """An effect on no message, or one that stores one. A refused one affected its transaction only."""
    if effect.action.messages and ids.isdisjoint(message.id for message in effect.action.messages):
        return None
    refused = not effect.ok and effect.action.txn is None
    return None if refused and not effect.doubt & MAYBE else without_others(effect)


def _of_send(effect: Effect, ids: Ids, held: Mapping[str, str]) -> Effect | None:
    """One that was refused may have been so for a message that is left out; what of it is shown is stored."""
    sent = tuple(message for message in effect.action.messages if message.id in ids)
    if not sent or not effect.ok:
        return _showing(effect, ids) if sent else None
    return _showing(effect, ids)._replace(action=effect.action._replace(messages=sent))


def _of_receive(effect: Effect, ids: Ids, held: Mapping[str, str]) -> Effect | None:
    """A receive that finds nothing is always allowed (RCV-5), and one that is refused did nothing."""
    part = _showing(effect, ids)
    seen = part.observed.messages or effect.doubt & MAYBE
    return part._replace(missed=effect.missed & ids) if seen else None


def _of_peek(effect: Effect, ids: Ids, held: Mapping[str, str]) -> Effect | None:
    part = _showing(effect, ids)
    known = not effect.doubt and effect.ok and effect.action.from_seq is not None
    whole = len(part.observed.messages) == len(effect.observed.messages)
    return part if known and (whole or part.observed.messages) else None


def _of_settlement(effect: Effect, ids: Ids, held: Mapping[str, str]) -> Effect | None:
    """One that was refused may have been so for a lock that is left out."""
    locks = tuple(token for token in effect.action.locks if token not in held or held[token] in ids)
    if not locks or (not effect.ok and len(locks) < len(effect.action.locks)):
        return None
    return _showing(effect, ids)._replace(action=effect.action._replace(locks=locks))


def _of_birth(effect: Effect, ids: Ids, held: Mapping[str, str]) -> Effect | None:
    """An activation, or a cancelling: one that was refused did nothing, but to its transaction."""
    did = effect.ok or effect.action.txn is not None
    return effect if did and not ids.isdisjoint(effect.action.about) else None


def _showing(effect: Effect, ids: Ids) -> Effect:
    messages = effect.observed.messages
    shown = tuple(message for message in messages if message.id in ids)
    if len(shown) == len(messages):
        return effect
    return effect._replace(observed=effect.observed._replace(messages=shown))


_PARTS: Final = by_role(
    {
        Role.SEND: _of_send,
        **dict.fromkeys((Role.ACTIVATION, Role.BURIAL, Role.CANCELLATION), _of_birth),
        Role.DELIVERY: _of_receive,
        Role.LOOK: _of_peek,
        Role.SETTLEMENT: _of_settlement,
    }
)
