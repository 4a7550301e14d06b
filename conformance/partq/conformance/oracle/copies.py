"""Tells apart the messages that were sent under one ID, wherever a history shows one.

Each send of an ID gets a name of its own (`messages.as_copy`), and so does each appearance, by what is shown
of it: body and keys tell copies apart. Where they do not, or where only the answer to its own send shows a
copy, which says nothing of whether it was stored, nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from partq.conformance.history import Record
from partq.conformance.oracle.effects import Effect
from partq.conformance.oracle.identity import Ambiguous
from partq.model.messages import Delivery, Message, as_active, as_copy, is_copy, is_shown_as, message_id
from partq.model.state import FOREVER

Sends = list[tuple[Record, Message]]
"""The sends of one ID, in their order."""


def told_apart(records: Sequence[Record], skew: int) -> tuple[Record, ...]:
    """The records with a name of its own for each message of an ID that was sent several times. Times of
    different clients may differ by ``skew``, ns. Raises `Ambiguous`."""
    sends: dict[str, Sends] = {}
    for record in records:
        for message in _messages(record):
            sends.setdefault(message.id, []).append((record, message))
    again = {id: found for id, found in sends.items() if len(found) > 1}
    if not again:
        return tuple(records)
    if any(is_copy(id) for id in sends):
        raise Ambiguous("a message bears the name of a copy")
    return tuple(_numbered(_named(records, again, skew), again))


def copies_of(effects: Iterable[Effect]) -> Mapping[str, frozenset[str]]:
    """Of each message ID that was sent several times the names of these messages."""
    found: dict[str, set[str]] = {}
    for effect in effects:
        for message in effect.action.messages:
            found.setdefault(message_id(message.id), set()).add(as_active(message.id))
    return {id: frozenset(names) for id, names in found.items() if len(names) > 1}


def _messages(record: Record) -> tuple[Message, ...]:
    messages: tuple[Message, ...] = record.args.get("messages", ())
    return messages


def _named(records: Sequence[Record], again: dict[str, Sends], skew: int) -> Iterator[Record]:
    sent = dict.fromkeys(again, 0)
    for record in records:
        messages = _messages(record)
        if messages:
            named: list[Message] = []
            for message in messages:
                if message.id in sent:
                    sent[message.id] += 1
                    message = replace(message, id=as_copy(message.id, sent[message.id]))
                named.append(message)
            shown = _answered(record, named)
            yield structs.replace(record, args={**record.args, "messages": tuple(named)}, messages=shown)
        elif any(one.id in again for one in record.messages):
            shown = tuple(
                one._replace(id=_name(one, record, again[one.id], skew)) if one.id in again else one
                for one in record.messages
            )
            yield structs.replace(record, messages=shown)
        else:
            yield record


def _answered(record: Record, named: Sequence[Message]) -> tuple[Delivery, ...]:
    """What the answer to a send shows of its messages, by their names."""
    left = list(zip(_messages(record), named, strict=True))
    found = []
    for one in record.messages:
        pair = next((pair for pair in left if pair[0].id == one.id), None)
        if pair is not None:
            left.remove(pair)
        found.append(one if pair is None else one._replace(id=pair[1].id))
    return tuple(found)


def _name(shown: Delivery, record: Record, sends: Sends, skew: int) -> str:
    """The send whose message is shown; if it fits none, the first send, which contradicts it."""
    until = FOREVER if record.ret is None else record.ret + skew
    fits = [
        nth
        for nth, (send, message) in enumerate(sends, start=1)
        if send.call <= until and is_shown_as(message, shown)
    ]
    if len(fits) > 1:
        raise Ambiguous(f"several messages have the ID {shown.id!r}, and nothing shows which one this is")
    return as_copy(shown.id, fits[0] if fits else 1)


def _numbered(records: Iterator[Record], again: dict[str, Sends]) -> Iterator[Record]:
    """The records without the numbers that only the answers to their own sends show of copies: one that is
    dropped may have one, too."""
    every = tuple(records)
    names = {as_copy(id, nth) for id, sends in again.items() for nth in range(1, len(sends) + 1)}
    shown = {one.id for record in every if not _messages(record) for one in record.messages}
    for record in every:
        kept = tuple(one for one in record.messages if one.id in shown or one.id not in names)
        yield record if len(kept) == len(record.messages) else structs.replace(record, messages=kept)
