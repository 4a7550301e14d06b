"""A campaign's counterexamples: of each rule and cause the first trace, shrunk, in ``counterexamples/``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from partq.conformance.adapters import open_broker
from partq.conformance.evaluation import counterexample
from partq.conformance.evaluation.shrinking import SHORT
from partq.conformance.frontends.campaign.files import Folder
from partq.conformance.frontends.campaign.store import to_text
from partq.conformance.verdict import finding_of, firsts
from partq.conformance.workload import program as programs
from partq.conformance.workload.shrinker import BUDGET

UNDECIDED: Final = "undecided"
"""Where in a campaign's folder the programs of undecided traces are."""


class StoredExample(NamedTuple):
    """A counterexample that was stored: of which rule and cause the violation was, and where it is."""

    requirement: str
    key: str
    place: str
    found: counterexample.Counterexample


def first_of_each(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The violations of the lowest trace for each (broker, rule, cause), in order of traces."""
    ordered = sorted(rows, key=lambda row: (row["trace"], row["requirement"], row["key"]))
    return firsts(ordered, lambda row: (row["broker"], row["requirement"], row["key"]))


def write_examples(
    rows: Iterable[Mapping[str, Any]],
    broker: str,
    folder: Folder,
    announce: Callable[[int, int, str], None],
    budget: int,
    written: Callable[[StoredExample], None],
) -> None:
    """Shrink and store the first of each cause among these violations. ``announce`` is called before each
    (which of how many, and its cause), ``written`` after it. One that does not show again (a live
    broker's race) is stored as it was found, in the violations table alone. Raises `Unreachable`; what was
    written stays."""
    chosen, taken = first_of_each(rows), set[str]()
    for number, row in enumerate(chosen, start=1):
        announce(number, len(chosen), row["key"])
        example = shrunk(row, broker, budget)
        if example is not None:
            name = counterexample.free_name(example, taken)
            place = stored(folder, f"{counterexample.FOLDER}/{name}", example)
            written(StoredExample(row["requirement"], row["key"], place, example))


def stored(folder: Folder, name: str, example: counterexample.Counterexample) -> str:
    """Store it under that name below the folder; where that is."""
    folder.write(name, to_text(counterexample.to_json(example)))
    return f"{folder.name}/{name}"


def shrunk(row: Mapping[str, Any], broker_name: str, budget: int) -> counterexample.Counterexample | None:
    """The counterexample of one stored violation, or None where it does not show again."""
    broker = open_broker(broker_name)
    broker.profile = row["profile"]
    program = programs.from_json(json.loads(row["program"]))
    return counterexample.make(
        broker_name, broker, program, finding_of(row), trace=row["trace"], budget=budget
    )


def shortest(rows: Iterable[Mapping[str, Any]]) -> counterexample.Counterexample | None:
    """Of these violations' counterexamples the first that is short, or else the shortest; None where none
    shows again."""
    best = None
    for row in rows:
        other = shrunk(row, row["broker"], BUDGET)
        if best is None or (other and len(other.program.steps) < len(best.program.steps)):
            best = other
        if best is not None and len(best.program.steps) <= SHORT:
            break
    return best


def write_undecided(folder: Folder, trace: int, program: programs.Program) -> str:
    """Store the program of an undecided trace; where that is."""
    name = f"{UNDECIDED}/trace-{trace}.json"
    folder.write(name, programs.dumps(program) + "\n")
    return f"{folder.name}/{name}"
