"""Which histories are kept: the reference's under every profile it is written for, directed cases and random
programs; those of every mutant, as many as show its defect as there are; edited ones, long ones, recorded
ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.edited import edited_somehow
from partq.conformance.adapters import Broker, open_broker
from partq.conformance.adapters.mutants import MUTANTS
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.history.codec import dumps, read_history
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.screens.assess import inspect
from partq.conformance.workload.cases.table import ALL_CASES
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.program import Program
from partq.model.profiles import PROFILES

from .store import Packed

SEED: Final = 20_260
REFERENCE: Final = 130
"""How many random programs of the reference, a profile."""

EDITED: Final = 150
"""How many edited histories a profile."""

MUTANT: Final = 3
TRIED: Final = 40
"""How many histories of a mutant are kept, and how many programs are tried for such as show the defect."""

SHORT: Final = 12
"""Phrases of the programs of both: blame takes its time for long ones, and is rarely sure."""

SUSPECTING: Final = 500
"""The judge's nodes for the question whether a history shows the defect."""

LONG: Final = {100: 4, 240: 2, 480: 1}
"""Phrases of long programs -> how many of them, a profile."""

LONGEST: Final = {"azure-standard": 1_500, "azure-flat": 1_500}
"""The same of the longest, of which there is one."""

RECORDED: Final = Path(__file__).parents[2] / "tests" / "conformance" / "oracle"


def parts() -> list[tuple[str, str]]:
    """What can be made apart: a kind, and of what."""
    modelled = [name for name, family in PROFILES.items() if family.modelled]
    by_profile = [(kind, name) for kind in ("reference", "case", "edited", "long") for name in modelled]
    return [*by_profile, *(("mutant", name) for name in MUTANTS), ("recorded", "")]


def made(part: tuple[str, str]) -> list[Packed]:
    """The part's histories."""
    kind, of = part
    return [(f"{kind}/{name}", dumps(history)) for name, history in MAKERS[kind](of)]


def _reference(profile: str) -> Iterator[tuple[str, History]]:
    for number in range(REFERENCE):
        yield f"{profile}/{number}", _run("reference", profile, _generated(profile, number))


def _cases(profile: str) -> Iterator[tuple[str, History]]:
    for name, case in ALL_CASES.items():
        if case.fits(profile):
            yield f"{profile}/{name}", _run("reference", profile, case.build(profile))


def _edited(profile: str) -> Iterator[tuple[str, History]]:
    for number in range(EDITED):
        program = _generated(profile, REFERENCE + number, SHORT)
        edit, history = edited_somehow(_run("reference", profile, program), Random(number))
        yield f"{profile}/{number} {edit}", history


def _long(profile: str) -> Iterator[tuple[str, History]]:
    lengths = [length for length, count in LONG.items() for _ in range(count)]
    longest = [LONGEST[profile]] if profile in LONGEST else []
    for number, length in enumerate((*lengths, *longest)):
        yield f"{profile}/{number}", _run("reference", profile, _generated(profile, number, length))


def _mutant(name: str) -> Iterator[tuple[str, History]]:
    """The first histories that show the defect, and if these are too few the first ones."""
    mutant = MUTANTS[name]
    programs = {
        case.name: case.build(mutant.profile)
        for case in ALL_CASES.values()
        if mutant.breaks in case.requirements and case.fits(mutant.profile)
    }
    programs |= {str(number): _generated(mutant.profile, number, SHORT) for number in range(TRIED)}
    found: dict[str, History] = {}
    others: dict[str, History] = {}
    for key, program in programs.items():
        history = _run(f"mutant:{name}", mutant.profile, program)
        (found if _is_wrong(history) else others)[key] = history
        if len(found) == MUTANT:
            break
    chosen = [*found.items(), *others.items()][:MUTANT]
    yield from ((f"{name}/{key}", history) for key, history in chosen)


def _recorded(_: str) -> Iterator[tuple[str, History]]:
    for file in sorted(RECORDED.glob("*/*.ndjson")):
        yield f"{file.parent.name}/{file.stem}", read_history(file)


MAKERS: Final = {
    "reference": _reference,
    "case": _cases,
    "edited": _edited,
    "long": _long,
    "mutant": _mutant,
    "recorded": _recorded,
}


@cache
def _opened(name: str, profile: str) -> Broker:
    broker = open_broker(name)
    broker.profile = profile
    return broker


def _generated(profile: str, number: int, length: int | None = None) -> Program:
    return generate(
        profile, trace_seed(SEED, number), length=length, lacks=_opened("reference", profile).lacks()
    )


def _run(broker: str, profile: str, program: Program) -> History:
    return run(_opened(broker, profile), program)


def _is_wrong(history: History) -> bool:
    seen = inspect(history)
    return seen.broken or judge(history, nodes=SUSPECTING, seconds=60).status is Judged.REJECTED
