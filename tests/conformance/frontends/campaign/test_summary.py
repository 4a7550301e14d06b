"""A campaign's totals: every cause is there, the counts are those of all chunks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from partq.conformance.adapters import Unreachable
from partq.conformance.evaluation.counterexample import Counterexample
from partq.conformance.frontends.campaign import examples, jvm, run, store
from partq.conformance.frontends.campaign.examples import StoredExample, first_of_each
from partq.conformance.frontends.campaign.plan import SUMMARY, Chunk, Plan, even
from partq.conformance.frontends.campaign.run import Campaign, CampaignState, summarise
from partq.conformance.frontends.campaign.work import ChunkResult
from partq.conformance.frontends.cli.app import main
from partq.conformance.history.notation import history
from partq.conformance.verdict import KEPT_FINDINGS, Finding, Status
from partq.conformance.workload.program import Program

PLAN = Plan(even("reference", ("azure-standard",), 600), seed=7, length=4)
LANE = ("reference", "azure-standard")
FINDING = Finding("ROUTE-1", "Two partitions", (1,), "m1 here, m2 there", "both here", "ROUTE-1/rare")
NOTHING = history("", "azure-standard")


def chunk(at: Chunk, **causes: int) -> ChunkResult:
    """A chunk that kept so many findings of each cause of ROUTE-1, of twice as many, and left SEQ-4 open
    twice."""
    result = ChunkResult(at)
    for n in range(at.count):
        unknown = ["SEQ-4"] if n < 2 else []
        row = {"trace": at.first + n, "broker": at.broker, "profile": at.profile, "seed": n, "operations": 1}
        told = {"exercised": [("ROUTE-1", 1)], "violated": [], "unknown": unknown}
        result.verdicts.append({**row, "status": "pass", **told})
    candidates = ("SEQ-4", "RCV-2") if causes else ()
    result.unsettled.leave_open("SEQ-4", f"a gap in chunk {at.index}", candidates)
    result.found["ROUTE-1"] = Counter({f"ROUTE-1/{cause}": 2 * times for cause, times in causes.items()})
    for cause, times in causes.items():
        for n in range(times):
            texts = dict.fromkeys(("title", "detail", "allowed"), "text")
            row = {"trace": at.first + n, "broker": at.broker, "profile": at.profile, "program": "{}"}
            rule = {"requirement": "ROUTE-1", "key": f"ROUTE-1/{cause}", "witness": [0], "candidates": []}
            result.violations.append({**row, **rule, **texts})
    return result


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Three chunks, the rare cause in the last one only."""
    store.prepare(tmp_path / "out", PLAN)
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
    assert verdict.reason == "in 6 traces, for instance: a gap in chunk 0"
    assert verdict.candidates == ("SEQ-4", "RCV-2")


def test_a_broker_that_is_gone_when_examples_are_shrunk_keeps_no_verdict_back(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def shrinking(*arguments: object) -> None:
        written = arguments[-1]
        assert callable(written)
        found = Counterexample("b", Program("azure-standard", ()), FINDING, NOTHING)
        written(StoredExample("ROUTE-1", "ROUTE-1/rare", Path("found/\x1b[31m.json"), found))
        raise Unreachable("nobody listens\x9b any more")

    monkeypatch.setattr(run, "run_campaign", lambda *arguments: campaign)
    monkeypatch.setattr(examples, "write_examples", shrinking)
    for more in ((), ("--format", "json")):
        assert main(["fuzz", "reference", "--traces", "1", "--out", "out\x1b", *more]) == 1
        told = capsys.readouterr()
        assert "nobody listens\\x9b any more" in told.err
        assert "ROUTE-1" in told.out
        assert "found/" in told.out
        assert not {"\x1b", "\x9b"}.intersection(told.out + told.err)


class Deaf:
    """A watcher that hears nothing."""

    def starting(self, state: CampaignState) -> None: ...

    def went(self, state: CampaignState) -> None: ...


def test_strictness_and_circumstances_are_stored_and_the_digest_knows_nothing_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jvm, "check", lambda: None)
    monkeypatch.setattr(
        run,
        "execute",
        lambda master, plan, tasks, out, progress: [store.write_chunk(out, chunk(at)) for (at,) in tasks],
    )
    stored = []
    for host in ("here", "there"):
        monkeypatch.setattr(run, "made", lambda host=host: {"host": host})
        run.run_campaign(PLAN, tmp_path / host, "local", False, Deaf(), host == "there")
        stored.append(json.loads((tmp_path / host / SUMMARY).read_text(encoding="utf-8")))
    assert [data["made"]["host"] for data in stored] == ["here", "there"]
    assert [data["strict"] for data in stored] == [False, True]
    assert [data["exit"] for data in stored] == [3, 3]
    assert stored[0]["digest"] == stored[1]["digest"]
