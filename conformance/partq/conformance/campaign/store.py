"""A campaign's output folder: Parquet per chunk, markers of what is done, and ``campaign.json``.

Each file is written aside and renamed, the marker last: a chunk is done if its marker is there, and doing
it again writes the same bytes. The folder must be one that all executors see.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from .plan import SCHEMA, SUMMARY, Plan
from .work import ChunkResult

PROGRESS: Final = "progress"

_EXERCISED = pa.list_(pa.struct([("requirement", pa.string()), ("times", pa.int64())]))

TABLES: Final[dict[str, pa.Schema]] = {
    "verdicts": pa.schema(
        [
            ("trace", pa.int64()),
            ("broker", pa.string()),
            ("profile", pa.string()),
            ("seed", pa.uint64()),
            ("operations", pa.int64()),
            ("status", pa.string()),
            ("exercised", _EXERCISED),
            ("violated", pa.list_(pa.string())),
            ("unknown", pa.list_(pa.string())),
        ]
    ),
    "violations": pa.schema(
        [
            ("trace", pa.int64()),
            ("broker", pa.string()),
            ("profile", pa.string()),
            ("requirement", pa.string()),
            ("key", pa.string()),
            ("title", pa.string()),
            ("detail", pa.string()),
            ("allowed", pa.string()),
            ("witness", pa.list_(pa.int64())),
            ("program", pa.string()),
        ]
    ),
    "coverage": pa.schema(
        [
            ("broker", pa.string()),
            ("profile", pa.string()),
            ("requirement", pa.string()),
            ("outcome", pa.string()),
            ("fault", pa.string()),
            ("traces", pa.int64()),
            ("exercised", pa.int64()),
        ]
    ),
    "partitions": pa.schema(
        [
            ("broker", pa.string()),
            ("profile", pa.string()),
            ("rank", pa.int64()),
            ("keyed", pa.bool_()),
            ("messages", pa.int64()),
        ]
    ),
}
"""The Parquet folders of a campaign and their columns."""


class CampaignError(Exception):
    """The output folder can't be used. The text says why and what to do."""


def prepare(out: Path, plan: Plan, resume: bool) -> set[int]:
    """Make the folder ready and answer which chunks are done. Raises `CampaignError` where the folder
    exists without ``resume``, or holds another campaign."""
    summary = out / SUMMARY
    if out.exists() and not resume and (not out.is_dir() or any(out.iterdir())):
        raise CampaignError(f"{out} exists: give another folder, or --resume to finish what is missing in it")
    if resume and out.exists() and any(out.iterdir()):
        _same_plan(summary, plan)
    for folder in (*TABLES, PROGRESS):
        (out / folder).mkdir(parents=True, exist_ok=True)
    if not summary.exists():
        write_json(summary, {"schema": SCHEMA, "complete": False, "plan": plan.to_json()})
    return {int(marker.stem.removeprefix("chunk-")) for marker in (out / PROGRESS).glob("chunk-*.json")}


def _same_plan(summary: Path, plan: Plan) -> None:
    try:
        known = json.loads(summary.read_text(encoding="utf-8"))
        there = known["plan"] if known["schema"] == SCHEMA else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CampaignError(f"{summary} is not a campaign that can be resumed: {error}") from None
    if there != json.loads(json.dumps(plan.to_json())):
        raise CampaignError(
            f"{summary.parent} holds another campaign (broker, profiles, traces, seed or length differ): "
            "resume it with the same arguments, or give another folder"
        )


def write_chunk(out: Path, result: ChunkResult) -> None:
    """Store a chunk's rows and then its marker."""
    name = f"chunk-{result.chunk.index:06d}"
    rows = {
        "verdicts": result.verdicts,
        "violations": result.violations,
        "coverage": list(result.coverage_rows()),
        "partitions": list(result.partition_rows()),
    }
    for folder, schema in TABLES.items():
        if rows[folder]:
            table = pa.Table.from_pylist([_arrow_row(row) for row in rows[folder]], schema=schema)
            target = out / folder / f"{name}.parquet"
            aside = _aside(target)
            pq.write_table(table, aside)
            aside.replace(target)
    write_json(out / PROGRESS / f"{name}.json", result.summary())


def _arrow_row(row: dict[str, Any]) -> dict[str, Any]:
    if "exercised" in row and isinstance(row["exercised"], list):
        pairs = [{"requirement": requirement, "times": times} for requirement, times in row["exercised"]]
        return {**row, "exercised": pairs}
    return row


def write_json(target: Path, data: Any) -> None:
    """Write plain data as JSON, whole or not at all."""
    aside = _aside(target)
    aside.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    aside.replace(target)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}")


def summaries(out: Path) -> list[dict[str, Any]]:
    """Every finished chunk's summary, in order."""
    return [
        json.loads(marker.read_text(encoding="utf-8"))
        for marker in sorted((out / PROGRESS).glob("chunk-*.json"))
    ]


def digest(parts: Iterable[dict[str, Any]]) -> str:
    """The fingerprint of all verdict rows, from the chunks' own in order."""
    state = blake2b(digest_size=16)
    for part in parts:
        state.update(bytes.fromhex(part["digest"]))
    return state.hexdigest()


def read_rows(out: Path, folder: str) -> Iterator[dict[str, Any]]:
    """All rows of one of the Parquet folders, in order of chunks; one chunk at a time is in memory."""
    for file in sorted((out / folder).glob("chunk-*.parquet")):
        yield from pq.read_table(file, schema=TABLES[folder]).to_pylist()


def read_totals(out: Path, folder: str, sums: tuple[str, ...]) -> list[dict[str, Any]]:
    """One of the Parquet folders with the columns ``sums`` added up over all rows that are alike in the
    others, sorted by these. Raises `CampaignError` where a file is not what it should be."""
    schema = TABLES[folder]
    keys = [name for name in schema.names if name not in sums]
    try:
        files = sorted((out / folder).glob("chunk-*.parquet"))
        tables = [pq.read_table(file, schema=schema) for file in files]
    except (OSError, pa.ArrowException) as error:
        raise CampaignError(f"{out / folder}: {str(error).splitlines()[0]}") from None
    whole = pa.concat_tables(tables) if tables else schema.empty_table()
    totals = whole.group_by(keys).aggregate([(name, "sum") for name in sums])
    ordered = totals.sort_by([(name, "ascending") for name in keys])
    return [{name.removesuffix("_sum"): value for name, value in row.items()} for row in ordered.to_pylist()]
