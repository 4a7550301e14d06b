"""One chunk: generated, run, checked and folded into rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from partq.conformance.evaluation.decision import Decider, Decision, Exactness
from partq.conformance.frontends.campaign import work
from partq.conformance.frontends.campaign.plan import Chunk
from partq.conformance.frontends.campaign.tables import TABLES, batches
from partq.conformance.frontends.campaign.work import (
    ChunkFailed,
    ChunkResult,
    RequirementCount,
    do_chunk,
    do_unit,
    run_chunk,
)
from partq.conformance.verdict import Finding
from partq.conformance.workload.program import Program


def chunk(broker: str = "reference", profile: str = "azure-premium", count: int = 12) -> ChunkResult:
    return run_chunk(Chunk(broker, profile, 100, count), seed=7, length=24)


def test_a_chunk_done_twice_is_the_same() -> None:
    assert chunk().rows() == chunk().rows()


def test_each_trace_has_a_row() -> None:
    rows = chunk().verdicts
    assert [row["trace"] for row in rows] == list(range(100, 112))
    assert all(row["status"] == "pass" and not row["violated"] and not row["findings"] for row in rows)


def test_rows_fit_their_tables_and_come_back() -> None:
    rows = chunk("mutant:long-bodies-cut").rows()
    assert list(rows) == list(TABLES)
    there = {name: [] for name in TABLES}  # type: dict[str, list[dict[str, Any]]]
    for row in pa.Table.from_batches(batches(3, rows)).to_pylist():
        (name,) = [name for name in TABLES if row[name] is not None]
        assert row["unit"] == 3
        there[name].append(row[name])
    assert {name: len(found) for name, found in there.items()} == {n: len(rows[n]) for n in TABLES}
    assert there["verdicts"] == rows["verdicts"]
    assert there["coverage"] == rows["coverage"]


def test_coverage_counts_a_requirement_beside_what_happened() -> None:
    rows = chunk().rows()["coverage"]
    assert {row["outcome"] for row in rows} >= {"ok", "error"}
    assert {row["fault"] for row in rows} >= {"none", "partition_down"}
    assert all(0 < row["traces"] <= 12 and row["exercised"] >= row["traces"] for row in rows)


def test_a_violation_keeps_its_seed_and_the_program_that_showed_it() -> None:
    result = chunk("mutant:long-bodies-cut", count=20)
    rows = [row for row in result.violations if row["requirement"] == "RCV-1"]
    seeds = {row["trace"]: row["seed"] for row in result.verdicts}
    assert rows
    assert all(row["program"].startswith("{") and row["witness"] and row["steps"] for row in rows)
    assert all(row["seed"] == seeds[row["trace"]] for row in rows)
    assert result.requirements["RCV-1"].violated == len({row["trace"] for row in rows})
    assert result.findings == sum(row["findings"] for row in result.verdicts) >= len(result.violations)


def test_a_cause_is_a_row_with_how_many_findings_it_had() -> None:
    certain = Finding("RCV-1", "title", (1,), "first", "", "RCV-1/cut")
    several = certain._replace(candidates=("RCV-1", "RCV-2"))
    decision = Decision()
    doubt = decision.doubt("RCV-1")
    doubt.findings = [certain, certain._replace(detail="second"), several]
    doubt.found.update({"RCV-1/cut": 30})
    rows = work._violation_rows({"trace": 5}, Program("azure-flat", ()), decision)
    assert [(row["detail"], row["candidates"], row["times"]) for row in rows] == [
        ("first", [], 30),
        ("first", ["RCV-1", "RCV-2"], 0),
    ]


def test_of_what_is_left_open_the_first_reason_stays_but_candidates_count_for_more() -> None:
    count = RequirementCount()
    for trace, candidates in ((3, ()), (4, ()), (5, ("A", "B")), (6, ("C",))):
        count.leave_open(trace, f"why {trace}", candidates)
    assert (count.unknown, count.trace, count.why, count.candidates) == (4, 5, "why 5", ("A", "B"))


def test_traces_that_left_a_rule_undecided_are_told_from_rejected_ones() -> None:
    counts: dict[str, RequirementCount] = {}
    for trace, candidates in enumerate(((), ("SEQ-1", "SEQ-3"), ())):
        decision = Decision({"SEQ-1": 2} if trace else {})
        decision.leave_open("SEQ-1", "why", candidates)
        work._require(counts, trace, decision)
    count = counts["SEQ-1"]
    assert (count.exercised, count.traces, count.unknown, count.undecided) == (4, 3, 3, 2)


def test_why_a_trace_is_undecided() -> None:
    """That it is rejected, or that the judge does not know a thing in it, is another matter."""
    decision = Decision()
    assert work._undecided(decision) is None
    decision.undecided["not modelled"] += 1
    assert work._undecided(decision) is None
    decision.undecided["over the budget"] += 1
    decision.why = "no answer after 9 nodes"
    decision.leave_open("SEQ-1", "who knows")
    assert work._undecided(decision) == "the judge: no answer after 9 nodes; SEQ-1: who knows"
    decision.leave_open("SEQ-3", "one of two", ("SEQ-3", "SEQ-4"))
    assert work._undecided(decision) is None


def test_a_lane_ends_with_the_chunk_that_found_what_it_is_for() -> None:
    unit = tuple(Chunk("mutant:long-bodies-cut", "azure-premium", 20 * n, 20, "RCV-1") for n in range(5))
    done = list(do_unit(unit, seed=7, length=24))
    assert len(done) < 5
    assert all(isinstance(result, ChunkResult) for result in done)
    assert [("RCV-1" in result.named) for result in done if isinstance(result, ChunkResult)][-1]


def test_an_adapter_that_raises_when_it_is_asked_what_it_lacks_fails_the_chunk() -> None:
    failed = do_chunk(Chunk("canned_broker:Boasting", "azure-premium", 0, 1), seed=7, length=1)
    assert isinstance(failed, ChunkFailed)
    assert str(failed).startswith("a chunk failed: Boasting.lacks(): ZeroDivisionError: nothing at all (")


def test_each_trace_adds_to_what_suspects_may_cost_and_none_takes_from_the_judges_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deciders: list[Decider] = []

    def decider(exact: Exactness) -> Decider:
        deciders.append(Decider(exact))
        return deciders[-1]

    monkeypatch.setattr(work, "Decider", decider)
    run_chunk(Chunk("reference", "azure-flat", 0, 1), seed=7, length=1, exact=5)
    exact = deciders[0].exact
    assert (exact.share, exact.nodes, exact.after, exact.allowance) == (
        5,
        work.MANY.nodes,
        None,
        work.MANY.allowance,
    )
