"""Spark's local[2] against a pool of two processes doing the same chunks, session start apart."""

from __future__ import annotations

import tempfile
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from partq.conformance.frontends.campaign import jvm, store
from partq.conformance.frontends.campaign.plan import Chunk, Plan, even
from partq.conformance.frontends.campaign.spark import spread
from partq.conformance.frontends.campaign.work import run_chunk
from partq.model.profiles import PROFILES

if TYPE_CHECKING:
    from pyspark import SparkContext

from .figure import Figure, timed

TRACES = 20_000
ROUNDS = 3


def figures() -> list[Figure]:
    """The ratio of the times of the same 20,000 traces, Spark over pool."""
    names = tuple(name for name, family in PROFILES.items() if family.column is not None)
    plan = Plan(even("reference", names, TRACES), seed=7, length=24)
    context = jvm.open_context("local[2]")
    rounds = [(_spark(plan, context), _pool(plan)) for _ in range(ROUNDS)]
    jvm.close(context)
    ratio = median(spark / pool for spark, pool in rounds)
    times = f"{median(s for s, _ in rounds):.1f} s against {median(p for _, p in rounds):.1f} s"
    bar = "≤ 1.25 × the pool's time"
    return [
        Figure(f"Spark local[2], {TRACES:,} traces", f"{ratio:.2f} × ({times})", bar, ratio, ratio <= 1.25)
    ]


def _spark(plan: Plan, context: SparkContext) -> float:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        store.prepare(out, plan)
        tasks = tuple(plan.tasks({}))
        return timed(lambda: spread(context, plan, tasks, out, lambda done, bad: None))


def _pool(plan: Plan) -> float:
    with tempfile.TemporaryDirectory() as folder, get_context("spawn").Pool(2) as pool:
        out = Path(folder) / "out"
        store.prepare(out, plan)
        work = [(chunk, plan.seed, plan.length, out) for chunk in plan.chunks()]
        pool.map(abs, range(2))
        return timed(lambda: pool.starmap(_chunk, work, chunksize=1))


def _chunk(chunk: Chunk, seed: int, length: int, out: Path) -> None:
    store.write_chunk(out, run_chunk(chunk, seed, length))
