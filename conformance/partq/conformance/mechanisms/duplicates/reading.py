"""What a history shows of duplicates: which of several messages that were sent under one ID is meant,
wherever one is shown, whether those that were sent without one have one of their own, and what exercises the
rules.

Each send of an ID gets a name of its own (`messages.as_copy`), and so does each appearance, by what is shown
of it: body and keys tell copies apart. Where they do not, or where only the answer to its own send shows a
copy, which says nothing of whether it was stored, nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Final

from msgspec import structs

from partq.conformance.facts.index import Facts, Sent
from partq.conformance.history import Header, Record
from partq.conformance.history.entities import ELSEWHERE, is_dead_letters
from partq.conformance.oracle.identity import Ambiguous, numbers_named
from partq.conformance.oracle.uses import Use
from partq.conformance.screens.protocol import Exercise, where
from partq.model.configuration import FOREVER, Config
from partq.model.duplicates.norm import is_own_id
from partq.model.grouping import grouped
from partq.model.messages import Delivery, Message, as_copy, effective_key, is_copy, is_shown_as, message_id
from partq.model.profiles import Entity, requirements_of

_Sends = list[tuple[Record, Message]]
"""The sends of one ID, in their order."""


def _told_apart(entity: Entity, records: tuple[Record, ...], skew: int) -> tuple[Record, ...]:
    """The records with a name of its own for each message of an ID that was sent several times. Times of
    different clients may differ by ``skew``, ns. Raises `Ambiguous`."""
    sends = grouped((message.id, (record, message)) for record in records for message in record.sent)
    assigned = _assigned_ids(records)
    if any(id in assigned and not one.without_id for id, found in sends.items() for _, one in found):
        raise Ambiguous("a message was sent with the ID that another one was assigned")
    again = {id: found for id, found in sends.items() if len(found) > 1}
    if not again:
        return records
    if any(is_copy(id) for id in sends):
        raise Ambiguous("a message bears the name of a copy")
    if any(message.without_id for found in again.values() for _, message in found):
        raise Ambiguous("several messages have one name, and not all of them the ID that it is")
    return tuple(_numbered(_named(records, again, skew), again))


def _compared(header: Header, entity: Entity, records: tuple[Record, ...]) -> tuple[Record, ...]:
    """The records. Raises `Ambiguous` where no rule says that a message which was sent without an ID gets one
    of its own, and so is no duplicate."""
    if entity.duplicate_detection and "KEY-6" not in requirements_of(header.profile):
        raise Ambiguous("duplicates are not told apart where messages have no ID and none is assigned")
    return records


def _assigned_ids(records: Sequence[Record]) -> frozenset[str]:
    """The IDs that are shown of messages which were sent without one."""
    names = {message.id for record in records for message in record.sent if message.without_id}
    shown = (one for record in records for one in record.messages if names and one.id in names)
    return frozenset(one.message_id for one in shown if one.message_id)


def _named(records: Sequence[Record], again: dict[str, _Sends], skew: int) -> Iterator[Record]:
    sent = dict.fromkeys(again, 0)
    for record in records:
        if messages := record.sent:
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
    left = list(zip(record.sent, named, strict=True))
    found = []
    for one in record.messages:
        pair = next((pair for pair in left if pair[0].id == one.id), None)
        if pair is not None:
            left.remove(pair)
        found.append(one if pair is None else one._replace(id=pair[1].id))
    return tuple(found)


def _name(shown: Delivery, record: Record, sends: _Sends, skew: int) -> str:
    """Whose message is shown; if nobody's, the first one's, which is not shown so."""
    until = FOREVER if record.ret is None else record.ret + skew
    fits = [
        nth
        for nth, (send, message) in enumerate(sends, start=1)
        if send.call <= until and is_shown_as(message, shown)
    ]
    if len(fits) > 1:
        raise Ambiguous(f"several messages have the ID {shown.id!r}, and nothing shows which one this is")
    return as_copy(shown.id, fits[0] if fits else 1)


def _numbered(records: Iterator[Record], again: dict[str, _Sends]) -> Iterator[Record]:
    """The records without the numbers that only the answers to their own sends show of copies: one that is
    dropped may have one, too. Not those of copies by whose own number something was done."""
    every = tuple(records)
    names = {as_copy(id, nth) for id, sends in again.items() for nth in range(1, len(sends) + 1)}
    shown = {one.id for record in every if not record.sent for one in record.messages}
    of_whom: dict[int | None, set[str]] = {}
    for record in every:
        for one in () if is_dead_letters(record.entity) else record.messages:
            of_whom.setdefault(one.seq, set()).add(one.id)
    done = {seq for record in every if record.ok for seq in numbers_named(record)}
    shown.update(next(iter(of_whom[seq])) for seq in sorted(done) if len(of_whom.get(seq, ())) == 1)
    for record in every:
        kept = tuple(one for one in record.messages if one.id in shown or one.id not in names)
        yield record if len(kept) == len(record.messages) else structs.replace(record, messages=kept)


def _wrong_id(cfg: Config, records: tuple[Record, ...]) -> tuple[str, int, str] | None:
    """The first message that was sent without an ID and is shown with none, with another one than before, or
    with that of another one of its key."""
    sent = {message_id(m.id): (r, m) for r in records for m in r.sent if m.without_id}
    sighted = {id: one for r in records for id, one in r.args.get(ELSEWHERE, {}).items()}
    borne, owners = dict[str, str](), dict[tuple[str, str | None], tuple[str, int]]()
    for record, one in ((r, one) for r in records for one in r.messages):
        name, shown = message_id(one.id), one.message_id
        if shown is None or name not in sent:
            continue
        end, ids = sighted.get(name, (record.end, ()))
        before = borne.setdefault(name, ids[0] if ids and end < record.end else shown)
        key = effective_key(sent[name][1], cfg.profile.key_rule)
        other, seen = owners.setdefault((shown, key), (name, record.end))
        both = (sent[name][0], record.end), (sent[other][0], seen)
        time = max(_stored(*one) for one in both) - min(send.call for send, _ in both)
        taken = other != name and time < cfg.entity.duplicate_window - cfg.skew
        if not is_own_id(cfg, shown, before, taken):
            how = "no ID" if not shown else f"another ID than before, {shown!r} instead of {before!r}"
            how = how if before != shown or not shown else f"the ID {shown!r}, which {other!r} has, too"
            return "KEY-6", record.i, f"{name!r}, sent without an ID, is shown with {how}"
    return None


def _stored(send: Record, seen: int) -> int:
    """By when a message was stored that was seen first by then."""
    answered = send.ok and "txn" not in send.args
    return min(seen, send.end) if answered else seen


USE: Final = Use(
    uses=lambda record: any(message.without_id for message in record.sent),
    rule="DUP-1",
    what="duplicates",
    spreads=frozenset({"KEY-6"}),  # a message is dropped for any other one that was sent without an ID
    chosen=lambda entity: entity.duplicate_detection,
    tells_apart=_told_apart,
    compared=_compared,
    wrong=_wrong_id,
)


_where_detected: Final = where(lambda facts: facts.entity.duplicate_detection)


def _pairs(facts: Facts) -> Iterator[tuple[Sent, Sent]]:
    """Each two sends of one ID and key, one after the other, that were accepted."""
    for sends in facts.by_id.values():
        accepted = (one for one in sends if one.record.ok)
        by_key = grouped((one.key if facts.profile.partitioned else None, one) for one in accepted)
        for sent_again in by_key.values():
            yield from pairwise(sent_again)


@_where_detected
def _dropped(facts: Facts) -> int:
    """Each send that repeats an ID within the window."""
    window = facts.entity.duplicate_window
    return sum(later.record.end - first.record.call < window for first, later in _pairs(facts))


@_where_detected
def _new_again(facts: Facts) -> int:
    """Each send that repeats an ID after the window."""
    window = facts.entity.duplicate_window
    return sum(later.record.call - first.record.end > window for first, later in _pairs(facts))


@_where_detected
def _keyed_by_id(facts: Facts) -> int:
    """Each accepted message whose key is its ID, and that was sent again, or in a transaction."""
    sends: Sequence[Sent] = [one for several in facts.by_id.values() for one in several]
    plain = [s for s in sends if s.message.session_id is None and s.message.partition_key is None]
    accepted = [s for s in plain if s.record.ok]
    return sum("txn" in s.record.args or len(facts.by_id[s.message.id]) > 1 for s in accepted)


def _assigned(facts: Facts) -> int:
    """Each time that a message which was sent without an ID is shown with one, or without."""
    every_send = chain.from_iterable(facts.by_id.values())
    nameless = {one.message.id for one in every_send if one.message.without_id}
    every = (
        seen for table in (facts.received, facts.peeked) for id in nameless for seen in table.get(id, ())
    )
    return sum(seen.delivery.message_id is not None for seen in every)


EXERCISED: Final[Mapping[str, Exercise]] = {
    "KEY-4": Exercise(_keyed_by_id, ("partitions",)),
    "KEY-6": Exercise(_assigned, ("send",)),
    "DUP-1": Exercise(_dropped, ("send",)),
    "DUP-2": Exercise(_new_again, ("send",)),
}
