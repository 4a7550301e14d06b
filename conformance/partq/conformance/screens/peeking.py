"""Peeks: what one answer, one client's walk or one message's lifetime shows to be wrong by itself.

What needs the order of numbers is `omissions`' business. The counts that peeks change the judge alone
decides. What exercises these rules is counted in `exercised`.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Final

from partq.conformance.facts.index import Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.locks import Intervals
from partq.conformance.facts.placements import Placements
from partq.conformance.facts.records import REMOVALS, returned, span
from partq.conformance.history import Record
from partq.conformance.screens.omissions import Omissions, Walk
from partq.conformance.screens.protocol import Report, Screen
from partq.model.messages import DEFERRED, SCHEDULED
from partq.model.operations import Outcome

_UPSETS: Final = frozenset({"frontend_lost", "broker_kill", "connection_lost"})
"""Faults that may put any client's cursors back to the start."""


def check(facts: Facts) -> Report:
    """What the peeks of this entity show by themselves."""
    report = Report()
    if not facts.peeks:
        return report
    omissions = Omissions(facts, report)
    walks: dict[str, list[Record]] = {}
    for record in facts.peeks:
        if record.outcome == Outcome.OK:
            _check_answer(facts, report, record)
        if record.outcome != Outcome.ERROR and "from_seq" not in record.args:
            walks.setdefault(record.proc, []).append(record)
        elif record.outcome == Outcome.OK:
            omissions.check(record, omissions.start(record))
    for proc, peeks in walks.items():
        _check_walk(facts, report, omissions, peeks, _resets(facts, proc))
    for id, shown in facts.peeked.items():
        _check_shown(facts, report, id, shown)
        if (life := facts.derive(Lifetimes).get(id)) is not None and life.deliveries:
            _check_gone(facts, report, life)
    return report


def _check_answer(facts: Facts, report: Report, record: Record) -> None:
    """PEEK-4 and PEEK-5: not more than asked for, no message twice."""
    size = len(record.messages)
    if size > record.args["max"]:
        report.find(
            "PEEK-4",
            "more than max",
            "A peek returned more messages than were asked for",
            (record,),
            f"{record.proc} asked for {record.args['max']} and was shown {size}.",
            f"at most {record.args['max']} messages",
        )
    if len({delivery.id for delivery in record.messages}) < size:
        twice = facts.derive(Lifetimes).twice_in(record)
        if twice is not None:
            report.find(
                "PEEK-5",
                "twice in one answer",
                "One answer showed a message twice",
                (record,),
                f"Message {twice.id!r} is in one answer to {record.proc} more than once.",
                "each message once",
            )


def _check_walk(
    facts: Facts, report: Report, omissions: Omissions, peeks: list[Record], resets: Intervals
) -> None:
    """A client's cursor stands after what it has shown, until a fault may have put it back to the start."""
    known, last = facts.derive(_of_one_number), peeks[0].call
    shown: dict[tuple[str, int], Record] = {}
    walk = Walk(last, {})
    for record in peeks:
        if resets.touching(last, returned(record)):
            walk = Walk(record.call, None)
            shown.clear()
        last = record.call
        numbers = [(one.id, one.seq) for one in record.messages if one.seq is not None and one.id in known]
        again = next((number for number in numbers if number in shown), None)
        if again is not None:
            _report_again(report, shown[again], record, again)
        elif record.outcome == Outcome.OK:
            omissions.check(record, walk)
        walk = omissions.moved(walk, record)
        shown |= dict.fromkeys(numbers, record)


def _of_one_number(facts: Facts) -> Set[str]:
    """The messages that are followed and were shown with one number alone (SEQ-6)."""
    renumbered = {seen.delivery.id for pair in facts.derive(Placements).renumbered for seen in pair}
    return facts.derive(Lifetimes).by_id.keys() - renumbered


def _resets(facts: Facts, proc: str) -> Intervals:
    """When the client's cursors may have been put back to the start."""
    lost = (span(record) for record in facts.disruptions if record.op in _UPSETS)
    left = (span(record) for record in facts.flows if (record.op, record.proc) == ("disconnect", proc))
    return Intervals([*lost, *left, *((interval.start, interval.end) for interval in facts.dead)])


def _report_again(report: Report, before: Record, record: Record, number: tuple[str, int]) -> None:
    report.find(
        "PEEK-5",
        "again",
        "A walk returned a message twice",
        (before, record),
        f"{record.proc} was shown message {number[0]!r}, number {number[1]}, though its cursor stood after "
        f"it.",
        "messages after the cursor",
    )


def _check_shown(facts: Facts, report: Report, id: str, shown: list[Observation]) -> None:
    """PEEK-6: no lock. PEEK-7: deferred or scheduled only if a client made it so."""
    for seen in shown:
        if seen.delivery.lock is not None:
            report.find(
                "PEEK-6",
                "lock",
                "A peek gave a lock",
                (seen.record,),
                f"{seen.record.proc} peeked message {id!r} and got a lock with it.",
                "the message without a lock",
            )
            break
    wrong = next(_in_wrong_state(facts, id, shown), None)
    if wrong is not None:
        report.find(
            "PEEK-7",
            "state",
            "A peek showed a message in a state that it was not in",
            (wrong.record,),
            f"{wrong.record.proc} was shown message {id!r} as {wrong.delivery.state}, which no client made "
            f"it.",
            "the message as active",
        )


def _check_gone(facts: Facts, report: Report, life: Lifetime) -> None:
    """PEEK-1 or PEEK-2: a message that was removed, and did not come back (RCV-7), is not shown any more."""
    gone = life.removal.certain
    shown = next((peek for peek in life.peeks if peek.call > gone), None)
    if shown is None or any(seen.ret > gone for seen in life.deliveries):
        return
    rule = "PEEK-2" if facts.profile.partitioned else "PEEK-1"
    if facts.drained is None or not _certainly_gone(life, shown.call):
        report.ambiguous(
            (rule, "RCV-7", "RCV-8"),
            f"message {life.id!r} was peeked after its removal: it is shown though it is gone ({rule}), or "
            "the removal came to nothing (RCV-7, RCV-8)",
        )
        return
    report.find(
        rule,
        "removed",
        "A peek showed a message that was gone",
        (life.deliveries[-1].record, shown.record),
        f"{shown.record.proc} was shown message {life.id!r}, which had been removed before and did not come "
        f"back.",
        "messages that are there",
    )


def _certainly_gone(life: Lifetime, before: int) -> bool:
    """Whether a receive, or a settlement by a lock that certainly held, had removed it before then."""
    for seen in life.deliveries:
        if seen.delivery.lock is None:
            if seen.ret < before:
                return True
            continue
        for end in seen.settlements:
            removed = end.op in REMOVALS and end.outcome == Outcome.OK and "txn" not in end.args
            if removed and returned(end) < min(before, seen.held_unsettled):
                return True
    return False


def _in_wrong_state(facts: Facts, id: str, shown: list[Observation]) -> Iterator[Observation]:
    for seen in shown:
        state = seen.delivery.state
        if (state == DEFERRED and not _deferred(facts)) or (state == SCHEDULED and not _scheduled(facts, id)):
            yield seen


def _deferred(facts: Facts) -> bool:
    """Whether any message may have been deferred."""
    return any(record.op == "defer" and record.outcome != Outcome.ERROR for record in facts.settlements)


def _scheduled(facts: Facts, id: str) -> bool:
    """Whether the message may have been scheduled: sent so, or not to this entity."""
    sends = facts.by_id.get(id, ())
    return not sends or any(
        sent.record.op == "schedule" or sent.message.scheduled_at is not None for sent in sends
    )


SCREEN: Final = Screen(
    name="peeking",
    requirements=("PEEK-1", "PEEK-2", "PEEK-4", "PEEK-5", "PEEK-6", "PEEK-7"),
    check=check,
    blind_spots=(
        "The counts that a peek changes the judge alone sees, and what is left out if it may have been "
        "locked or lost, or was there amid faults.",
        "The order within an answer is checked on a non-partitioned entity only.",
        "A removed message that is still peeked is found after a drain only; before, RCV-7 may be the broken "
        "rule, and it is left unknown.",
        "PEEK-5: a walk that goes back is not noticed after a fault that may have put its cursor back, nor "
        "where messages are shown without numbers, or with others.",
        "PEEK-6: that a peeked message cannot be settled is not tried, a peek having given no lock.",
        "PEEK-7: of the state that a message is shown in it is looked at only whether it is deferred, or "
        "scheduled, though no client made it so; not where any message of the entity was deferred.",
    ),
)
