"""What Spark SQL is asked: fingerprints that miss nothing, sums, causes and examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from partq.conformance.frontends.campaign import queries
from partq.conformance.frontends.campaign.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

Rows = Sequence[dict[str, Any]]
Framed = Callable[[str, Rows], "DataFrame"]


@pytest.fixture
def framed(session: SparkSession) -> Framed:
    """Rows of a table, of wave 0 unless they say another."""

    def framed(table: str, rows: Rows) -> DataFrame:
        names = [*TABLES[table].schema.names, "wave"]
        values = [tuple({"wave": 0, **row}.get(name) for name in names) for row in rows]
        return session.createDataFrame(values, f"{TABLES[table].ddl}, wave int")

    return framed


BASE: dict[str, Any] = {"trace": 1, "broker": "b", "profile": "p", "requirement": "RCV-1", "key": "k"}
VIOLATION = {
    **BASE,
    "seed": Decimal(2**64 - 1),
    "times": 2,
    "title": "t",
    "detail": "d",
    "allowed": None,
    "witness": [1],
    "candidates": [],
    "steps": 3,
    "program": "{}",
}
"""A violation with a null, an empty list and the largest seed."""


def test_programs_of_a_megabyte_each_are_read_in_the_memory_that_java_has_by_default(
    session: SparkSession, framed: Framed, tmp_path: Path
) -> None:
    large = framed("violations", [VIOLATION] * 500).selectExpr(
        "* except (program)", "concat(monotonically_increasing_id(), repeat('large', 200000)) program"
    )
    large.coalesce(1).write.parquet(str(tmp_path / "large"))
    read = session.read.parquet(str(tmp_path / "large"))
    assert queries.folded({"violations": read}).rows("violations") == 500


@pytest.mark.parametrize(
    "other",
    [
        [{**VIOLATION, "detail": None, "allowed": "d"}],
        [{**VIOLATION, "allowed": ""}],
        [{**VIOLATION, "allowed": "null"}],
        [{**VIOLATION, "candidates": None}],
        [{**VIOLATION, "candidates": [""]}],
        [{**VIOLATION, "witness": [], "candidates": ["1"]}],
        [{**VIOLATION, "seed": Decimal(2**64 - 2)}],
        [],
        [VIOLATION, VIOLATION],
        [VIOLATION, VIOLATION, VIOLATION],
        *([{**VIOLATION, name: None}] for name in VIOLATION if VIOLATION[name] is not None),
    ],
)
def test_a_fingerprint_tells_every_change_of_a_row_apart(framed: Framed, other: Rows) -> None:
    frames = {"violations": framed("violations", [VIOLATION, *({**row, "wave": 1} for row in other)])}
    found = queries.folded(frames)
    assert found.fingerprint(0, "violations").rows == 1
    assert found.fingerprint(1, "violations") != found.fingerprint(0, "violations")


def test_it_knows_no_order(framed: Framed) -> None:
    rows = [{**VIOLATION, "trace": trace} for trace in range(5)]
    both = [*rows, *({**row, "wave": 1} for row in reversed(rows))]
    found = queries.folded({"violations": framed("violations", both)})
    assert found.fingerprint(0, "violations") == found.fingerprint(1, "violations")


def test_causes_are_counted_with_their_first_seed_and_their_smallest_program(framed: Framed) -> None:
    rows = [
        {
            **VIOLATION,
            "trace": trace,
            "seed": Decimal(trace),
            "steps": steps,
            "key": key,
            "candidates": several,
        }
        for trace, steps, key, several in (
            (7, 1, "k", []),
            (2, 9, "k", []),
            (1, 5, "other", []),
            (3, 4, "k", ["RCV-1", "RCV-2"]),
        )
    ]
    names = ("key", "candidates", "times", "trace", "seed", "smallest_steps", "smallest_trace")
    found = queries.causes(framed("violations", rows))
    assert [tuple(row[name] for name in names) for row in found] == [
        ("other", [], 2, 1, 1, 5, 1),
        ("k", [], 4, 2, 2, 1, 7),
        ("k", ["RCV-1", "RCV-2"], 2, 3, 3, 4, 3),
    ]
    kept = queries.examples(framed("violations", rows), 1)
    assert [row["trace"] for row in kept] == [1, 2, 3]
    assert set(kept[0]) == set(TABLES["violations"].schema.names)
