"""What a campaign asks Spark SQL: its rows, folded, and violations by cause. Each shuffle is a job more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

from partq.conformance.frontends.campaign.folding import FOLDED, Folded, Row, fold, merged
from partq.conformance.frontends.campaign.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CAUSE: Final = ("broker", "profile", "requirement", "key", "candidates")
"""The columns in which violations of one cause are alike."""


def folded(tables: Mapping[str, DataFrame]) -> Folded:
    """All rows of these tables, which have a column ``wave``."""
    from pyspark.sql import functions as F

    lines = [
        frame.select("wave", F.lit(name).alias("table"), _json(F.struct(*TABLES[name].schema.names)))
        for name, frame in tables.items()
    ]
    return _folded(reduce(lambda one, two: one.unionByName(two), lines))


def folded_stage(staged: DataFrame, wave: int) -> Folded:
    """All rows that were staged for that wave."""
    from pyspark.sql import functions as F

    table = F.coalesce(*(F.when(F.col(name).isNotNull(), F.lit(name)) for name in TABLES))
    line = F.coalesce(*(_json(F.col(name)) for name in TABLES))
    return _folded(staged.select(F.lit(wave).alias("wave"), table.alias("table"), line.alias("line")))


def _json(row: Column) -> Column:
    """Every field of a row: JSON tells a null from an empty text or list, and one list from another."""
    from pyspark.sql import functions as F

    return F.to_json(row, {"ignoreNullFields": "false"}).alias("line")


def _folded(lines: DataFrame) -> Folded:
    return merged(row.folded for row in lines.mapInArrow(fold, FOLDED).collect())


def causes(violations: DataFrame) -> list[Row]:
    """Violations by cause: how many, in how many traces, the first of these and its seed, the smallest
    program's steps and trace."""
    from pyspark.sql import functions as F

    smallest = F.min(F.struct("steps", "trace"))
    found = violations.groupBy(*CAUSE).agg(
        F.sum("times").alias("times"),
        F.count_distinct("trace").alias("traces"),
        F.min("trace").alias("trace"),
        F.min_by("seed", "trace").alias("seed"),
        smallest.getField("steps").alias("smallest_steps"),
        smallest.getField("trace").alias("smallest_trace"),
    )
    return _ordered(found, ("trace", *CAUSE))


def undecided(verdicts: DataFrame, limit: int) -> list[Row]:
    """The first ``limit`` traces that were left undecided, and why."""
    columns = ("broker", "profile", "trace", "seed", "undecided")
    first = verdicts.where("undecided is not null").select(*columns).orderBy("trace").limit(limit)
    return _ordered(first, ("trace",))


def examples(violations: DataFrame, limit: int) -> list[Row]:
    """Of each cause the first ``limit`` violations, and the first under each conditions, in order of
    traces."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = ("trace", *CAUSE, "conditions")
    place = F.row_number().over(Window.partitionBy(*CAUSE).orderBy(*order))
    alike = F.row_number().over(Window.partitionBy(*CAUSE, "conditions").orderBy(*order))
    placed = violations.withColumn("place", place).withColumn("alike", alike)
    first = placed.where((F.col("place") <= limit) | (F.col("alike") == 1))
    return _ordered(first.drop("place", "alike", "wave"), order)


def _ordered(frame: DataFrame, columns: Sequence[str]) -> list[Row]:
    """The rows as plain data, in order of these columns. They are few, and Spark would read all twice."""
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    return sorted(rows, key=lambda row: [row[name] for name in columns])
