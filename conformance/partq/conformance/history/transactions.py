"""Transactions of one name that was begun more than once: each gets a name of its own, ``t``, ``t~2`` …

A client that counts from 1 after it started again gives several transactions one name. What was asked of a
transaction certainly after it was begun again is the later one's; where that is not certain of something, the
name is left as it is. Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Final

from msgspec import structs

from partq.conformance.history.record import History, Record
from partq.model.operations import Outcome

ENDS: Final = frozenset({"commit", "rollback"})


def transactions_apart(history: History) -> History:
    """The history in which each transaction has a name of its own, as far as times tell."""
    named: dict[str, list[int]] = {}
    for n, record in enumerate(history.records):
        if "txn" in record.args:
            named.setdefault(record.args["txn"], []).append(n)
    records = list(history.records)
    taken = {*named}
    for name, places in named.items():
        for n, own in zip(places, _names(name, [records[n] for n in places], taken), strict=True):
            if own != name:
                records[n] = structs.replace(records[n], args={**records[n].args, "txn": own})
    return history if len(taken) == len(named) else replace(history, records=tuple(records))


def _names(name: str, records: Sequence[Record], taken: set[str]) -> list[str]:
    """What the transaction of each of these requests, which name it so, is called."""
    begun = [record for record in records if record.op == "begin" and record.outcome == Outcome.OK]
    if any(_overlap(one, other) for one in begun[1:] for other in records if other is not one):
        return [name] * len(records)
    found, own, ended = list[str](), name, False
    for record in records:
        if record.op == "begin" and record.outcome == Outcome.OK and ended:
            own, ended = next(new for k in count(2) if (new := f"{name}~{k}") not in taken), False
            taken.add(own)
        ended = ended or record.op in ENDS
        found.append(own)
    return found


def _overlap(one: Record, other: Record) -> bool:
    """Whether neither certainly came before the other."""
    return (one.ret is None or other.call <= one.ret) and (other.ret is None or one.call <= other.ret)
