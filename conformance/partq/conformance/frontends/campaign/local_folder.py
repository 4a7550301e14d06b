"""A campaign's local folder, read without Spark: how far it is, and sums of its tables. For reports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from partq.conformance.frontends.campaign import manifest
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.folding import Folded
from partq.conformance.frontends.campaign.manifest import Manifest
from partq.conformance.frontends.campaign.queries import CAUSE
from partq.conformance.frontends.campaign.tables import SUMMED, TABLES
from partq.conformance.frontends.campaign.totals import Lane, Sums, Totals, added_up

REPAIR: Final = "partq fuzz … --resume says how to repair it"

LATER: Final = frozenset({"traces", "undecided"})
"""Columns of `requirements` that earlier versions did not have."""


def manifests(folder: Path) -> Iterator[Manifest]:
    """Those of the complete waves. Raises `CampaignError` where a file is none."""
    for file in sorted((folder / manifest.FOLDER).glob("wave=*.json")):
        try:
            yield manifest.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise CampaignError(f"{file} is no manifest: {error}") from None


def stored_traces(folder: Path) -> int:
    """How many traces are in complete waves. Raises `CampaignError` as `manifests`."""
    return sum(one.traces for one in manifests(folder))


def totals(folder: Path, lanes: Iterable[Lane]) -> Totals:
    """What the complete waves of these lanes come to, without texts, examples and what is undecided. Raises
    `CampaignError` where a table is not what it should be, has not as many rows as a manifest says, or
    contradicts another."""
    waves = list(manifests(folder))
    causes: Counter[tuple[str, ...]] = Counter()
    folded = Folded()
    for one in waves:
        found = _wave(folder, "violations", one, [*CAUSE, "times"])
        names = pc.binary_join(found["candidates"].combine_chunks(), " ")
        joined = found.set_column(CAUSE.index("candidates"), "candidates", names)
        for row in joined.group_by(list(CAUSE)).aggregate([("times", "sum")]).to_pylist():
            causes[tuple(row[name] for name in CAUSE)] += row["times_sum"]
        traces = _wave(folder, "verdicts", one, ["operations", "findings"])
        folded.fingerprints[one.wave, "verdicts"] = one.tables["verdicts"]
        folded.findings[one.wave] = pc.sum(traces["findings"]).as_py() or 0
        folded.operations += pc.sum(traces["operations"]).as_py() or 0
        for name in SUMMED:
            _fold(folded, folder, name, one)
    rows: list[dict[str, Any]] = [
        {**dict(zip(CAUSE, cause, strict=True)), "candidates": cause[CAUSE.index("candidates")].split()}
        | {"times": times}
        for cause, times in causes.items()
    ]
    kept = [{**row, **dict.fromkeys(("title", "detail", "allowed"), ""), "witness": []} for row in rows]
    return added_up(str(folder), list(lanes), waves, Sums(folded, rows, kept))


def sums(folder: Path, name: str) -> list[dict[str, Any]]:
    """A table of sums, added up over the complete waves and sorted. Raises `CampaignError` where a file is
    not what it should be, or a wave has not the rows that its manifest says."""
    folded = Folded()
    for one in manifests(folder):
        _fold(folded, folder, name, one)
    return folded.sums(name)


def _fold(folded: Folded, folder: Path, name: str, one: Manifest) -> None:
    """Add the rows of a wave's table of sums."""
    for row in _wave(folder, name, one, TABLES[name].schema.names).to_pylist():
        folded.add(one.wave, name, json.dumps(row))


def _wave(folder: Path, name: str, one: Manifest, columns: Sequence[str]) -> pa.Table:
    """These columns of a wave's table."""
    schema = pa.schema([TABLES[name].schema.field(column) for column in columns])
    place = folder / f"table={name}" / f"wave={one.wave}"
    files = sorted(place.glob("[!_.]*.parquet"))  # as Spark does
    try:
        stored = [pq.ParquetFile(file) for file in files]
        parts = [_read(file, schema) for file in stored if columns]
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise CampaignError(f"{place}: {str(error).splitlines()[0]}; {REPAIR}") from None
    rows = sum(file.metadata.num_rows for file in stored)
    if rows != one.tables[name].rows:
        said = one.tables[name].rows
        raise CampaignError(f"{place} has {rows:,} rows, not {said:,} as its manifest says; {REPAIR}")
    return pa.concat_tables([schema.empty_table(), *parts])


def _read(file: pq.ParquetFile, schema: pa.Schema) -> pa.Table:
    """These columns of a file, the `LATER` ones that it lacks as zeros."""
    lacks = LATER.difference(file.schema_arrow.names)
    names = [name for name in schema.names if name not in lacks]
    table = file.read(names)
    zeros = pa.array([0] * file.metadata.num_rows, pa.int64())
    columns = [zeros if name in lacks else table[name] for name in schema.names]
    return pa.table(columns, schema.names).cast(schema)
