"""docs/questions.md: each of its queries has one answer in DuckDB and in Spark SQL."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from partq.conformance.frontends.campaign.plan import Lane, Plan
from partq.conformance.frontends.campaign.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

PAGE = (Path(__file__).parents[4] / "docs/questions.md").read_text(encoding="utf-8")
PLAN = Plan(
    tuple(Lane("mutant:long-bodies-cut", name, 30, chunk=10) for name in ("azure-premium", "azure-flat")),
    seed=7,
    length=24,
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def plain(rows: list[Any]) -> list[tuple[Any, ...]]:
    """Rows of either engine: numbers of any type as floats, lists as lists."""
    return [tuple(map(_plain, row)) for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, bool | str | None):
        return value
    return list(map(_plain, value)) if isinstance(value, list) else pytest.approx(float(value), rel=1e-9)


def test_both_engines_answer_every_question_alike(
    do: Callable[..., str], session: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    do(PLAN, out, wave=20)
    in_duckdb, in_spark = (text.replace("DIR", str(out)) for text in blocks("python"))
    known: dict[str, Any] = {"spark": session}
    exec(in_duckdb, known)
    exec(in_spark, known)
    questions = re.findall(r"^## (\d+)\. ", PAGE, re.MULTILINE)
    queries = blocks("sql")
    assert questions == [str(number) for number in range(1, 11)]
    assert len(queries) == len(questions)
    for number, query in zip(questions, queries, strict=True):
        answers = duckdb.sql(query), session.sql(query)
        assert answers[0].columns == answers[1].columns, number
        rows = plain(answers[0].fetchall()), plain(answers[1].collect())
        assert rows[0] == rows[1], number
        assert rows[0] or number == "7", number
    assert set(TABLES) == {name for name in TABLES if f'"{name}"' in in_duckdb and f'"{name}"' in in_spark}


def test_what_the_page_says_of_sums_is_so(
    do: Callable[..., str], session: SparkSession, tmp_path: Path
) -> None:
    """Traces of `coverage` add up to more than there are; those of `requirements` do not."""
    out = tmp_path / "out"
    do(PLAN, out, wave=20)
    place = f"read_parquet('{out}/table={{}}/*/*.parquet')"
    by_cell, by_rule, really = (
        dict(duckdb.sql(query).fetchall())
        for query in (
            f"select requirement, sum(traces) from {place.format('coverage')} group by 1",
            f"select requirement, sum(traces) from {place.format('requirements')} group by 1",
            "select e.requirement, count(*) from (select unnest(exercised) as e from "
            f"{place.format('verdicts')}) group by 1",
        )
    )
    assert by_rule == really
    assert by_cell.keys() == really.keys()
    assert all(by_cell[rule] >= really[rule] for rule in really)
    assert by_cell != really
