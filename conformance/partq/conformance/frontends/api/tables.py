"""Verdicts and findings as rows, and as tables of pyarrow and pandas, which are imported where they are asked
for only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from partq.conformance.verdict import Finding, Verdict
from partq.model.requirements import catalogue

if TYPE_CHECKING:
    import pandas
    import pyarrow


class MissingPackage(ImportError):
    """A table needs a package that is not installed. The text says how to get it."""


Columns = Mapping[str, str]
"""Name -> type: ``text``, ``count``, ``texts`` or ``counts``."""

VERDICTS: Final[Columns] = {
    "profile": "text",
    "requirement": "text",
    "level": "text",
    "title": "text",
    "status": "text",
    "exercised": "count",
    "found": "count",
    "reason": "text",
    "candidates": "texts",
}
"""``exercised``, ``found``: how often the rule was exercised, and was violated."""

FINDINGS: Final[Columns] = {
    "profile": "text",
    "requirement": "text",
    "title": "text",
    "detail": "text",
    "allowed": "text",
    "times": "count",
    "where": "text",
    "witness": "counts",
    "candidates": "texts",
    "key": "text",
}
"""``witness``: the ``i`` of the records in the history of ``where``."""

TABLES: Final[Mapping[str, Columns]] = {"verdicts": VERDICTS, "findings": FINDINGS}


def columns(table: str) -> Columns:
    """The table's columns. Raises `ValueError` where there is no such table."""
    try:
        return TABLES[table]
    except KeyError:
        raise ValueError(f"no table {table!r}; there are {', '.join(TABLES)}") from None


def verdict_row(profile: str, id: str, verdict: Verdict) -> tuple[Any, ...]:
    """A row of `VERDICTS`."""
    rule = catalogue()[id]
    said = verdict.status.value, verdict.exercised, verdict.times, verdict.reason, list(verdict.candidates)
    return (profile, id, rule.level.value, rule.title, *said)


def finding_row(profile: str, finding: Finding, times: int, where: str) -> tuple[Any, ...]:
    """A row of `FINDINGS`."""
    words = finding.requirement, finding.title, finding.detail, finding.allowed
    return (profile, *words, times, where, list(finding.witness), list(finding.candidates), finding.key)


def to_arrow(table: str, rows: Sequence[tuple[Any, ...]]) -> pyarrow.Table:
    """The rows as a table of pyarrow. Raises `MissingPackage`."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingPackage("tables of Arrow need pyarrow: pip install 'partq[parquet]'") from None
    types = {"text": pa.string(), "count": pa.int64(), "texts": pa.list_(pa.string())}
    types["counts"] = pa.list_(pa.int64())
    schema = pa.schema([(name, types[kind]) for name, kind in columns(table).items()])
    cells = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in schema]
    return pa.table(cells, schema=schema)


def to_pandas(table: str, rows: Sequence[tuple[Any, ...]]) -> pandas.DataFrame:
    """The rows as a data frame. Raises `MissingPackage`."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingPackage("data frames need pandas: pip install 'partq[pandas]'") from None
    return pd.DataFrame(rows, columns=list(columns(table)))
