"""How often a history exercises a rule, without a detector: a table, rule -> what is counted, with the rows
of mechanisms (their `reading`).

A rule with a row here needs no screen. The counts are of operations and their answers. If no screen checks
the rule, only histories that the judge accepts count (`evaluation.decision`). Nothing here
finds violations, but for what a row `finds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from partq.conformance.facts.index import Facts, Observation
from partq.conformance.facts.locks import Locks
from partq.conformance.history import Record
from partq.conformance.of_mechanisms import given
from partq.conformance.screens.protocol import Exercise, Report, Screen
from partq.model.profiles import requirements_of


def check(facts: Facts) -> Report:
    """Count how often the history exercises each rule of the table."""
    report = Report()
    for rule, exercise in _binding(facts.profile.name):
        if facts.peeks or rule not in PEEKS:
            report.count(rule, exercise.count(facts))
            exercise.finds(facts, report)
    return report


@cache
def _binding(profile: str) -> list[tuple[str, Exercise]]:
    """The rows of the rules that bind the profile."""
    return [(rule, exercise) for rule, exercise in EXERCISED.items() if rule in requirements_of(profile)]


def _answers(facts: Facts) -> list[Record]:
    """The peeks that show something."""
    return [record for record in facts.peeks if record.ok and record.messages]


def _partitions(facts: Facts, record: Record) -> set[int]:
    """The partitions that an answer shows numbers of; 0 where there is only one."""
    profile, numbered = facts.profile, [one for one in record.messages if one.seq is not None]
    shown = {profile.partition_of(one) if profile.partitioned else 0 for one in numbered}
    return {partition for partition in shown if partition is not None}


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
        if record.ok and "from_seq" not in record.args:
            count += record.proc in walking
            if any(one.seq is not None for one in record.messages):
                walking.add(record.proc)
    return count


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


_PEEK: Final = ("peek",)
_NUMBERS: Final = ("peek", "sequence numbers")

PEEKS: Final[Mapping[str, Exercise]] = {
    "PEEK-1": Exercise(_parts, _NUMBERS, judged=False),
    "PEEK-2": Exercise(_parts, _NUMBERS, judged=False),
    "PEEK-3": Exercise(_mixed, _NUMBERS, judged=False),
    "PEEK-4": Exercise(lambda facts: len(_answers(facts)), _PEEK, judged=False),
    "PEEK-5": Exercise(_walked_on, _NUMBERS, judged=False),
    "PEEK-6": Exercise(lambda facts: sum(map(len, facts.peeked.values())), _PEEK, judged=False),
    "PEEK-7": Exercise(shown_locked, _PEEK),
}
EXERCISED: Final[Mapping[str, Exercise]] = {
    **PEEKS,
    **{rule: row for table in given("reading", "EXERCISED").values() for rule, row in table.items()},
}
"""Rule -> its row."""


SCREEN: Final = Screen(
    "exercised",
    tuple(EXERCISED),
    check,
    needs={rule: exercise.needs for rule, exercise in EXERCISED.items()},
    judged=tuple(rule for rule, exercise in EXERCISED.items() if exercise.judged),
)
