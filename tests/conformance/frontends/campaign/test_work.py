"""One chunk: generated, run, checked and folded into rows."""

from __future__ import annotations

import pytest

from partq.conformance.evaluation.decision import Decider, Exactness
from partq.conformance.frontends.campaign import work
from partq.conformance.frontends.campaign.plan import Chunk
from partq.conformance.frontends.campaign.work import ChunkResult, run_chunk


def chunk(broker: str = "reference", profile: str = "azure-premium", count: int = 12) -> ChunkResult:
    return run_chunk(Chunk(0, broker, profile, 100, count), seed=7, length=24)


def test_a_chunk_done_twice_is_the_same() -> None:
    first, second = chunk(), chunk()
    assert first.digest() == second.digest()
    assert first.verdicts == second.verdicts
    assert list(first.coverage_rows()) == list(second.coverage_rows())


def test_the_digest_tells_verdict_rows_apart() -> None:
    assert len({chunk().digest(), chunk(count=11).digest(), chunk(profile="azure-flat").digest()}) == 3


def test_each_trace_has_a_row() -> None:
    result = chunk()
    assert [row["trace"] for row in result.verdicts] == list(range(100, 112))
    assert all(row["status"] == "pass" and not row["violated"] for row in result.verdicts)
    assert sum(row["operations"] for row in result.verdicts) == result.operations


def test_coverage_counts_a_requirement_beside_what_happened() -> None:
    rows = list(chunk().coverage_rows())
    assert {row["outcome"] for row in rows} >= {"ok", "error"}
    assert {row["fault"] for row in rows} >= {"none", "partition_down"}
    assert all(0 < row["traces"] <= 12 and row["exercised"] >= row["traces"] for row in rows)


def test_a_violation_keeps_the_program_that_showed_it() -> None:
    result = chunk("mutant:long-bodies-cut", count=20)
    rows = [row for row in result.violations if row["requirement"] == "RCV-1"]
    assert rows
    assert all(row["program"].startswith("{") and row["witness"] for row in rows)
    assert result.summary()["violated"]["RCV-1"] == len({row["trace"] for row in rows})
    assert sum(result.summary()["found"]["RCV-1"].values()) >= len(rows)
    assert result.findings >= len(result.violations)


def test_each_trace_adds_to_what_suspects_may_cost_and_none_takes_from_the_judges_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deciders: list[Decider] = []

    def decider(exact: Exactness) -> Decider:
        deciders.append(Decider(exact))
        return deciders[-1]

    monkeypatch.setattr(work, "Decider", decider)
    run_chunk(Chunk(0, "reference", "azure-flat", 0, 1), seed=7, length=1, exact=5)
    exact = deciders[0].exact
    assert (exact.share, exact.nodes, exact.after, exact.allowance) == (5, work.NODES, None, work.ALLOWANCE)
