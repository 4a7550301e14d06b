"""Receiving and settling: RCV-1 to RCV-9 and RCV-11 to RCV-14, and what was stored or lost though a more
special rule says that it should not have been.

The single questions are in modules of their own (content, losses, order, redelivery); here are what one
answer may hold (RCV-5, RCV-12, RCV-13), settlements and renewals (RCV-8, RCV-11, RCV-14), and the screen.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Final

from partq.conformance.facts.index import FOREVER, Facts, Observation
from partq.conformance.facts.lifetimes import Lifetimes
from partq.conformance.facts.locks import Locks
from partq.conformance.history import Record, time_text
from partq.conformance.screens.attribution import applies
from partq.conformance.screens.delivery.content import check_content
from partq.conformance.screens.delivery.losses import Losses
from partq.conformance.screens.delivery.order import check_numbers
from partq.conformance.screens.delivery.redelivery import Redelivery
from partq.conformance.screens.protocol import Report, Screen


def check(facts: Facts) -> Report:
    """Check the receives and settlements of this entity."""
    report = Report()
    locks = facts.derive(Locks)
    check_content(facts, report)
    _check_answers(facts, report)
    Redelivery(facts, locks, report).check()
    _check_settlements(facts, locks, report)
    check_numbers(facts, report)
    Losses(facts, locks, report).check()
    return report


def _check_answers(facts: Facts, report: Report) -> None:
    """RCV-12 and RCV-13 on each answer to a receive, and RCV-13 to a renewal; RCV-5 counted, never
    flagged."""
    answers, short = 0, []
    for record in facts.receives:
        size, most = len(record.messages), record.args["max"]
        if size < most:
            short.append(record)
        if not size or record.ret is None:
            continue
        answers += 1
        if size > most:
            why = f"{record.proc} asked for {most} messages, and got {size}."
            report.find("RCV-12", "more than max", (record,), why)
        if size > 1 and len({delivery.id for delivery in record.messages}) < size:
            _check_twice(facts, report, record)
    report.count("RCV-12", answers)
    if applies(facts, "RCV-13"):
        _check_lengths(facts, report)
    if short and facts.profile.caching_front_ends:
        report.count("RCV-5", _fell_short(facts, short))


def _check_lengths(facts: Facts, report: Report) -> None:
    """RCV-13, exercised where a lock of twice its duration would be found despite the skew."""
    slack, timed = facts.entity.lock_duration + facts.header.skew_ns, 0
    for record in (*facts.receives, *chain.from_iterable(facts.renewals.values())):
        for delivery in record.messages if record.ret is not None else ():
            if delivery.locked_until is not None:
                timed += 1
                over = delivery.locked_until - record.end - slack
                if over > 0:
                    why = f"A lock got by {record.op} ends {time_text(over)} later than it can at the latest."
                    report.find("RCV-13", record.op, (record,), why)
    if facts.header.skew_ns < facts.entity.lock_duration:
        report.count("RCV-13", timed)


def _fell_short(facts: Facts, short: list[Record]) -> int:
    """How many of these fell short of the request although some message was there and not yet delivered."""
    waiting = sorted(
        [
            (life.accepted, life.deliveries[0].call)
            for life in facts.derive(Lifetimes).delivered
            if life.accepted < FOREVER and "txn" not in life.record.args
        ]
    )
    accepted = [at for at, _ in waiting]
    latest = list(accumulate((first for _, first in waiting), max))
    found = 0
    for record in short:
        at = bisect_left(accepted, record.call)
        found += at > 0 and record.ok and latest[at - 1] > record.end
    return found


def _check_twice(facts: Facts, report: Report, record: Record) -> None:
    delivery = facts.derive(Lifetimes).twice_in(record)
    if delivery is not None:
        why = f"Message {delivery.id!r} is in one answer to {record.proc} more than once."
        report.find(_owner_of_twice(facts, record), "twice in one answer", (record,), why)


def _owner_of_twice(facts: Facts, record: Record) -> str:
    """RCV-12 where partitions must not show. Else two locks on it hold at a time, or it came again though it
    was deleted."""
    if applies(facts, "RCV-12"):
        return "RCV-12"
    return "RCV-7" if record.deletes else "RCV-6"


LOST: Final = "lock_lost"


def _check_settlements(facts: Facts, locks: Locks, report: Report) -> None:
    """RCV-8, 11 and 14 on every settlement and renewal."""
    renewals = ((one, (lock,)) for lock, some in facts.renewals.items() for one in some)
    for record, names in (*((one, one.args["locks"]) for one in facts.settlements), *renewals):
        seens = [seen for seen in map(facts.locks.get, names) if seen is not None]
        if record.ok:
            for seen in seens:
                _check_accepted(locks, report, seen, record)
            if len(seens) < len(names) and _shows_all_locks(facts):
                report.count("RCV-8")
                report.find("RCV-8", f"{record.op} of nothing", (record,), "No delivery bears the lock.")
        elif record.refused and any(seen.ended < record.call for seen in seens):
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
    if record.refused:
        report.count("RCV-14", record.error == "invalid_operation")
    elif record.ok and all(_held_through(seen, record) for seen in seens):
        report.count("RCV-14")
        named = ", ".join(map(str, partitions))
        why = f"{record.op} by {record.proc} names locks of the partitions {named}, and answered ok."
        witness = (*{seen.record.i: seen.record for seen in seens}.values(), record)
        report.find("RCV-14", record.op, witness, why)


def _held_through(seen: Observation, record: Record) -> bool:
    """Whether nothing but a settlement can have ended the lock by then. An end that the broker does not show
    is taken to be later."""
    held = seen.struck if seen.delivery.locked_until is None else seen.held_unsettled
    return held > record.end


def _out_of_order(facts: Facts) -> int:
    """How many completions came in another order than their deliveries, which is allowed (RCV-11)."""
    latest, free = -1, 0
    for record in facts.settlements:
        if record.op == "complete" and record.ok:
            for seen in filter(None, map(facts.locks.get, record.args["locks"])):
                free += seen.ret < latest
                latest = max(latest, seen.call) if seen.ret >= latest else latest
    return free


_RECEIVE: Final = ("receive",)
_SETTLE: Final = ("receive", "complete")

SCREEN: Final = Screen(
    name="delivery",
    requirements=(
        *(f"RCV-{n}" for n in (*range(1, 10), *range(11, 15))),
        *("KEY-3", "KEY-7", "ROUTE-5", "ROUTE-8", "TXN-1", "TXN-2", "TXN-5"),
    ),
    check=check,
    blind_spots=(
        "Messages whose ID was sent more than once are left out of all but RCV-1.",
        "RCV-1: a property, session ID or key that the broker shows of no message at all is not missed; user "
        "properties that the broker adds are not noticed.",
        "RCV-2 is judged after a drain only. Messages that a receive-and-delete of unknown outcome may have "
        "taken are given up to its max, and so is one that may have been dead-lettered (RCV-9). Parts of "
        "batches and transactions are judged where no fault may have lost them.",
        "RCV-3: a message that never was delivered neither overtakes nor is overtaken. A message "
        "sent in a transaction may come late. With caching front ends, messages apart by a fault are not "
        "compared, nor those without a delivery count. The order of messages within one answer is free.",
        "RCV-6 and RCV-8: with caching front ends a lock whose end the broker does not show is never sure to "
        "hold, and ends only by settlement or one full duration after its receive.",
        "RCV-7: a completion whose lock may already have ended, or that overlaps the second delivery, is "
        "left to the judge, and so is a lock that holds and is refused.",
        "RCV-9: each lock that no client may have seen explains one count. Of deliveries that overlap it is "
        "not inferred which came first, nor what a transaction adds to the count.",
        "What a transaction settles is judged by TXN-5.",
    ),
    needs={
        **{f"RCV-{n}": _RECEIVE for n in (1, 2, 5, 7, 12)},
        "RCV-6": (*_RECEIVE, "locks"),
        "RCV-3": (*_RECEIVE, "sequence numbers"),
        "RCV-4": (*_RECEIVE, "partitions"),
        "RCV-9": (*_RECEIVE, "delivery counts"),
        "RCV-13": (*_RECEIVE, "ends of locks"),
        "RCV-8": _SETTLE,
        "RCV-11": _SETTLE,
        "RCV-14": (*_SETTLE, "partitions"),
    },
)
