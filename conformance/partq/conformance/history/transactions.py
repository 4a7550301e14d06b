"""Transactions of one name that was begun more than once: each gets a name of its own, ``t``, ``t~2`` …

Clients that count from 1 each, and one that starts again, give several transactions one name. What was asked
of a transaction certainly after it was begun again is the later one's; where clients have some open at once,
each client's requests are in its own. Where that is not certain of something, the name is left as it is.
Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from msgspec import structs

from partq.conformance.history.record import History, Record
from partq.model.grouping import grouped
from partq.model.operations import BEGINS, ENDS


def transactions_apart(history: History) -> History:
    """The history in which each transaction has a name of its own, as far as times tell."""
    numbered = enumerate(history.records)
    named = grouped((record.args["txn"], n) for n, record in numbered if "txn" in record.args)
    records = list(history.records)
    taken = {*named}
    for name, places in named.items():
        for n, own in zip(places, _names(name, [records[n] for n in places], taken), strict=True):
            if own != name:
                records[n] = structs.replace(records[n], args={**records[n].args, "txn": own})
    return history if len(taken) == len(named) else replace(history, records=tuple(records))


def _names(name: str, records: Sequence[Record], taken: set[str]) -> list[str]:
    """What the transaction of each of these requests, which name it so, is called."""
    begun, apart = [record for record in records if _begins(record)], _each_its_own(records)
    if not apart and any(_overlap(one, other) for one in begun[1:] for other in records if other is not one):
        return [name] * len(records)
    found, own = list[str](), dict[str, str]()
    for record in records:
        client = record.proc if apart else ""
        if _begins(record):
            again = (new for k in count(2) if (new := f"{name}~{k}") not in taken)
            own[client] = next(again) if own else name
            taken.add(own[client])
        found.append(own.get(client, name))
    return found


def _begins(record: Record) -> bool:
    """Whether a transaction certainly began."""
    return record.op == BEGINS and record.ok


def _each_its_own(records: Sequence[Record]) -> bool:
    """Whether clients have transactions of one name at the same time, and each asks only in those that it
    began."""
    began, open_, at_once = set[str](), set[str](), False
    for record in records:
        if _begins(record):
            at_once = at_once or bool(open_ - {record.proc})
            began.add(record.proc)
            open_.add(record.proc)
        elif record.proc not in began:
            return False
        elif record.op in ENDS:
            open_.discard(record.proc)
    return at_once


def _overlap(one: Record, other: Record) -> bool:
    """Whether neither certainly came before the other."""
    return (one.ret is None or other.call <= one.ret) and (other.ret is None or one.call <= other.ret)
