"""The mutants: what the table of them promises; and the suite kills each by its own rule, and by no other."""

from __future__ import annotations

import re

import pytest

from partq.conformance import counterexample
from partq.conformance.adapters.reference import Reference
from partq.conformance.assess import Inspection, inspect, not_applicable
from partq.conformance.mutants import MUTANTS, open_mutant
from partq.conformance.program import Program
from partq.conformance.verdict import Finding
from partq.conformance.workload import generate
from partq.model.profiles import PROFILES
from partq.model.requirements import Level, catalogue
from partq.reference_impl.mutants.registry import APART, BY_CHANCE, defect
from partq.reference_impl.store import Store

CORE = (
    [f"KEY-{n}" for n in (1, 2, 3, 5, 7, 8)]
    + [f"ROUTE-{n}" for n in (1, 2, 5, 6, 7, 8)]
    + [f"SEQ-{n}" for n in range(1, 8)]
    + [f"RCV-{n}" for n in (1, 2, 3, 6, 7, 8, 9, 12, 13, 14)]
    + [f"PEEK-{n}" for n in (1, 2, 4, 5, 6, 7)]
    + [f"TXN-{n}" for n in (1, 2, 5, 7, 8)]
    + [f"REB-{n}" for n in (1, 2, 3, 4, 5, 7, 11, 12, 13, 14, 15)]
)
"""The rules that have to be kept, of what the suite covers so far: each needs a broker that breaks it."""

TRACES = 600
"""Programs within which every mutant has to be killed."""

AFTER = 25
"""Programs each mutant has to go through without a wrong finding."""


def test_every_core_rule_is_broken_by_a_mutant() -> None:
    assert set(CORE) <= {mutant.breaks for mutant in MUTANTS.values()}
    assert len(MUTANTS) >= 75


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_what_the_table_says(name: str) -> None:
    mutant = MUTANTS[name]
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
    assert mutant.name == name
    assert mutant.profile in PROFILES
    for rule in (mutant.breaks, *mutant.also):
        assert catalogue()[rule].level in (Level.MUST, Level.SHOULD)
        assert rule not in not_applicable(mutant.profile)
    assert mutant.breaks not in mutant.also
    assert mutant.summary.strip().endswith((".", ".)"))


EXCUSED = {
    "numbers-go-back": {"SEQ-7"},
    "jms-group-ignored": set(BY_CHANCE),
    "solace-route-by-body": set(BY_CHANCE),
}
"""Mutants with an excuse of their own, told beside it."""


def test_other_rules_are_excused_for_keys_that_come_apart_only() -> None:
    """A short history does not tell why equal keys are in two partitions. There is hardly another excuse."""
    of_keys = {"KEY-1", "KEY-2", "KEY-8", "ROUTE-1", "ROUTE-2", "TXN-8"}
    for name, mutant in MUTANTS.items():
        allowed = EXCUSED.get(name, set(APART) if mutant.breaks in of_keys else set())
        assert set(mutant.also) <= allowed


def test_two_mutants_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two mutants"):
        defect(next(iter(MUTANTS)), "RCV-1")(Store)


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_killed_by_its_own_rule_and_shrunk(name: str) -> None:
    mutant, broker = MUTANTS[name], open_mutant(name)
    lacks = frozenset(broker.lacks())
    killers: list[tuple[Program, Finding]] = []
    found: dict[str, int] = {}
    for seed in range(TRACES):
        program = generate(mutant.profile, seed, lacks=lacks)
        inspection = inspect(broker.simulate(program))
        findings = inspection.findings
        found |= dict.fromkeys(findings, seed)
        for among in inspection.among.values():
            assert {mutant.breaks, *mutant.also, *findings}.intersection(among), "not one of these is broken"
        if mutant.breaks in findings:
            killers.append((program, findings[mutant.breaks][0]))
        if killers and seed >= AFTER:
            break
    assert killers, f"survived; found {found}"
    assert set(found) <= {mutant.breaks, *mutant.also}, found
    examples = (counterexample.make(name, broker, *killer) for killer in killers)
    short = next((e for e in examples if e is not None and len(e.program.steps) <= 10), None)
    assert short is not None, "none of the programs gets short"
    sound = Reference(mutant.profile)
    assert counterexample.shows(sound, short.program, mutant.breaks) is None, "the reference does it too"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("profile", sorted({mutant.profile for mutant in MUTANTS.values()}))
def test_the_reference_survives_the_same_programs(profile: str, part: int) -> None:
    broker = Reference(profile)
    for seed in range(part * 50, part * 50 + 50):
        inspection: Inspection = inspect(broker.simulate(generate(profile, seed, lacks=broker.lacks())))
        assert not inspection.findings, (seed, inspection.findings)
        assert not inspection.open, (seed, inspection.open)
