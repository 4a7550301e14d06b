"""What messages that complied tell of a rejected history: which requirement is broken where equal keys are in
two partitions.

By logic alone each of KEY-1, KEY-2, TXN-8 and ROUTE-2 is: the key is not the session ID, not the partition
key, another one in transactions, or does not say where a message goes. But the first three speak of sends of
one kind. Where one of another kind is not where most of its key are, it is not they, but ROUTE-2. Partitions
have to be shown (with flows they are not).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from partq.conformance.history import History, Record
from partq.conformance.oracle.effects import name_of
from partq.model.messages import Message, effective_key
from partq.model.operations import Outcome
from partq.model.profiles import profile


class Send(NamedTuple):
    """A send, or what a batch or a transaction sent to one partition; a key, and where it is."""

    entity: str
    key: str
    partition: int
    record: Record
    messages: tuple[Message, ...]


def _by_session(send: Send) -> bool:
    return any(message.session_id is not None for message in send.messages)


def _by_partition_key(send: Send) -> bool:
    return any(message.session_id is None for message in send.messages)


def _in_transaction(send: Send) -> bool:
    return "txn" in send.record.args


KINDS: Final[Mapping[str, Callable[[Send], bool]]] = {
    "KEY-1": _by_session,
    "KEY-2": _by_partition_key,
    "TXN-8": _in_transaction,
}
"""Of which sends a requirement speaks."""


def contradicted(history: History) -> frozenset[str]:
    """The requirements of `KINDS` that are not what is broken where equal keys are in two partitions: of the
    sends that are not where most of their key are, some are not of their kind."""
    astray = _astray(history)
    return frozenset(id for id, is_of_kind in KINDS.items() if not all(map(is_of_kind, astray)))


def _astray(history: History) -> list[Send]:
    """The sends that are not in the partition where most of their key are."""
    sends = _sends(history)
    counts = Counter((send.entity, send.key, send.partition) for send in sends)
    homes: dict[tuple[str, str], int] = {}
    for (entity, key, partition), _ in counts.most_common():
        homes.setdefault((entity, key), partition)
    return [send for send in sends if homes[send.entity, send.key] != send.partition]


def _sends(history: History) -> list[Send]:
    """Every send with a key whose partition is shown."""
    rule = profile(history.header.profile).key_rule
    places = {
        shown.id: name
        for record in history.records
        for shown in record.messages
        if (name := name_of(shown)) is not None
    }
    found: dict[tuple[object, ...], Send] = {}
    for record in history.records:
        for message in record.args.get("messages", ()) if record.outcome != Outcome.ERROR else ():
            key, place = effective_key(message, rule), places.get(message.id)
            if key is not None and place is not None:
                unit = (record.args.get("txn", record.i), record.entity, key, place)
                known = found.get(unit)
                messages = (message,) if known is None else (*known.messages, message)
                found[unit] = Send(record.entity, key, place, record, messages)
    return list(found.values())
