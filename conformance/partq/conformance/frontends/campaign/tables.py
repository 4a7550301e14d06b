"""A campaign's tables: their columns, which of these are added up, and rows as Arrow batches.

``verdicts`` has a row a trace and ``violations`` a row a trace and cause; the others are sums: in a task of a
chunk, in the folder of a wave. No Spark here, and no files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

_NAMES: Final = pa.list_(pa.string())
_SEED: Final = pa.decimal128(20, 0)
"""A seed has 64 bits and no sign, which Parquet readers do not all know."""

_TYPES: Final = {pa.int64(): "bigint", pa.string(): "string", pa.bool_(): "boolean", _SEED: "decimal(20,0)"}


def _ddl(type: pa.DataType) -> str:
    if pa.types.is_list(type):
        return f"array<{_ddl(type.value_type)}>"
    if pa.types.is_struct(type):
        return f"struct<{', '.join(f'`{field.name}`: {_ddl(field.type)}' for field in type)}>"
    return _TYPES[type]


def _schema(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema(list(columns))


def _columns(type: pa.DataType, *names: str) -> list[tuple[str, pa.DataType]]:
    return [(name, type) for name in names]


_LANE: Final = _columns(pa.string(), "broker", "profile")
_TRACE: Final = [("trace", pa.int64()), *_LANE, ("seed", _SEED)]


@dataclass(frozen=True, slots=True)
class Table:
    """``sums``: the columns that are added up over rows alike in the others, but for those in ``first``; none
    of a table that is kept row by row. ``first``: columns taken from the first trace that has them."""

    schema: pa.Schema
    sums: tuple[str, ...] = ()
    first: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns in which rows that are added up are alike."""
        return tuple(name for name in self.schema.names if name not in (*self.sums, *self.first))

    @property
    def ddl(self) -> str:
        """The columns as Spark writes them."""
        return ", ".join(f"`{field.name}` {_ddl(field.type)}" for field in self.schema)


TABLES: Final[Mapping[str, Table]] = {
    "verdicts": Table(
        _schema(
            *_TRACE,
            ("operations", pa.int64()),
            ("status", pa.string()),
            ("exercised", pa.list_(pa.struct([("requirement", pa.string()), ("times", pa.int64())]))),
            *_columns(_NAMES, "violated", "unknown"),
            ("findings", pa.int64()),
            ("undecided", pa.string()),
        )
    ),
    "violations": Table(
        _schema(
            *_TRACE,
            *_columns(pa.string(), "requirement", "key"),
            ("times", pa.int64()),
            *_columns(pa.string(), "title", "detail", "allowed"),
            ("witness", pa.list_(pa.int64())),
            *_columns(_NAMES, "candidates", "conditions"),
            ("steps", pa.int64()),
            ("program", pa.string()),
        )
    ),
    "requirements": Table(
        _schema(
            *_LANE,
            ("requirement", pa.string()),
            *_columns(pa.int64(), "exercised", "violated", "unknown", "traces", "undecided", "trace"),
            ("why", pa.string()),
            ("candidates", _NAMES),
        ),
        sums=("exercised", "violated", "unknown", "traces", "undecided"),
        first=("trace", "why", "candidates"),
    ),
    "coverage": Table(
        _schema(
            *_LANE,
            *_columns(pa.string(), "requirement", "outcome", "fault"),
            *_columns(pa.int64(), "traces", "exercised"),
        ),
        sums=("traces", "exercised"),
    ),
    "partitions": Table(
        _schema(*_LANE, ("rank", pa.int64()), ("keyed", pa.bool_()), ("messages", pa.int64())),
        sums=("messages",),
    ),
    "combinations": Table(
        _schema(
            *_LANE,
            *_columns(pa.string(), "mechanism", "fault", "shape"),
            *_columns(pa.int64(), "traces", "times", "ok"),
        ),
        sums=("traces", "times", "ok"),
    ),
    "counts": Table(
        _schema(*_LANE, *_columns(pa.string(), "kind", "name"), ("times", pa.int64())), sums=("times",)
    ),
}
"""By name, in the order in which a wave writes them."""

SUMMED: Final = tuple(name for name, table in TABLES.items() if table.sums)
ROWS: Final = tuple(name for name, table in TABLES.items() if not table.sums)

STAGED: Final = ", ".join(
    ("`unit` bigint", *(f"`{name}` {_ddl(pa.struct(list(table.schema)))}" for name, table in TABLES.items()))
)
"""What tasks yield, as Spark writes it: the unit, and a column a table, of which each row has one."""


def batches(unit: int, rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> Iterator[pa.RecordBatch]:
    """The rows of each table that a unit gave, as a batch of the columns `STAGED`."""
    structs = {name: pa.struct(list(table.schema)) for name, table in TABLES.items()}
    for chosen in TABLES:
        array = pa.array(list(rows[chosen]), structs[chosen])
        if len(array):
            units = pa.array([unit] * len(array), pa.int64())
            columns = [array if name == chosen else pa.nulls(len(array), structs[name]) for name in TABLES]
            yield pa.RecordBatch.from_arrays([units, *columns], names=["unit", *TABLES])
