"""One Spark session for all campaigns of these tests, and a small campaign that each may spoil."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from campaign_commands import Deaf
from standalone import Cluster, cluster_in, python_without_partq

from partq.conformance.frontends.campaign import run, spark
from partq.conformance.frontends.campaign.files import Folder
from partq.conformance.frontends.campaign.plan import Plan
from partq.conformance.frontends.campaign.store import Store
from partq.conformance.frontends.campaign.tables import batches
from partq.conformance.frontends.campaign.work import ChunkResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADAPTERS = Path(__file__).parents[2] / "adapters"


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    """A session whose workers know the brokers that tests are made of."""
    with spark.session("local[2]") as opened:
        opened.sparkContext.addPyFile(str(ADAPTERS / "canned_broker.py"))
        yield opened


@pytest.fixture
def here(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """Campaigns are done on that session, whatever their master."""

    @contextmanager
    def shared(master: str, code: object = None) -> Iterator[SparkSession]:
        yield session

    monkeypatch.setattr(spark, "session", shared)
    return session


Campaigner = Callable[..., str]


@pytest.fixture
def do(here: SparkSession) -> Campaigner:
    """Does a plan in a folder, in waves of so many traces, and answers the digest."""

    def do(plan: Plan, out: Path, wave: int = 10_000, resume: bool = False) -> str:
        with run.campaign(plan, str(out), "local[2]", resume, Deaf(), wave=wave) as done:
            return done.totals.digest

    return do


@pytest.fixture
def stage(session: SparkSession) -> Callable[[Plan, Path, Sequence[ChunkResult]], Store]:
    """A campaign's folder with these results of all its units staged, and nothing complete."""

    def stage(plan: Plan, out: Path, results: Sequence[ChunkResult]) -> Store:
        store = Store(session, Folder(session, str(out)), plan, "identity")
        store.open(resume=False)
        place = out / "_staging" / "wave=0"
        place.mkdir(parents=True)
        rows = [batch for unit, result in enumerate(results) for batch in batches(unit, result.rows())]
        pq.write_table(pa.Table.from_batches(rows), place / "part-0.parquet")
        return store

    return stage


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A standalone cluster of the test's own."""
    with cluster_in(tmp_path) as started:
        yield started


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has no partq."""
    return python_without_partq(tmp_path_factory.mktemp("bare"))
