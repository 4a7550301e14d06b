"""What a campaign asks Spark SQL: fingerprints of rows, sums over chunks and waves, violations by cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from partq.conformance.frontends.campaign.manifest import WORDS, Fingerprint
from partq.conformance.frontends.campaign.tables import TABLES, Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CAUSE: Final = ("broker", "profile", "requirement", "key", "candidates")
"""The columns in which violations of one cause are alike."""

_HEX: Final = 64 // WORDS
"""Digits of a hash in one of its words."""


def fingerprints(tables: Mapping[str, DataFrame]) -> dict[int, dict[str, Fingerprint]]:
    """Wave -> table -> what rows it has there; a wave without any row in a table has none for it."""
    found: dict[int, dict[str, Fingerprint]] = {}
    parts = [_fingerprints(name, frame) for name, frame in tables.items()]
    for row in reduce(lambda one, two: one.unionByName(two), parts).collect():
        sums = tuple(int(row[f"w{n}"]) for n in range(WORDS))
        found.setdefault(row["wave"], {})[row["table"]] = Fingerprint(row["rows"], sums)
    return found


def _fingerprints(name: str, frame: DataFrame) -> DataFrame:
    """A row a wave. Every field of a row is hashed: JSON tells a null from an empty text or list, and one
    list from another; sums tell one row from two alike."""
    from pyspark.sql import functions as F

    whole = F.to_json(F.struct(*TABLES[name].schema.names), {"ignoreNullFields": "false"})
    hashed = frame.select("wave", F.sha2(whole, 256).alias("hash"))
    words = [
        F.sum(F.conv(F.substring("hash", 1 + n * _HEX, _HEX), 16, 10).cast("decimal(20,0)")).alias(f"w{n}")
        for n in range(WORDS)
    ]
    return hashed.groupBy("wave").agg(F.count("*").alias("rows"), *words).withColumn("table", F.lit(name))


def summed(table: Table, frame: DataFrame) -> DataFrame:
    """The rows that are alike in the table's keys as one."""
    from pyspark.sql import functions as F

    sums = [F.sum(name).cast("bigint").alias(name) for name in table.sums]
    return frame.groupBy(*table.keys).agg(*sums, *_first(table)).select(*table.schema.names)


def _first(table: Table) -> list[Column]:
    """The columns that are of the first trace that has them, or of the first that names candidates."""
    from pyspark.sql import functions as F

    if not table.first:
        return []
    known = F.when(F.col("trace").isNotNull(), F.struct(F.size("candidates") == 0, F.col("trace")))
    chosen = F.min_by(F.struct(*table.first), known)
    return [chosen.getField(name).alias(name) for name in table.first]


def causes(violations: DataFrame) -> DataFrame:
    """Violations by cause: how many, the first trace and its seed, the smallest program's steps and trace."""
    from pyspark.sql import functions as F

    smallest = F.min(F.struct("steps", "trace"))
    return (
        violations.groupBy(*CAUSE)
        .agg(
            F.sum("times").alias("times"),
            F.min("trace").alias("trace"),
            F.min_by("seed", "trace").alias("seed"),
            smallest.getField("steps").alias("smallest_steps"),
            smallest.getField("trace").alias("smallest_trace"),
        )
        .orderBy("trace", *CAUSE)
    )


def undecided(verdicts: DataFrame, limit: int) -> DataFrame:
    """The first ``limit`` traces that were left undecided, and why."""
    columns = ("broker", "profile", "trace", "seed", "undecided")
    return verdicts.where("undecided is not null").select(*columns).orderBy("trace").limit(limit)


def examples(violations: DataFrame, limit: int) -> DataFrame:
    """Of each cause the first ``limit`` violations, and the first under each conditions, in order of
    traces."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = ("trace", *CAUSE, "conditions")
    place = F.row_number().over(Window.partitionBy(*CAUSE).orderBy(*order))
    alike = F.row_number().over(Window.partitionBy(*CAUSE, "conditions").orderBy(*order))
    placed = violations.withColumn("place", place).withColumn("alike", alike)
    first = placed.where((F.col("place") <= limit) | (F.col("alike") == 1))
    return first.drop("place", "alike", "wave").orderBy(*order)


def plain(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows as plain data."""
    return [row.asDict(recursive=True) for row in frame.collect()]


def ordered(rows: Iterable[Mapping[str, Any]], table: Table) -> list[dict[str, Any]]:
    """Sums in order of what they are of."""
    return sorted((dict(row) for row in rows), key=lambda row: tuple(row[name] for name in table.keys))
