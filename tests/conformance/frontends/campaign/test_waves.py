"""The same rows and the same digest, whatever the waves are, and however often a campaign is interrupted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from campaign_commands import Deaf

from partq.conformance.frontends.campaign import run
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.files import Folder
from partq.conformance.frontends.campaign.local_folder import manifests, stored_traces, sums
from partq.conformance.frontends.campaign.manifest import Manifest
from partq.conformance.frontends.campaign.plan import Lane, Plan
from partq.conformance.frontends.campaign.tables import ROWS, TABLES
from partq.conformance.frontends.campaign.work import ChunkResult, do_unit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

Do = Callable[..., str]
PLAN = Plan((Lane("mutant:long-bodies-cut", "azure-premium", 40, chunk=10),), seed=7, length=4, exact=5)


def rows(out: Path, table: str) -> list[dict[str, Any]]:
    """All rows of a campaign's table in order of traces, as any reader of Parquet has them."""
    files = sorted((out / f"table={table}").glob("wave=*/*.parquet"))
    found = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    return sorted(found, key=lambda row: (row["trace"], row.get("requirement", ""), row.get("key", "")))


def waves(out: Path) -> list[tuple[int, int]]:
    return sorted((one.units.start, one.units.stop) for one in manifests(out))


def test_neither_rows_nor_digest_depend_on_the_waves(do: Do, tmp_path: Path) -> None:
    digests = {do(PLAN, tmp_path / str(wave), wave) for wave in (40, 20)}
    assert len(digests) == 1
    assert waves(tmp_path / "40") == [(0, 4)]
    assert waves(tmp_path / "20") == [(0, 2), (2, 4)]
    for table in TABLES:
        one, several = (
            rows(out, table) if table in ROWS else sums(out, table) if table != "requirements" else []
            for out in (tmp_path / "40", tmp_path / "20")
        )
        assert one == several
    results = [done for n in range(4) for done in do_unit(PLAN.unit(n), PLAN.seed, PLAN.length, PLAN.exact)]
    made = [result.rows() for result in results if isinstance(result, ChunkResult)]
    for table in ROWS:
        assert rows(tmp_path / "40", table) == [row for one in made for row in one[table]]
    assert rows(tmp_path / "40", "violations")
    assert not (tmp_path / "40" / "_staging").exists()


def test_a_wave_is_one_file_a_table(do: Do, tmp_path: Path) -> None:
    do(PLAN, tmp_path / "out")
    assert {
        table: len(list((tmp_path / "out" / f"table={table}").rglob("*.parquet"))) for table in TABLES
    } == dict.fromkeys(TABLES, 1)
    assert stored_traces(tmp_path / "out") == 40


def test_what_was_interrupted_goes_on_to_the_same_end(
    do: Do, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = do(PLAN, tmp_path / "whole"), tmp_path / "out"
    complete, done = run.Store.complete, []

    def interrupted(store: run.Store, units: range, called: str) -> Manifest:
        if len(done) == 1:
            raise CampaignError("the driver dies before a manifest")
        done.append(units)
        return complete(store, units, called)

    with monkeypatch.context() as patched:
        patched.setattr(run.Store, "complete", interrupted)
        with pytest.raises(CampaignError, match="dies"):
            do(PLAN, out, wave=20)
    kept = {file: file.stat().st_mtime_ns for file in (out / "manifests").iterdir()}
    assert waves(out) == [(0, 2)]
    assert (out / "_staging").exists()
    assert do(PLAN, out, wave=30, resume=True) == whole
    assert {file: file.stat().st_mtime_ns for file in kept} == kept, "no complete wave is done again"
    assert do(PLAN, out, resume=True) == whole


def test_an_interrupt_cancels_the_jobs_of_the_campaign(do: Do, session: SparkSession, tmp_path: Path) -> None:
    """Which would go on for minutes."""
    tracker = session.sparkContext.statusTracker()

    class Interrupting(Deaf):
        def went(self, state: run.CampaignState) -> None:
            if tracker.getActiveJobsIds():
                raise KeyboardInterrupt

    plan = Plan((Lane("reference", "azure-premium", 20_000, chunk=10),), seed=7, length=None)
    with (
        pytest.raises(KeyboardInterrupt),
        run.campaign(plan, str(tmp_path / "out"), "local[2]", False, Interrupting()),
    ):
        pass
    assert not tracker.getActiveJobsIds()


def test_nothing_is_left_of_a_campaign_without_a_complete_wave(
    do: Do, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> Manifest:
        raise CampaignError("no")

    monkeypatch.setattr(run.Store, "complete", fails)
    with pytest.raises(CampaignError, match="no"):
        do(PLAN, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_lane_that_ends_early_is_done_with(do: Do, tmp_path: Path) -> None:
    lane = Lane("mutant:long-bodies-cut", "azure-premium", 40, until="RCV-1", chunk=5)
    plan, out = Plan((lane,), seed=7, length=4), tmp_path / "out"
    digest = do(plan, out)
    assert 0 < stored_traces(out) < 40
    assert do(plan, out, resume=True) == digest


def test_waves_are_measured_out_by_what_was_planned(session: SparkSession, tmp_path: Path) -> None:
    """Of a lane that ended early few traces were done; the next wave takes all that the time allows."""
    lane = Lane("mutant:long-bodies-cut", "azure-premium", 40, until="RCV-1", chunk=5)
    store = run.Store(session, Folder(session, str(tmp_path)), Plan((lane,), seed=7, length=4), "identity")
    lock = run.Lock(store.folder, {"host": "here", "started": "now"})
    work = run._Work(store, lock, Deaf(), None, run.Pace(traces=10, seconds=60.0), None)
    assert work._traces() == 10 * session.sparkContext.defaultParallelism
    work.planned, work.state = 400, run.CampaignState(0, 0, timed=5, seconds=2.0)
    assert work._traces() == 400 // 2 * 60


def test_a_wave_is_few_jobs(do: Do, session: SparkSession, tmp_path: Path) -> None:
    """So that small campaigns are the traces' work, not Spark's."""

    def jobs() -> int:
        return int(session.sparkContext._jsc.sc().statusStore().jobsList(None).size())

    plan = Plan((Lane("reference", "azure-premium", 40, chunk=10),), seed=7, length=4)
    before = jobs()
    do(plan, tmp_path / "one", wave=40)
    one = jobs() - before
    do(plan, tmp_path / "two", wave=20)
    two = jobs() - before - one
    assert two - one == 9, "the traces, their rows gone through, and seven tables"
    assert one == 10, "and all waves looked at again at the end"
    told = session.sparkContext._jsc.sc().statusStore().jobsList(None)
    said = {told.apply(n).description().get() for n in range(two)}  # the latest first
    assert {
        "wave 1 of 2: generate, run, judge",
        "wave 1 of 2: sums",
        "wave 2 of 2: generate, run, judge",
        "wave 2 of 2: table verdicts",
        "all waves: rows against manifests",
    } <= said
    assert len(said) == two
