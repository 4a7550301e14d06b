"""Campaigns on Spark: what they cost beside a pool of processes that does the same, and how that grows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from partq.conformance.frontends.campaign import spark
from partq.conformance.frontends.campaign.files import Folder
from partq.conformance.frontends.campaign.plan import Plan, even
from partq.conformance.frontends.campaign.run import CampaignState, campaign
from partq.conformance.frontends.campaign.spark import Tally, run_wave
from partq.conformance.frontends.campaign.store import Store
from partq.conformance.frontends.campaign.tables import TABLES
from partq.conformance.frontends.campaign.totals import totals_of
from partq.conformance.frontends.campaign.work import ChunkResult, do_unit
from partq.model.profiles import PROFILES

from .figure import Figure, timed
from .processes import Used, peak, peak_of, since, used

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2]"
TRACES = 45_000
"""Some 120 to 150 seconds for two processors."""
ROUNDS = 3
BAR = 1.2

FEW, GROWN = 20_000, 10
"""Traces, and so many times more of them."""
GROWTH = 1.05
FLAT = 1.1
BROKEN, VIOLATIONS = "mutant:route-by-body", 100_000
ENOUGH = 60_000
"""Traces of that mutant that come to more violations than that."""


class Cost(NamedTuple):
    """Seconds, and seconds of the processors."""

    seconds: float
    used: float


def figures() -> list[Figure]:
    """The ratios of times and of processor times of the same traces, Spark over pool, session start apart."""
    plan = Plan(even("reference", _modelled(), TRACES), seed=7, length=None, exact=5)
    with spark.session(MASTER) as session:
        rounds = [(_on_spark(plan, session), _in_a_pool(plan)) for _ in range(ROUNDS)]
    return [
        _beside(name, [(getattr(one, field), getattr(other, field)) for one, other in rounds])
        for name, field in (("time", "seconds"), ("processor time", "used"))
    ]


def growth() -> list[Figure]:
    """Campaigns of ten times as many traces: seconds of the processors a trace, and memory of the driver."""
    few, many = (_measured("reference", FEW * n) for n in (1, GROWN))
    ratio = many.used / few.used / GROWN
    return [
        Figure(
            f"processor time of {FEW * GROWN:,} traces over {GROWN} times that of {FEW:,}",
            f"{ratio:.3f} × ({many.used:,.0f} s, {few.used:,.0f} s)",
            f"≤ {GROWTH} ×",
            ratio,
            ratio <= GROWTH,
        ),
        _flat(f"of {FEW * GROWN:,} over {FEW:,} traces", many, few),
    ]


def broken() -> list[Figure]:
    """Campaigns of a broken broker: memory of the driver however many violations there are."""
    few, many = _measured(BROKEN, ENOUGH // GROWN), _measured(BROKEN, ENOUGH)
    return [
        Figure(
            f"violations in {ENOUGH:,} traces of {BROKEN}",
            f"{many.violations:,}",
            f"≥ {VIOLATIONS:,}",
            many.violations,
            many.violations >= VIOLATIONS,
        ),
        _flat(f"of {many.violations:,} over {few.violations:,} violations", many, few),
    ]


def _modelled() -> tuple[str, ...]:
    return tuple(name for name, family in PROFILES.items() if family.modelled)


def _beside(name: str, rounds: Sequence[tuple[float, float]]) -> Figure:
    ratio = median(one / other for one, other in rounds)
    times = f"{median(s for s, _ in rounds):.1f} s against {median(p for _, p in rounds):.1f} s"
    what = f"Spark {MASTER}, {TRACES:,} traces, {name}"
    return Figure(what, f"{ratio:.2f} × ({times})", f"≤ {BAR} × the pool's", ratio, ratio <= BAR)


def _cost(action: Callable[[], object]) -> Cost:
    before = used()
    seconds = timed(action)
    return Cost(seconds, since(before))


def _on_spark(plan: Plan, session: SparkSession) -> Cost:
    """A campaign's wave, its tables and its totals."""
    with tempfile.TemporaryDirectory() as folder:
        units = range(plan.units)
        store = Store(session, Folder(session, f"{folder}/out"), plan, "benchmark")
        store.open(resume=False)

        def do() -> None:
            run_wave(session, plan, units, store.staging(units), Tally(session))
            totals_of(store, [store.complete(units)])

        return _cost(do)


def _in_a_pool(plan: Plan) -> Cost:
    """The same chunks in two processes, each with its rows in a file a table."""
    with tempfile.TemporaryDirectory() as folder, get_context("spawn").Pool(2) as pool:
        work = [(plan, unit, Path(folder)) for unit in range(plan.units)]
        pool.map(abs, range(2))
        return _cost(lambda: pool.starmap(_unit, work, chunksize=1))


def _unit(plan: Plan, unit: int, folder: Path) -> None:
    for result in do_unit(plan.unit(unit), plan.seed, plan.length, plan.exact):
        assert isinstance(result, ChunkResult)
        for name, rows in result.rows().items():
            table = pa.Table.from_pylist(rows, schema=TABLES[name].schema)
            pq.write_table(table, folder / f"{name}-{unit}.parquet")


# --- whole campaigns, each in a process of its own ----------------------------------------------------


class Measured(NamedTuple):
    """What a campaign took: seconds of the processors from the start of its first wave on, and the most bytes
    that its driver had, and its Java, which on a local master is the executors', too."""

    used: float
    peak: int
    java: int
    violations: int


def _measured(broker: str, traces: int) -> Measured:
    command = [sys.executable, "-m", "benchmarks.campaign", broker, str(traces)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Measured(*json.loads(done.stdout))


class _FromTheFirstWave:
    """A watcher that notes what was used before."""

    before: Used | None = None

    def starting(self, state: CampaignState) -> None:
        """Nothing was used for traces yet."""

    def went(self, state: CampaignState) -> None:
        """The first time, Spark is there."""
        self.before = self.before or used()


def _alone(broker: str, traces: int) -> Measured:
    profiles = _modelled() if broker == "reference" else ("azure-premium",)
    plan, watcher = Plan(even(broker, profiles, traces), seed=7, length=None, exact=5), _FromTheFirstWave()
    with (
        tempfile.TemporaryDirectory() as folder,
        campaign(plan, f"{folder}/out", MASTER, False, watcher) as done,
    ):
        return Measured(since(watcher.before or {}), peak(), peak_of("java"), done.totals.violations)


def _flat(what: str, many: Measured, few: Measured) -> Figure:
    ratio = many.peak / few.peak
    sizes = ", ".join(f"{one.peak / 2**20:,.0f} + {one.java / 2**20:,.0f} MiB" for one in (many, few))
    return Figure(
        f"memory of the driver's Python (+ Java), {what}",
        f"{ratio:.2f} × ({sizes})",
        f"≤ {FLAT} ×",
        ratio,
        ratio <= FLAT,
    )


if __name__ == "__main__":
    print(json.dumps(_alone(sys.argv[1], int(sys.argv[2]))))
