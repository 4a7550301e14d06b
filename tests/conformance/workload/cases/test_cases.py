"""The directed cases: what each says it exercises is exercised, and passes, on the reference broker."""

from __future__ import annotations

from dataclasses import replace

import pytest
from one_case import run_case

from partq.conformance.adapters import open_broker
from partq.conformance.adapters.reference import Reference
from partq.conformance.verdict import Status
from partq.conformance.workload import program as programs
from partq.conformance.workload.cases.case import Case, UnknownCase, chosen
from partq.conformance.workload.cases.table import ALL_CASES
from partq.model.profiles import PROFILES, requirements_of
from partq.model.requirements import PROFILE_COLUMNS, Level, catalogue, selected

RUNS = [(case.name, profile) for case in ALL_CASES.values() for profile in case.profiles]
RUNS_HERE = [(name, profile) for name, profile in RUNS if PROFILES[profile].modelled]

AZURE = ("azure-standard", "azure-premium", "azure-flat")


@pytest.mark.parametrize(("name", "profile"), RUNS_HERE)
def test_a_case_exercises_what_it_says_and_the_reference_passes(name: str, profile: str) -> None:
    case = ALL_CASES[name]
    run = run_case(open_broker("reference"), profile, case)
    assert run.findings == ()
    for requirement in requirements_of(profile).intersection(case.requirements):
        verdict = run.verdicts[requirement]
        assert verdict.status is Status.PASS, f"{requirement}: {verdict.status} {verdict.reason}"
        assert verdict.exercised > 0


@pytest.mark.parametrize(
    ("name", "freedom"),
    [
        ("cancel-races-activation", "SCH-5"),
        ("counts-after-late-cancels", "SCH-5"),
        ("managed-amid-an-outage", "MGT-3"),
    ],
)
def test_a_freedom_is_seen_where_a_broker_makes_use_of_it(name: str, freedom: str) -> None:
    case = ALL_CASES[name]
    for profile in case.profiles:
        run, plain = (run_case(broker, profile, case) for broker in (open_broker("reference"), Reference()))
        if freedom in requirements_of(profile):
            assert run.verdicts[freedom].status is Status.SEEN
            assert plain.verdicts[freedom].status is Status.NOT_EXERCISED


@pytest.mark.parametrize("name", ALL_CASES)
def test_a_case_names_rows_that_apply(name: str) -> None:
    case = ALL_CASES[name]
    assert case.summary.endswith(".")
    assert case.requirements
    columns = set(case.profiles).intersection(PROFILE_COLUMNS)
    rows = [catalogue()[requirement] for requirement in case.requirements]
    assert all(row.level is not Level.MAY for row in rows)
    assert not columns or all(columns.intersection(row.profiles) for row in rows)
    assert all(any(profile in row.profiles for row in rows) for profile in columns)


@pytest.mark.parametrize("name", ALL_CASES)
def test_a_case_fits_its_profiles_and_no_other_built_in_one(name: str) -> None:
    case = ALL_CASES[name]
    assert {profile for profile in PROFILES if case.fits(profile)} == set(case.profiles)


@pytest.mark.parametrize(("name", "profile"), RUNS)
def test_a_case_builds_the_same_storable_program_each_time(name: str, profile: str) -> None:
    built = ALL_CASES[name].build(profile)
    assert built == ALL_CASES[name].build(profile)
    assert programs.from_json(programs.to_json(built)) == built
    assert built.profile == profile
    ids = [m.id for step in built.steps for m in step.args.get("messages", ())]
    again = built.entity.duplicate_detection
    assert again or len(ids) == len(set(ids)), "every message needs an ID of its own"


@pytest.mark.parametrize("profile", AZURE)
def test_every_must_row_has_a_case(profile: str) -> None:
    groups = {"KEY", "ROUTE", "SEQ", "RCV", "PEEK", "TXN"}
    rows = [catalogue()[id] for id in selected(profile)]
    wanted = {row.id for row in rows if row.group in groups and row.level is Level.MUST}
    had = {rule for case in ALL_CASES.values() if profile in case.profiles for rule in case.requirements}
    unseen = set() if PROFILES[profile].partitioned else {"KEY-1"}  # one partition cannot show it
    assert wanted - had == unseen & wanted


def test_a_case_that_finds_nothing_to_do_is_caught() -> None:
    """The first test above can fail: without its steps a case exercises nothing."""
    case = ALL_CASES["same-key"]
    empty = replace(case, build=lambda profile: case.build(profile).with_steps(()))
    run = run_case(open_broker("reference"), "azure-standard", empty)
    assert run.verdicts["ROUTE-1"].status is Status.NOT_EXERCISED


def test_chosen_by_name() -> None:
    assert [case.name for case in chosen(ALL_CASES, ["same-key", "numbers", "same-key"])] == [
        "same-key",
        "numbers",
    ]
    with pytest.raises(UnknownCase, match="did you mean same-key"):
        chosen(ALL_CASES, ["same-keys"])


def test_a_case_is_a_value() -> None:
    case = Case("name", ("ROUTE-1",), ("azure-flat",), "Sums up.", ALL_CASES["numbers"].build)
    assert case == replace(case)
