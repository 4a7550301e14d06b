"""Histories as Parquet: the fields of the NDJSON records as typed columns, the header in the file's metadata.

An argument that an operation does not have is null, as is what a broker does not show. Read by
`codec.read_history`; the only module of the codec that needs pyarrow.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from partq.conformance.history.codec_checks import (
    MAX_RECORDS,
    HistoryError,
    assembled,
    checked_plain,
    located,
    parse_json,
    too_many,
)
from partq.conformance.history.codec_fields import SHOWN, FieldError, did_you_mean, label
from partq.conformance.history.codec_records import read_header, read_record
from partq.conformance.history.record import History, Record
from partq.model.operations import DELIVERY, MESSAGE, OPS, Kind

HEADER_KEY: Final = b"partq.history"
"""The key of the file's metadata that holds the header, as JSON."""

BATCH: Final = 8192
"""Rows written at a time."""

FEW: Final = 64
"""Rows read at a time: a few bytes of a file may stand for a long text in each of them."""

MAX_BYTES: Final = 1000 * 1000 * 1000
"""The most bytes of all columns together, as they are once they are unpacked."""

MAX_VALUES: Final = 100 * 1000 * 1000
"""The most values of one column, the elements of lists counted."""

_KINDS: Final = {
    **dict.fromkeys((Kind.TEXT, Kind.NAME, Kind.OBJECT), pa.string()),
    **dict.fromkeys((Kind.INT, Kind.NS, Kind.TIME, Kind.TALLY), pa.int64()),
    Kind.SEQ: pa.uint64(),
    Kind.FLAG: pa.bool_(),
    Kind.TEXTS: pa.list_(pa.string()),
    Kind.SEQS: pa.list_(pa.uint64()),
    Kind.PAIRS: pa.map_(pa.string(), pa.string()),
}
"""An object's column holds its JSON text."""

_MESSAGE: Final = pa.struct({name: _KINDS[arg.kind] for name, arg in MESSAGE.items()})
_DELIVERY: Final = pa.struct({name: _KINDS[arg.kind] for name, arg in DELIVERY.items()})
_KINDS[Kind.MESSAGES] = pa.list_(_MESSAGE)

_ARGS: Final = {name: arg.kind for spec in OPS.values() for name, arg in spec.recorded.items()}
_OBJECTS: Final = tuple(name for name, kind in _ARGS.items() if kind is Kind.OBJECT)

COLUMNS: Final = pa.schema(
    {
        "i": pa.int64(),
        "proc": pa.string(),
        "op": pa.string(),
        "entity": pa.string(),
        "call": pa.int64(),
        "ret": pa.int64(),
        "args": pa.struct({name: _KINDS[kind] for name, kind in sorted(_ARGS.items())}),
        "outcome": pa.string(),
        "error": pa.string(),
        "messages": pa.list_(_DELIVERY),
    }
)
"""The columns written. Other integer and text types, and absent columns of optional fields, are read too."""


def write_parquet(path: str, history: History, file: str) -> None:
    """Store the history at ``path``; ``file`` is its name in errors. Raises `HistoryError`, `OSError`."""
    rows = checked_plain(history, file)
    header = json.dumps(next(rows), ensure_ascii=False).encode()
    columns = COLUMNS.with_metadata({HEADER_KEY: header})
    with pq.ParquetWriter(path, columns) as writer:
        while batch := list(_some(rows)):
            writer.write_table(pa.Table.from_pylist(batch, schema=columns))


def _some(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for _, row in zip(range(BATCH), rows, strict=False):
        args = row["args"]
        for name in _OBJECTS:
            if name in args:
                args[name] = json.dumps(args[name], ensure_ascii=False)
        yield row


def read_parquet(file: str) -> History:
    """The history in a Parquet file. Raises `HistoryError`."""
    try:
        with pq.ParquetFile(file) as source:
            header = located(file, None, _header, (source.schema_arrow.metadata or {}).get(HEADER_KEY))
            located(file, None, _check_types, source.schema_arrow)
            located(file, None, _check_size, source.metadata)
            rows = enumerate(_rows(source, file), 1)
            records = (located(file, number, _record, row) for number, row in rows)
            return assembled(header, records, file, first_line=1)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise HistoryError(file, None, None, f"is not readable as Parquet: {_one_line(error)}") from None


def _check_types(columns: Any) -> None:
    """Raise `FieldError` for an unknown column, and for one of a type that its values are not read from."""
    _check_fields("", columns, pa.struct(list(COLUMNS)))


def _check_fields(outer: str, found: Any, expected: Any) -> None:
    for field in found:
        index, name = expected.get_field_index(field.name), f"{outer}{label(field.name)}"
        if index < 0:
            known = [other.name for other in expected]
            raise FieldError(name, f"unknown field{did_you_mean(field.name, known)}")
        _check_type(name, field.type, expected.field(index).type)


def _check_type(field: str, found: Any, expected: Any) -> None:
    if pa.types.is_null(found):
        return
    kind = next(fits for fits in _FITS if fits(expected))
    plain = found.value_type if pa.types.is_dictionary(found) else found
    if not _FITS[kind](plain):
        raise FieldError(field, f"the column is {found}, where {expected} is expected"[: 2 * SHOWN])
    if pa.types.is_struct(expected):
        _check_fields(f"{field}.", found, expected)
    elif pa.types.is_list(expected):
        _check_type(f"{field}[]", found.value_type, expected.value_type)


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_pairs(kind: Any) -> bool:
    """A map of text, or a list of lists of text, each of two."""
    if _is_list(kind) and _is_list(kind.value_type):
        return _is_text(kind.value_type.value_type)
    return bool(pa.types.is_map(kind) and _is_text(kind.key_type) and _is_text(kind.item_type))


_FITS: Final = {
    pa.types.is_integer: pa.types.is_integer,
    pa.types.is_string: _is_text,
    pa.types.is_boolean: pa.types.is_boolean,
    pa.types.is_struct: pa.types.is_struct,
    pa.types.is_list: _is_list,
    pa.types.is_map: _is_pairs,
}
"""For each kind of column that is written, the kinds that are read."""


def _check_size(metadata: Any) -> None:
    """Raise `FieldError` for more rows or values than are read, as the file says itself."""
    if metadata.num_rows > MAX_RECORDS:
        raise FieldError("", f"has {metadata.num_rows:,} rows: {too_many()}")
    values: Counter[str] = Counter()
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            values[column.path_in_schema] += column.num_values
    for name, number in values.items():
        if number > MAX_VALUES:
            raise FieldError(name, f"has {number:,} values; at most {MAX_VALUES:,} are read")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _header(metadata: bytes | None) -> Any:
    if metadata is None:
        raise FieldError("", f"has no header: the key {HEADER_KEY.decode()!r} of the file's metadata")
    try:
        return read_header(parse_json(metadata.decode("utf-8")))
    except json.JSONDecodeError as error:
        raise FieldError("", f"the header in the metadata is not JSON: {error.msg}") from None


def _rows(source: Any, file: str) -> Iterator[dict[str, Any]]:
    left = MAX_BYTES
    for batch in source.iter_batches(batch_size=FEW):
        left -= batch.nbytes
        if left < 0:
            raise HistoryError(file, None, None, f"is more than {MAX_BYTES:,} bytes once it is unpacked")
        yield from batch.to_pylist()


def _record(row: dict[str, Any]) -> Record:
    row = {name: value for name, value in row.items() if value is not None or name == "ret"}
    args = row.setdefault("args", {})
    if type(args) is dict:
        row["args"] = args = _present(args)
        if type(args.get("messages")) is list:
            args["messages"] = [_present(message) for message in args["messages"]]
        for name in _OBJECTS:
            if type(args.get(name)) is str:
                args[name] = _object(name, args[name])
    if type(row.get("messages")) is list:
        row["messages"] = [_present(delivery) for delivery in row["messages"]]
    return read_record(row)


def _object(name: str, text: str) -> Any:
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        raise FieldError(f"args.{name}", f"not JSON: {error.msg}") from None
    except FieldError as error:
        raise error.within(name).within("args") from None


def _present(fields: Any) -> Any:
    if type(fields) is not dict:
        return fields
    return {name: value for name, value in fields.items() if value is not None}
