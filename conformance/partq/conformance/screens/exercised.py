"""How often a history exercises a rule, without a detector: a table, rule -> what is counted.

A rule with a row here needs no screen. What is counted is a property of operations and of what they were
answered. Where no screen looks for what breaks the rule, the count is one only in histories that the judge
accepts (`evaluation.decision`): otherwise nobody has looked. Nothing here finds anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from partq.conformance.facts.index import Facts, Observation
from partq.conformance.facts.locks import Locks
from partq.conformance.history import Record
from partq.conformance.screens.protocol import Report, Screen
from partq.model.messages import SCHEDULED
from partq.model.operations import Outcome


class Exercise(NamedTuple):
    """``count``: how often a history exercises the rule. ``needs``: see `Screen`. ``judged``: whether the
    judge alone decides it."""

    count: Callable[[Facts], int]
    needs: tuple[str, ...]
    judged: bool = False


def check(facts: Facts) -> Report:
    """Count what the history exercises of every rule of the table."""
    report = Report()
    if facts.peeks:
        _count(facts, report, PEEKS)
    if facts.derive(_scheduled):
        _count(facts, report, SCHEDULES)
    _count(facts, report, DEFERRALS)
    _count(facts, report, LIVES)
    return report


def _count(facts: Facts, report: Report, table: Mapping[str, Exercise]) -> None:
    for rule, exercise in table.items():
        report.count(rule, exercise.count(facts))


def _answers(facts: Facts) -> list[Record]:
    """The peeks that show something."""
    return [record for record in facts.peeks if record.outcome == Outcome.OK and record.messages]


def _partitions(facts: Facts, record: Record) -> set[int]:
    """The partitions that an answer shows numbers of; 0 where there is only one."""
    partition_of = facts.profile.partition_of if facts.profile.partitioned else _the_only_one
    shown = (partition_of(one) for one in record.messages if one.seq is not None)
    return {partition for partition in shown if partition is not None}


def _the_only_one(_: object) -> int:
    return 0


def _parts(facts: Facts) -> int:
    """Each partition's part of an answer: it may skip nothing from its start on."""
    return sum(len(_partitions(facts, record)) for record in _answers(facts))


def _mixed(facts: Facts) -> int:
    """Each answer that shows several partitions."""
    return sum(len(_partitions(facts, record)) > 1 for record in _answers(facts))


def _walked_on(facts: Facts) -> int:
    """Each answer to a peek without a start of its own, of a client that such a peek has shown numbers to."""
    walking: set[str] = set()
    count = 0
    for record in facts.peeks:
        if record.outcome == Outcome.OK and "from_seq" not in record.args:
            count += record.proc in walking
            if any(one.seq is not None for one in record.messages):
                walking.add(record.proc)
    return count


def _shown(facts: Facts) -> int:
    """Each message of each answer: it is shown as it is, and stays so."""
    return sum(map(len, facts.peeked.values()))


def shown_locked(facts: Facts) -> int:
    """Each message of an answer that some client certainly held."""
    facts.derive(Locks)  # fills in the deliveries
    both = facts.peeked.keys() & facts.received.keys()
    return sum(_held(facts.received[id], facts.peeked[id]) for id in both)


def _held(deliveries: list[Observation], peeks: list[Observation]) -> int:
    """How many of these peeks of a message lie within a time for which one of its locks certainly holds."""
    locked = sorted((one.ret, one.held_until) for one in deliveries if one.delivery.lock is not None)
    at, until, count = 0, -1, 0
    for peek in peeks:
        while at < len(locked) and locked[at][0] < peek.call:
            until = max(until, locked[at][1])
            at += 1
        count += peek.ret < until
    return count


def _scheduled(facts: Facts) -> set[str]:
    """The messages that were scheduled."""
    return {
        id for id, sends in facts.by_id.items() if any(one.message.scheduled_at is not None for one in sends)
    }


def _came(facts: Facts) -> int:
    """Each scheduled message that a client received."""
    return len(facts.derive(_scheduled) & facts.received.keys())


def _numbered(facts: Facts) -> int:
    """Each number that the operation returned, and each scheduled message of an answer to a peek."""
    returned = (one for record in facts.records if record.op == "schedule" for one in record.messages)
    peeked = (one for record in facts.peeks for one in record.messages if one.state == SCHEDULED)
    return sum(one.seq is not None for one in returned) + sum(1 for _ in peeked)


def _cancelled(facts: Facts) -> int:
    """Each message that was cancelled."""
    return sum(r.op == "cancel_scheduled" and r.outcome == Outcome.OK for r in facts.records)


def _renumbered(facts: Facts) -> int:
    """Each scheduled message that is shown with several numbers."""
    numbers: dict[str, set[int]] = {id: set() for id in facts.derive(_scheduled)}
    for record in facts.records:
        for shown in record.messages:
            if shown.seq is not None and shown.id in numbers:
                numbers[shown.id].add(shown.seq)
    return sum(len(several) > 1 for several in numbers.values())


def _by_number(facts: Facts) -> int:
    """Each message that a receive by number delivered, and each such receive that was refused."""
    asked = [record for record in facts.records if record.op == "receive_deferred"]
    return sum(record.outcome == Outcome.ERROR or len(record.messages) for record in asked)


def _outlived(facts: Facts) -> int:
    """Each message whose time to live ended before the last operation did."""
    end = max((record.call for record in facts.records), default=0)
    sent = (one for sends in facts.by_id.values() for one in sends if one.message.ttl is not None)
    return sum(one.record.call + (one.message.ttl or 0) < end for one in sent)


_PEEK: Final = ("peek",)
_SCHEDULE: Final = ("schedule",)
_NUMBERS: Final = ("peek", "sequence numbers")

PEEKS: Final[Mapping[str, Exercise]] = {
    "PEEK-1": Exercise(_parts, _NUMBERS),
    "PEEK-2": Exercise(_parts, _NUMBERS),
    "PEEK-3": Exercise(_mixed, _NUMBERS),
    "PEEK-4": Exercise(lambda facts: len(_answers(facts)), _PEEK),
    "PEEK-5": Exercise(_walked_on, _NUMBERS),
    "PEEK-6": Exercise(_shown, _PEEK),
    "PEEK-7": Exercise(shown_locked, _PEEK, judged=True),
}
SCHEDULES: Final[Mapping[str, Exercise]] = {
    "SCH-1": Exercise(_came, _SCHEDULE, judged=True),
    "SCH-2": Exercise(_numbered, (*_SCHEDULE, "sequence numbers"), judged=True),
    "SCH-3": Exercise(_cancelled, ("schedule", "cancel_scheduled"), judged=True),
    "SCH-4": Exercise(_renumbered, (*_SCHEDULE, "sequence numbers"), judged=True),
    "SCH-6": Exercise(_came, _SCHEDULE, judged=True),
}
DEFERRALS: Final[Mapping[str, Exercise]] = {
    "RCV-10": Exercise(_by_number, ("defer", "receive_deferred"), judged=True),
}
LIVES: Final[Mapping[str, Exercise]] = {"RCV-15": Exercise(_outlived, ("receive",), judged=True)}
EXERCISED: Final = {**PEEKS, **SCHEDULES, **DEFERRALS, **LIVES}
"""Rule -> what exercises it."""


SCREEN: Final = Screen(
    "exercised",
    tuple(EXERCISED),
    check,
    needs={rule: exercise.needs for rule, exercise in EXERCISED.items()},
    judged=tuple(rule for rule, exercise in EXERCISED.items() if exercise.judged),
)
