"""A campaign's local folder, read without Spark: how far it is, and sums of its tables. For reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from partq.conformance.frontends.campaign import manifest
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.manifest import Manifest
from partq.conformance.frontends.campaign.tables import TABLES


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


def stored_findings(folder: Path) -> int:
    """How many findings are in complete waves. Raises `CampaignError` as `sums`."""
    waves = (_wave(folder, "violations", one, ["times"]) for one in manifests(folder))
    return sum(pc.sum(wave["times"]).as_py() or 0 for wave in waves)


def sums(folder: Path, name: str) -> list[dict[str, Any]]:
    """A table of sums, added up over the complete waves and sorted. Raises `CampaignError` where a file is
    not what it should be, or a wave has not the rows that its manifest says."""
    table = TABLES[name]
    waves = [_wave(folder, name, one, table.schema.names) for one in manifests(folder)]
    whole = pa.concat_tables(waves) if waves else table.schema.empty_table()
    totals = whole.group_by(list(table.keys)).aggregate([(column, "sum") for column in table.sums])
    rows = totals.sort_by([(column, "ascending") for column in table.keys]).to_pylist()
    return [{column.removesuffix("_sum"): value for column, value in row.items()} for row in rows]


def _wave(folder: Path, name: str, one: Manifest, columns: Sequence[str]) -> pa.Table:
    """These columns of a wave's table."""
    schema = pa.schema([TABLES[name].schema.field(column) for column in columns])
    place = folder / f"table={name}" / f"wave={one.wave}"
    files = sorted(place.glob("*.parquet"))
    try:
        parts = [pq.ParquetFile(file).read(columns).select(columns).cast(schema) for file in files]
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise CampaignError(f"{place}: {str(error).splitlines()[0]}") from None
    whole = pa.concat_tables([schema.empty_table(), *parts])
    if len(whole) != one.tables[name].rows:
        raise CampaignError(
            f"{place} has {len(whole):,} rows, not {one.tables[name].rows:,} as its manifest says"
        )
    return whole
