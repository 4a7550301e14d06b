"""The suite apart from who shows it: what is run, merged and kept."""

from __future__ import annotations

import pytest
from canned_broker import Broken, Canned, Gone, Silent, Split

from partq.conformance.adapters import SimulatedBroker, Unreachable, open_broker
from partq.conformance.campaign.plan import trace_seed
from partq.conformance.cases import ALL_CASES, Case, chosen
from partq.conformance.history import History
from partq.conformance.program import Program
from partq.conformance.suite import (
    PROGRAMS_LIVE,
    PROGRAMS_SIMULATED,
    BrokerFailed,
    Run,
    cases_for,
    default_programs,
    run_case,
    run_suite,
)
from partq.conformance.verdict import Status
from partq.conformance.workload import generate
from partq.model.requirements import catalogue

CASES = chosen(ALL_CASES, ["same-key", "numbers"])


class Watched(SimulatedBroker):
    """The reference, and every program that it was given."""

    def __init__(self, lacks: frozenset[str] = frozenset()) -> None:
        self.inner = open_broker("reference")
        self.programs: list[Program] = []
        self.missing = lacks

    def lacks(self) -> frozenset[str]:
        self.inner.profile = self.profile
        return self.inner.lacks() | self.missing

    def simulate(self, program: Program) -> History:
        assert isinstance(self.inner, SimulatedBroker)
        assert self.profile == program.profile
        self.programs.append(program)
        return self.inner.simulate(program)


def test_cases_first_then_the_first_traces_of_a_campaign() -> None:
    broker, heard = Watched(), list[Run]()
    result = run_suite(broker, "azure-premium", CASES, 3, 7, heard.append)
    wanted = [case.build("azure-premium") for case in CASES]
    lacks = broker.lacks()
    wanted += [generate("azure-premium", trace_seed(7, n), lacks=lacks) for n in range(3)]
    assert broker.programs == wanted
    assert [run.name for run in heard] == ["same-key", "numbers", "program 0", "program 1", "program 2"]
    assert result.runs == 5
    assert list(result.cases) == ["same-key", "numbers"]


def test_verdicts_are_merged_over_every_row() -> None:
    broker = Watched()
    heard: list[Run] = []
    result = run_suite(broker, "azure-premium", CASES, 2, 1, heard.append)
    assert list(result.verdicts) == list(catalogue())
    times = sum(run.verdicts["SEQ-1"].exercised for run in heard)
    assert result.verdicts["SEQ-1"].exercised == times > 0
    assert result.verdicts["ENT-2"].status is Status.NOT_APPLICABLE
    assert result.verdicts["MGT-1"].status is Status.NOT_IMPLEMENTED


def test_nothing_run_is_not_exercised() -> None:
    result = run_suite(Watched(), "azure-premium", (), 0, 1)
    assert result.verdicts["ROUTE-1"].status is Status.NOT_EXERCISED
    assert result.runs == 0


def test_a_finding_leads_to_its_run() -> None:
    result = run_suite(Split(), "azure-premium", CASES, 0, 1)
    found = [finding for verdict in result.verdicts.values() for finding in verdict.findings]
    assert found
    for finding in found:
        run = result.evidence(finding)
        assert run is not None
        assert run.history.records[finding.witness[0]].i == finding.witness[0]
    assert len(result.kept) == 2


def test_a_run_without_findings_is_not_kept() -> None:
    assert run_suite(Canned(), "azure-premium", CASES, 0, 1).kept == ()


def test_cases_that_cannot_tell_anything_are_left_out() -> None:
    everywhere = ALL_CASES.values()
    names = {case.name for case in cases_for(Watched(), "azure-flat", everywhere)}
    assert names == {case.name for case in everywhere if "azure-flat" in case.profiles}
    lacking = Watched(frozenset({"begin", "commit", "rollback"}))
    left = {case.name for case in cases_for(lacking, "azure-premium", everywhere)}
    assert "transactional-sends" not in left
    assert "key-pins-in-and-out-of-transactions" in left, "ROUTE-1 of it still applies"


def test_what_an_adapter_raises_is_one_line_and_no_verdict() -> None:
    case = CASES[0]
    with pytest.raises(Unreachable, match="start the broker first"):
        run_case(Gone(), "azure-premium", case)
    with pytest.raises(BrokerFailed, match=r"Broken raised ZeroDivisionError: oh\ndear .*canned_broker.py"):
        run_case(Broken(), "azure-premium", case)


def test_a_silent_broker_exercises_nothing() -> None:
    assert not any(v.exercised for v in run_case(Silent(), "azure-premium", CASES[0]).verdicts.values())


def test_fewer_programs_on_live_brokers() -> None:
    assert default_programs(Canned()) == PROGRAMS_SIMULATED
    assert default_programs(open_broker("reference:live")) == PROGRAMS_LIVE


def test_cases_are_run_under_the_profile_asked_for() -> None:
    asked: list[str] = []
    case = Case("probe", ("ROUTE-1",), ("azure-premium",), "Asks.", lambda name: _note(asked, name))
    run_case(Watched(), "azure-premium", case)
    assert asked == ["azure-premium"]


def _note(asked: list[str], name: str) -> Program:
    asked.append(name)
    return CASES[0].build(name)
