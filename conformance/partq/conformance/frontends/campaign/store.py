"""A campaign's output folder: Parquet per chunk, markers of what is done, and ``campaign.json``.

Each file is written aside and renamed, the marker last: a chunk is done if its marker is there, and doing
it again writes the same bytes. The folder must be one that all executors see.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from partq.conformance.frontends.campaign.plan import SCHEMA, SUMMARY, Chunk, Plan
from partq.conformance.frontends.campaign.work import ChunkResult

PROGRESS: Final = "progress"

MARKER: Final = frozenset(ChunkResult(Chunk(0, "", "", 0, 0)).summary())
"""The fields of a chunk's marker."""

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
            ("candidates", pa.list_(pa.string())),
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
    "combinations": pa.schema(
        [
            ("broker", pa.string()),
            ("profile", pa.string()),
            ("mechanism", pa.string()),
            ("fault", pa.string()),
            ("shape", pa.string()),
            ("traces", pa.int64()),
            ("times", pa.int64()),
            ("ok", pa.int64()),
        ]
    ),
}
"""The Parquet folders of a campaign and their columns."""


class CampaignError(Exception):
    """The output folder can't be used. The text says why and what to do."""


def check(out: Path, plan: Plan, resume: bool) -> None:
    """Look at what is there; nothing is written. Raises `CampaignError` where the folder exists without
    ``resume``, holds another campaign, or can't be used."""
    with _naming(out):
        if out.exists() and not out.is_dir():
            raise CampaignError(f"{out} is a file: give a folder")
        if not out.exists() or not any(out.iterdir()):
            return
        if not resume:
            raise CampaignError(
                f"{out} exists: give another folder, or --resume to finish what is missing in it"
            )
        _same_plan(out / SUMMARY, plan)
        for part in summaries(out):
            if missing := MARKER - part.keys():
                _from_elsewhere(out, f"a marker has no {', '.join(sorted(missing))}")
        _same_columns(out)


def prepare(out: Path, plan: Plan) -> None:
    """Make the folder ready, or what is missing of it. Raises `CampaignError` where it can't be."""
    with _naming(out):
        for folder in (*TABLES, PROGRESS):
            (out / folder).mkdir(parents=True, exist_ok=True)
        if not (out / SUMMARY).exists():
            write_json(out / SUMMARY, {"schema": SCHEMA, "complete": False, "plan": plan.to_json()})


def discard(out: Path) -> None:
    """Undo `prepare` where no chunk was done since, as far as nothing else is in the folder."""
    if done(out):
        return
    for folder in (*TABLES, PROGRESS):
        shutil.rmtree(out / folder, ignore_errors=True)
    (out / SUMMARY).unlink(missing_ok=True)
    with suppress(OSError):
        out.rmdir()


def done(out: Path) -> set[int]:
    """The chunks whose marker is there."""
    return {int(marker.stem.removeprefix("chunk-")) for marker in (out / PROGRESS).glob("chunk-*.json")}


@contextmanager
def _naming(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CampaignError(f"{out}: {error.strerror}") from None


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


def _same_columns(out: Path) -> None:
    for folder, schema in TABLES.items():
        for file in sorted((out / folder).glob("chunk-*.parquet"))[:1]:
            try:
                same = pq.read_schema(file).equals(schema)
            except pa.ArrowException as error:
                raise CampaignError(f"{file}: {str(error).splitlines()[0]}") from None
            if not same:
                _from_elsewhere(out, f"{folder} has other columns")


def _from_elsewhere(out: Path, why: str) -> NoReturn:
    raise CampaignError(f"{out} was begun by another version of partq ({why}): give another folder")


def write_chunk(out: Path, result: ChunkResult) -> None:
    """Store a chunk's rows and then its marker."""
    name = f"chunk-{result.chunk.index:06d}"
    rows = {
        "verdicts": result.verdicts,
        "violations": result.violations,
        "coverage": list(result.coverage_rows()),
        "partitions": list(result.partition_rows()),
        "combinations": list(result.combination_rows()),
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
    """Every finished chunk's summary, in order. Raises `CampaignError` where a file is none."""
    return [_summary(marker) for marker in sorted((out / PROGRESS).glob("chunk-*.json"))]


def _summary(marker: Path) -> dict[str, Any]:
    try:
        part = json.loads(marker.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CampaignError(f"{marker}: not JSON: {error}") from None
    if not isinstance(part, dict):
        raise CampaignError(f"{marker}: not a chunk's marker")
    return part


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
