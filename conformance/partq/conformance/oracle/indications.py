"""Evidence from compliant messages: which requirement is violated if equal keys are in two partitions.

By logic alone each of KEY-1, KEY-2, TXN-8, ROUTE-5, ROUTE-1 and ROUTE-2 may be: the key is not the session
ID, not the partition key, another one in transactions, given up in an outage, moved by a fault, or does not
say where a message goes. But the first four speak of sends of one kind (`KINDS`). Where one of another kind
is not where most of its key are, it is not they. What indicates ROUTE-1 is that its narrow form explains the
history, which `blame` asks the model. Partitions have to be shown (with flows they are not).

What is refused as of a further key in a partition (REB-18) is so only if there is another key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from partq.conformance.history import History, Record
from partq.conformance.oracle.effects import name_of
from partq.conformance.oracle.roles import DOWN, OUTAGES, UP
from partq.model.actions import INVALID
from partq.model.grouping import grouped
from partq.model.messages import Message, effective_key
from partq.model.profiles import profile


class Send(NamedTuple):
    """A send, or what a batch or a transaction sent of one key to one partition. ``disturbed``: some
    partition was, or may have been, down meanwhile."""

    key: tuple[str, str]
    partition: int
    in_txn: bool
    disturbed: bool
    messages: tuple[Message, ...]


KINDS: Final[Mapping[str, Callable[[Send], bool]]] = {
    "KEY-1": lambda send: any(message.session_id is not None for message in send.messages),
    "KEY-2": lambda send: any(message.session_id is None for message in send.messages),
    "ROUTE-5": lambda send: send.disturbed,
    "TXN-8": lambda send: send.in_txn,
}
"""By requirement: the sends that it concerns."""

INDICATED: Final = frozenset({*KINDS, "REB-18"})
"""The requirements that messages may speak against."""


def contradicted(history: History) -> frozenset[str]:
    """The requirements of `INDICATED` that are not what is broken. Of `KINDS`, where equal keys are in two
    partitions: whichever of these is the key's, some sends to others are not of their kind."""
    sends = grouped((send.key, send) for send in _sends(history))
    found = {
        id
        for id, is_of_kind in KINDS.items()
        if not all(_may_be_astray(of_one_key, is_of_kind) for of_one_key in sends.values())
    }
    return frozenset(found if _further_keys_alone(history) else {*found, "REB-18"})


def _further_keys_alone(history: History) -> bool:
    """Whether, whenever a message with a key was refused as invalid, another key was known."""
    rule = profile(history.header.profile).key_rule
    known: set[tuple[str, str]] = set()
    for record in history.records:
        keys = {effective_key(message, rule) for message in record.sent} - {None}
        mine = {(record.entity, str(key)) for key in keys}
        if record.error in INVALID and len(known | mine) == 1:
            return False
        if not record.refused:
            known |= mine
    return True


def _may_be_astray(sends: Sequence[Send], is_of_kind: Callable[[Send], bool]) -> bool:
    """Whether a key has a home beside which all its sends are of the kind."""
    return any(all(is_of_kind(send) for send in sends if send.partition != home) for home in _homes(sends))


def _homes(sends: Sequence[Send]) -> list[int]:
    """The partitions where most sends of a key are, counting those amid an outage only where there are no
    others; where as many are in each, each may be the key's."""
    counts = Counter(send.partition for send in sends if not send.disturbed)
    counts = counts or Counter(send.partition for send in sends)
    return [partition for partition, count in counts.items() if count == max(counts.values())]


def _sends(history: History) -> list[Send]:
    """Every send with a key whose partition is shown."""
    rule = profile(history.header.profile).key_rule
    places = {shown.id: name_of(shown) for record in history.records for shown in record.messages}
    outages = [record for record in history.records if record.op in OUTAGES]
    found: dict[tuple[object, ...], Send] = {}
    for record in history.records:
        sent = record.sent if not record.refused else ()
        txn, disturbed = record.args.get("txn"), bool(sent) and _is_disturbed(record, outages)
        for message in sent:
            key, place = effective_key(message, rule), places.get(message.id)
            if key is not None and place is not None:
                unit = (record.i if txn is None else txn, record.entity, key, place)
                messages = (*found[unit].messages, message) if unit in found else (message,)
                found[unit] = Send((record.entity, key), place, txn is not None, disturbed, messages)
    return list(found.values())


def _is_disturbed(send: Record, outages: Iterable[Record]) -> bool:
    """Whether some partition may have been down during the send: its outage began, and had not ended."""
    down: set[int] = set()
    for record in outages:
        if record.op == DOWN and (send.ret is None or record.call <= send.ret):
            down.add(record.args["partition"])
        elif record.op == UP and record.ret is not None and record.ret < send.call:
            down.discard(record.args["partition"])
    return bool(down)
