"""Settlements and renewals: a lost lock does not settle (RCV-8), one request concerns one partition (RCV-14),
and the order of completing is free (RCV-11).

A refused settlement that took effect shows when the message is missing (`losses.py`); whether a lock that
holds settles is left to the judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from partq.conformance.facts.index import Facts, Observation
from partq.conformance.facts.locks import Locks
from partq.conformance.facts.records import returned
from partq.conformance.history import Record
from partq.conformance.screens.attribution import applies
from partq.conformance.screens.protocol import Report
from partq.model.operations import Outcome

LOST: Final = "lock_lost"


def check_settlements(facts: Facts, locks: Locks, report: Report) -> None:
    """RCV-8, 11 and 14 on every settlement and renewal."""
    renewals = ((one, (lock,)) for lock, some in facts.renewals.items() for one in some)
    for record, names in (*((one, one.args["locks"]) for one in facts.settlements), *renewals):
        seens = [seen for seen in map(facts.locks.get, names) if seen is not None]
        if record.outcome == Outcome.OK:
            for seen in seens:
                _check_accepted(locks, report, seen, record)
            if len(seens) < len(names) and _shows_all_locks(facts):
                report.count("RCV-8")
                report.find("RCV-8", f"{record.op} of nothing", (record,), "No delivery bears the lock.")
        elif record.outcome == Outcome.ERROR and any(seen.ended < record.call for seen in seens):
            report.count("RCV-8", record.error == LOST)
        if len(seens) > 1 and "txn" not in record.args:
            _check_partitions(report, seens, record)
    report.count("RCV-11", _out_of_order(facts))


def _check_accepted(locks: Locks, report: Report, seen: Observation, record: Record) -> None:
    """A settlement or renewal that answered ok: was the lock certainly lost?"""
    if locks.ended_but(seen, record, in_transactions=False) < record.call:
        report.count("RCV-8")
        others = [s for s in seen.settlements if s.call < record.call]
        why = f"The lock on message {seen.delivery.id!r} had ended before {record.proc} called {record.op}, "
        why += "which answered ok."
        report.find("RCV-8", f"{record.op} accepted", (seen.record, *others[:1], record), why)


def _shows_all_locks(facts: Facts) -> bool:
    """Whether the receives show every lock that was given. One may also have been given by what an entity
    beside this one showed."""
    shown = (one.deletes or all(d.lock is not None for d in one.messages) for one in facts.receives)
    return applies(facts, "RCV-8") and not facts.elsewhere and all(shown)


def _check_partitions(report: Report, seens: Sequence[Observation], record: Record) -> None:
    """One request, outside a transaction (there it is TXN-7), naming locks of several partitions."""
    partitions = sorted({seen.partition for seen in seens if seen.partition is not None})
    if len(partitions) < 2:
        return
    if record.outcome == Outcome.ERROR:
        report.count("RCV-14", record.error == "invalid_operation")
    elif record.outcome == Outcome.OK and all(_held_through(seen, record) for seen in seens):
        report.count("RCV-14")
        named = ", ".join(map(str, partitions))
        why = f"{record.op} by {record.proc} names locks of the partitions {named}, and answered ok."
        witness = (*{seen.record.i: seen.record for seen in seens}.values(), record)
        report.find("RCV-14", record.op, witness, why)


def _held_through(seen: Observation, record: Record) -> bool:
    """Whether nothing but a settlement can have ended the lock by then. An end that the broker does not show
    is taken to be later."""
    held = seen.struck if seen.delivery.locked_until is None else seen.held_unsettled
    return held > returned(record)


def _out_of_order(facts: Facts) -> int:
    """How many completions came in another order than their deliveries, which is allowed (RCV-11)."""
    latest, free = -1, 0
    for record in facts.settlements:
        if record.op == "complete" and record.outcome == Outcome.OK:
            for seen in filter(None, map(facts.locks.get, record.args["locks"])):
                free += seen.ret < latest
                latest = max(latest, seen.call) if seen.ret >= latest else latest
    return free
