"""Receiving and settling: RCV-1 to RCV-9 and RCV-11 to RCV-14.

The single questions are in modules of their own (content, losses, order, redelivery, settling); here are
what one answer may hold (RCV-12, RCV-13, RCV-5) and the screen that puts all of it together.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Final

from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.facts.lifetimes import Lifetimes
from partq.conformance.facts.locks import Locks
from partq.conformance.facts.records import deletes, returned
from partq.conformance.history import Record, time_text
from partq.conformance.screens.attribution import applies
from partq.conformance.screens.delivery.content import check_content
from partq.conformance.screens.delivery.losses import Losses
from partq.conformance.screens.delivery.order import Order
from partq.conformance.screens.delivery.redelivery import Redelivery
from partq.conformance.screens.delivery.settlement import Settling
from partq.conformance.screens.protocol import Report, Screen
from partq.model.operations import Outcome


def check(facts: Facts) -> Report:
    """What receives and settlements of this entity show of RCV-1 to RCV-9 and RCV-11 to RCV-14."""
    report = Report()
    locks = facts.derive(Locks)
    check_content(facts, report)
    _check_answers(facts, report)
    _check_renewals(facts, report)
    Redelivery(facts, locks, report).check()
    Settling(facts, locks, report).check()
    Order(facts, locks, report).check()
    Losses(facts, locks, report).check()
    return report


def _check_answers(facts: Facts, report: Report) -> None:
    """RCV-12 and RCV-13 on each answer to a receive; RCV-5 counted, never flagged."""
    slack = facts.entity.lock_duration + facts.header.skew_ns
    answers = timed = 0
    short = []
    for record in facts.receives:
        messages = record.messages
        size = len(messages)
        if size < record.args["max"]:
            short.append(record)
        if not size or record.ret is None:
            continue
        answers += 1
        if size > record.args["max"]:
            _too_many(report, record)
        if size > 1 and len({delivery.id for delivery in messages}) < size:
            _check_twice(facts, report, record)
        latest = record.ret + slack
        for delivery in messages:
            until = delivery.locked_until
            if until is not None:
                timed += 1
                if until > latest:
                    _too_long(facts, report, record, until - latest)
    report.count("RCV-12", answers)
    if _shows_too_long(facts):
        report.count("RCV-13", timed)
    if short and facts.profile.caching_front_ends:
        report.count("RCV-5", _fell_short(facts, short))


def _check_renewals(facts: Facts, report: Report) -> None:
    slack = facts.entity.lock_duration + facts.header.skew_ns
    for renewals in facts.renewals.values():
        for record in renewals:
            for delivery in record.messages:
                if delivery.locked_until is not None and record.ret is not None:
                    report.count("RCV-13", int(_shows_too_long(facts)))
                    if delivery.locked_until > record.ret + slack:
                        _too_long(facts, report, record, delivery.locked_until - record.ret - slack)


def _shows_too_long(facts: Facts) -> bool:
    """Whether a lock of twice its duration would be found despite the skew (RCV-13)."""
    return facts.header.skew_ns < facts.entity.lock_duration


def _fell_short(facts: Facts, short: list[Record]) -> int:
    """How many of these came back short although some message was there and not yet delivered."""
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
        found += at > 0 and record.outcome == Outcome.OK and latest[at - 1] > returned(record)
    return found


def _too_many(report: Report, record: Record) -> None:
    report.find(
        "RCV-12",
        "more than max",
        "A receive returned more messages than were asked for",
        (record,),
        f"{record.proc} asked for {record.args['max']} and got {len(record.messages)}.",
        f"at most {record.args['max']} messages, as of an entity without partitions",
    )


def _check_twice(facts: Facts, report: Report, record: Record) -> None:
    delivery = facts.derive(Lifetimes).twice_in(record)
    if delivery is not None:
        report.find(
            _owner_of_twice(facts, record),
            "twice in one answer",
            "One answer held a message twice",
            (record,),
            f"Message {delivery.id!r} is in one answer to {record.proc} more than once.",
            "each message once in an answer, as of an entity without partitions",
        )


def _owner_of_twice(facts: Facts, record: Record) -> str:
    """RCV-12 where partitions must not show. Else two locks on it hold at a time, or it came again though it
    was deleted."""
    if applies(facts, "RCV-12"):
        return "RCV-12"
    return "RCV-7" if deletes(record) else "RCV-6"


def _too_long(facts: Facts, report: Report, record: Record, over: int) -> None:
    if not applies(facts, "RCV-13"):
        return
    report.find(
        "RCV-13",
        record.op,
        "A lock lasts longer than its duration",
        (record,),
        f"A lock that {record.proc} got by {record.op} ends {time_text(over)} later than one begun at the "
        f"last possible instant would.",
        "any end up to the operation's return plus the lock duration; an earlier one means that the lock "
        "began before its delivery",
    )


_RECEIVE: Final = ("receive",)
_SETTLE: Final = ("receive", "complete")

SCREEN: Final = Screen(
    name="delivery",
    requirements=(*(f"RCV-{n}" for n in range(1, 10)), *(f"RCV-{n}" for n in range(11, 15))),
    check=check,
    blind_spots=(
        "Messages whose ID was sent more than once are left out of all but RCV-1.",
        "RCV-1: a property, session ID or key that the broker shows of no message at all is not missed; user "
        "properties that the broker adds are not noticed.",
        "RCV-2 is judged after a drain only. Messages that a receive-and-delete of unknown outcome may have "
        "taken are given up to its max, whatever partition they were in, and so is one that may have been "
        "dead-lettered (RCV-9). Where partitions went down, some losses are not told from messages that the "
        "drain could not reach.",
        "RCV-3: a message that never was delivered overtakes nobody and is overtaken by nobody (after a "
        "drain it is lost: RCV-2). A message sent in a transaction may come late. With caching front ends, "
        "messages apart by a fault of their partition are not compared, nor those without a delivery "
        "count; after a receive of unknown outcome, none that a fault struck since it was sent. The order of "
        "messages within one answer is free.",
        "RCV-6 and RCV-8: with caching front ends a lock whose end the broker does not show (locked_until) "
        "is never sure to hold, and ends only by settlement or one full duration after its receive.",
        "RCV-7: a completion whose lock may already have ended, or that overlaps the second delivery, leaves "
        "the rule unknown: RCV-6 or RCV-8 may be the one that is broken.",
        "RCV-9: with caching front ends each full lock duration without a known lock may have raised the "
        "count; of a message that was peeked, a count too high leaves the rule unknown (PEEK-6).",
        "RCV-9: of deliveries that overlap it is not inferred which came first, nor what a transaction, or "
        "an abandon answered ok after the lock's time, adds to the count; several counts of one message are "
        "compared one with the next alone.",
        "RCV-6 and RCV-8: that a renewal answered ok moves the end of a lock is held against later "
        "deliveries alone; its answer's partition is not looked at.",
        "What a transaction settles is judged by TXN-5.",
        "More messages than were asked for are RCV-12's; where that is no rule, no row is about them.",
        "RCV-12: the order of a key's messages is checked where the broker shows no numbers; where it does, "
        "ROUTE-1, SEQ-3 and RCV-3 together say the same.",
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
