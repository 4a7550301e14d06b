"""A campaign's totals: every cause is there, the counts are those of all chunks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from partq.conformance.campaign import store
from partq.conformance.campaign.examples import first_of_each
from partq.conformance.campaign.plan import Chunk, Plan, even
from partq.conformance.campaign.run import Campaign, summarise
from partq.conformance.campaign.work import ChunkResult
from partq.conformance.verdict import KEPT_FINDINGS, Status

PLAN = Plan(even("reference", ("azure-standard",), 600), seed=7, length=4)
LANE = ("reference", "azure-standard")


def chunk(at: Chunk, **causes: int) -> ChunkResult:
    """A chunk that kept so many findings of each cause of ROUTE-1, of twice as many, and left SEQ-4 open
    twice."""
    result = ChunkResult(at)
    for n in range(at.count):
        unknown = ["SEQ-4"] if n < 2 else []
        row = {"trace": at.first + n, "broker": at.broker, "profile": at.profile, "seed": n, "operations": 1}
        told = {"exercised": [("ROUTE-1", 1)], "violated": [], "unknown": unknown}
        result.verdicts.append({**row, "status": "pass", **told})
    result.found["ROUTE-1"] = Counter({f"ROUTE-1/{cause}": 2 * times for cause, times in causes.items()})
    for cause, times in causes.items():
        for n in range(times):
            texts = dict.fromkeys(("title", "detail", "allowed"), "text")
            row = {"trace": at.first + n, "broker": at.broker, "profile": at.profile, "program": "{}"}
            rule = {"requirement": "ROUTE-1", "key": f"ROUTE-1/{cause}", "witness": [0]}
            result.violations.append({**row, **rule, **texts})
    return result


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Three chunks, the rare cause in the last one only."""
    store.prepare(tmp_path / "out", PLAN, resume=False)
    found = ({"often": 100}, {"often": 50}, {"often": 7, "rare": 1})
    for at, causes in zip(PLAN.chunks(), found, strict=True):
        store.write_chunk(tmp_path / "out", chunk(at, **causes))
    return summarise(PLAN, tmp_path / "out")


def test_every_cause_is_there_and_all_are_counted(campaign: Campaign) -> None:
    verdict = campaign.results[LANE]["ROUTE-1"]
    assert verdict.status is Status.VIOLATED
    assert verdict.found == {"ROUTE-1/often": 314, "ROUTE-1/rare": 2}
    assert [f.key for f in verdict.findings] == ["ROUTE-1/often"] * KEPT_FINDINGS + ["ROUTE-1/rare"]
    assert campaign.violations == 316


def test_rows_are_kept_of_every_cause_and_no_more_than_needed(campaign: Campaign) -> None:
    assert len(campaign.kept) == KEPT_FINDINGS + 1
    assert [row["trace"] for row in first_of_each(campaign.kept)] == [0, 500]


def test_what_is_left_open_is_counted_over_all_chunks(campaign: Campaign) -> None:
    verdict = campaign.results[LANE]["SEQ-4"]
    assert verdict.status is Status.UNKNOWN
    assert verdict.reason == "left open in 6 traces"
