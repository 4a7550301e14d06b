"""A campaign's totals: every cause is there, the counts are those of all chunks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from partq.conformance.adapters import Unreachable
from partq.conformance.evaluation.counterexample import Counterexample
from partq.conformance.frontends.campaign import examples, local_folder, run
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.examples import StoredExample, first_of_each
from partq.conformance.frontends.campaign.files import Folder
from partq.conformance.frontends.campaign.plan import Chunk, Lane, Plan
from partq.conformance.frontends.campaign.run import Campaign, CampaignState
from partq.conformance.frontends.campaign.store import Store
from partq.conformance.frontends.campaign.totals import Totals, document, totals_of
from partq.conformance.frontends.campaign.work import ChunkResult, RequirementCount
from partq.conformance.frontends.cli import fuzz
from partq.conformance.frontends.cli.app import main
from partq.conformance.history.notation import history
from partq.conformance.verdict import KEPT_FINDINGS, Finding, Status
from partq.conformance.workload.generator import trace_seed
from partq.conformance.workload.program import Program, from_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

PLAN = Plan((Lane("reference", "azure-standard", 300, chunk=100),), seed=7, length=4)
LANE = ("reference", "azure-standard")
FINDING = Finding("ROUTE-1", "Two partitions", (1,), "m1 here, m2 there", "both here", "ROUTE-1/rare")
NOTHING = history("", "azure-standard")


def chunk(at: Chunk, **causes: int) -> ChunkResult:
    """A chunk with so many traces that violate ROUTE-1 for each cause, twice each, and SEQ-4 left open
    twice."""
    result = ChunkResult(at)
    for n in range(at.count):
        row = {"trace": at.first + n, "broker": at.broker, "profile": at.profile, "seed": Decimal(n)}
        twice = 2 * sum(n < times for times in causes.values())
        why = "SEQ-3: too much" if n == at.count - 1 else None
        result.verdicts.append(
            {**row, "operations": 1, "status": "pass", "findings": twice, "undecided": why}
        )
        for cause in (cause for cause, times in causes.items() if n < times):
            texts = dict.fromkeys(("title", "detail", "allowed"), "text")
            rule = {"requirement": "ROUTE-1", "key": f"ROUTE-1/{cause}", "witness": [0], "candidates": []}
            result.violations.append({**row, **rule, **texts, "times": 2, "steps": 1, "program": "{}"})
    candidates = ("SEQ-4", "RCV-2") if causes else ()
    result.requirements["SEQ-4"] = RequirementCount(
        unknown=2, trace=at.first, why=f"a gap after {at.first}", candidates=candidates
    )
    result.requirements["ROUTE-1"] = RequirementCount(exercised=5)
    result.requirements["SEQ-3"] = RequirementCount(
        100, unknown=1, traces=50, undecided=1, trace=at.first, why="over the budget", candidates=()
    )
    result.counts.update({("lacks", "peek"): 1, ("endings", "drained"): at.count, ("judged", "accepted"): 3})
    return result


@pytest.fixture
def totals(stage: Callable[..., Store], tmp_path: Path) -> Totals:
    """Three chunks, the rare cause in the last one only."""
    found = ({"often": 100}, {"often": 50}, {"often": 7, "rare": 1})
    results = [chunk(PLAN.unit(n)[0], **causes) for n, causes in enumerate(found)]
    store = stage(PLAN, tmp_path / "out", results)
    return totals_of(store, [store.complete(range(3))])


def test_a_rule_that_few_traces_left_undecided_passes(totals: Totals) -> None:
    """Not where a trace was rejected."""
    assert totals.results[LANE]["SEQ-3"].status is Status.UNKNOWN
    total = totals.tolerating(Fraction(2, 100)).results[LANE]
    assert (total["SEQ-3"].status, total["SEQ-3"].openness) == (Status.PASS, "3 of 150 traces undecided")
    assert total["SEQ-4"].status is Status.UNKNOWN
    assert totals.tolerating(Fraction(19, 1000)).results[LANE]["SEQ-3"].status is Status.UNKNOWN


def test_undecided_traces_are_counted_and_named(totals: Totals) -> None:
    """Each with the command that runs it, and its program in a file."""
    assert totals.open == 3
    assert [(row["trace"], row["undecided"]) for row in totals.undecided] == [
        (99, "SEQ-3: too much"),
        (199, "SEQ-3: too much"),
        (299, "SEQ-3: too much"),
    ]
    written: dict[str, str] = {}
    folder = SimpleNamespace(name="out", write=written.__setitem__)
    campaign = SimpleNamespace(totals=totals, plan=PLAN, folder=folder)
    one = next(fuzz._undecided(campaign, "reference"))  # type: ignore[arg-type]
    again = "partq fuzz reference --trace 99 --seed 7 --profile azure-standard --length 4"
    assert (one["command"], one["program"]) == (again, "out/undecided/trace-99.json")
    assert from_json(json.loads(written["undecided/trace-99.json"])).seed == trace_seed(7, 99)


def test_every_cause_is_there_and_all_are_counted(totals: Totals) -> None:
    verdict = totals.results[LANE]["ROUTE-1"]
    assert (verdict.status, verdict.exercised) == (Status.VIOLATED, 15)
    assert verdict.found == {"ROUTE-1/often": 314, "ROUTE-1/rare": 2}
    assert [f.key for f in verdict.findings] == ["ROUTE-1/often"] * KEPT_FINDINGS + ["ROUTE-1/rare"]
    assert (totals.violations, totals.traces, totals.operations) == (316, 300, 300)
    assert [(one["key"], one["times"], one["traces"], one["trace"]) for one in totals.causes] == [
        ("ROUTE-1/often", 314, 157, 0),
        ("ROUTE-1/rare", 2, 1, 200),
    ]
    assert totals.counts["judged"] == {"accepted": 9}
    assert totals.counts["endings"] == {"drained": 300}
    assert totals.results[LANE]["PEEK-2"].reason == "the broker lacks peek"
    # Rows that are kept: of every cause, and no more than needed.
    assert len(totals.kept) == KEPT_FINDINGS + 1
    assert [row["trace"] for row in first_of_each(totals.kept)] == [0, 200]
    # What is left open is counted over all chunks.
    left_open = totals.results[LANE]["SEQ-4"]
    assert left_open.status is Status.UNKNOWN
    assert left_open.reason == "in 6 traces, for instance: a gap after 0"
    assert left_open.candidates == ("SEQ-4", "RCV-2")


def test_tables_of_more_waves_than_there_are_manifests_are_no_totals(
    stage: Callable[..., Store], tmp_path: Path
) -> None:
    store = stage(PLAN, tmp_path / "out", [chunk(PLAN.unit(n)[0]) for n in range(3)])
    store.complete(range(3))
    with pytest.raises(CampaignError, match=r"300 traces and 0 findings, in the manifests 0 traces"):
        totals_of(store, [])


def test_a_report_comes_to_the_same_without_spark(totals: Totals, tmp_path: Path) -> None:
    """All but texts, examples and which traces are undecided."""
    found = local_folder.totals(tmp_path / "out", [LANE])
    for name in ("digest", "traces", "operations", "violations", "counts", "besides"):
        assert getattr(found, name) == getattr(totals, name), name
    for requirement, verdict in found.results[LANE].items():
        there = totals.results[LANE][requirement]
        same = replace(there, findings=verdict.findings)
        assert verdict == same, requirement
    assert found.results[LANE]["ROUTE-1"].status is Status.VIOLATED


def test_strictness_and_circumstances_are_stored_beside_the_digest(totals: Totals) -> None:
    stored = [document(totals, PLAN, "id", strict, {"made": {"host": "here"}}) for strict in (False, True)]
    assert [data["strict"] for data in stored] == [False, True]
    assert [data["exit"] for data in stored] == [1, 1]
    assert {data["digest"] for data in stored} == {totals.digest}
    assert json.loads(json.dumps(stored[0]))["causes"][0]["seed"] == 0


def test_a_broker_that_is_gone_when_examples_are_shrunk_keeps_no_verdict_back(
    totals: Totals,
    session: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def shrinking(*arguments: object) -> None:
        written = arguments[-1]
        assert callable(written)
        found = Counterexample("b", Program("azure-standard", ()), FINDING, NOTHING)
        written(StoredExample("ROUTE-1", "ROUTE-1/rare", "found/\x1b[31m.json", found))
        raise Unreachable("nobody listens\x9b any more")

    @contextmanager
    def done(*arguments: object, **options: object) -> Iterator[Campaign]:
        state = CampaignState(300, 316, timed=300, seconds=1.0)
        folder = Folder(session, str(tmp_path / "out"))
        yield Campaign(PLAN, totals, state, Store(session, folder, PLAN, "identity"), {})

    monkeypatch.setattr(run, "campaign", done)
    monkeypatch.setattr(examples, "write_examples", shrinking)
    for more in ((), ("--format", "json")):
        assert main(["fuzz", "reference", "--traces", "1", "--out", "out\x1b", *more]) == 1
        told = capsys.readouterr()
        assert "nobody listens\\x9b any more" in told.err
        assert "ROUTE-1" in told.out
        assert "found/" in told.out
        assert not {"\x1b", "\x9b"}.intersection(told.out + told.err)
