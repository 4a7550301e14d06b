"""Spark's local[2] against a pool of two processes doing the same chunks, session start apart."""

from __future__ import annotations

import tempfile
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from partq.conformance.frontends.campaign import spark
from partq.conformance.frontends.campaign.files import Folder
from partq.conformance.frontends.campaign.plan import Plan, even
from partq.conformance.frontends.campaign.spark import Tally, run_wave
from partq.conformance.frontends.campaign.store import Store
from partq.conformance.frontends.campaign.tables import TABLES
from partq.conformance.frontends.campaign.totals import totals_of
from partq.conformance.frontends.campaign.work import ChunkResult, do_unit
from partq.model.profiles import PROFILES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

import pyarrow as pa

from .figure import Figure, timed

TRACES = 20_000
ROUNDS = 3
BAR = 1.2


def figures() -> list[Figure]:
    """The ratio of the times of the same 20,000 traces, Spark over pool."""
    names = tuple(name for name, family in PROFILES.items() if family.column is not None)
    plan = Plan(even("reference", names, TRACES), seed=7, length=24)
    with spark.session("local[2]") as session:
        rounds = [(_spark(plan, session), _pool(plan)) for _ in range(ROUNDS)]
    ratio = median(one / other for one, other in rounds)
    times = f"{median(s for s, _ in rounds):.1f} s against {median(p for _, p in rounds):.1f} s"
    bar = f"≤ {BAR} × the pool's time"
    return [
        Figure(f"Spark local[2], {TRACES:,} traces", f"{ratio:.2f} × ({times})", bar, ratio, ratio <= BAR)
    ]


def _spark(plan: Plan, session: SparkSession) -> float:
    """A campaign's wave, its tables and its totals."""
    units = range(plan.units)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(session, Folder(session, f"{folder}/out"), plan, "benchmark")
        store.open(resume=False)

        def do() -> None:
            run_wave(session, plan, units, store.staging(units), Tally(session))
            totals_of(store, [store.complete(units)])

        return timed(do)


def _pool(plan: Plan) -> float:
    """The same chunks, each with its rows in a file a table."""
    with tempfile.TemporaryDirectory() as folder, get_context("spawn").Pool(2) as pool:
        work = [(plan, unit, Path(folder)) for unit in range(plan.units)]
        pool.map(abs, range(2))
        return timed(lambda: pool.starmap(_unit, work, chunksize=1))


def _unit(plan: Plan, unit: int, folder: Path) -> None:
    for result in do_unit(plan.unit(unit), plan.seed, plan.length, plan.exact):
        assert isinstance(result, ChunkResult)
        for name, rows in result.rows().items():
            table = pa.Table.from_pylist(rows, schema=TABLES[name].schema)
            pq.write_table(table, folder / f"{name}-{unit}.parquet")
