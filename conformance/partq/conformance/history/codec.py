"""Reading and writing histories, schema ``partq.history/1``: NDJSON here, Parquet through `codec_parquet`.

A file is read whole and strictly: the first thing that is wrong raises `HistoryError` with file, line and
field, and no part of the history is returned. `docs/history.md` describes the format for recorders in
any language. What each field may hold is in `codec_records.py`, what holds between records in
`codec_checks.py`; nothing here judges a broker.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Final, TypeVar

from partq.conformance.history.codec_checks import HistoryError, assembled, checked_plain, located, parse_json
from partq.conformance.history.codec_fields import FieldError
from partq.conformance.history.codec_records import read_header, read_record
from partq.conformance.history.record import History

MAX_LINE: Final = 10 * 1000 * 1000
"""The longest line, in bytes, newline included."""

PARQUET_MAGIC: Final = b"PAR1"

T = TypeVar("T")

__all__ = ["MAX_LINE", "HistoryError", "dumps", "loads", "read_history", "read_stream", "write_history"]


def read_history(path: str | os.PathLike[str]) -> History:
    """The history in a file, NDJSON or Parquet. Raises `HistoryError`, also for a file it cannot read."""
    file = os.fspath(path)
    try:
        with open(file, "rb") as stream:
            begins_so = stream.peek().startswith(PARQUET_MAGIC)
            if file.endswith(".parquet") and not begins_so:
                what = f"is no Parquet file: it does not begin with {PARQUET_MAGIC.decode()}"
                raise HistoryError(file, None, None, what)
            if begins_so:
                stored: History = _parquet(file).read_parquet(file)
                return stored
            return read_stream(stream, file)
    except OSError as error:
        raise HistoryError(file, None, None, error.strerror or str(error)) from None


def write_history(path: str | os.PathLike[str], history: History) -> None:
    """Store a history: Parquet where the name ends so, else NDJSON. The file appears whole or not at all.

    Raises `HistoryError` where the history cannot be stored exactly, `OSError` where the file cannot.
    """
    file = Path(path)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        if file.suffix == ".parquet":
            _parquet(os.fspath(file)).write_parquet(os.fspath(beside), history, os.fspath(file))
        else:
            with open(beside, "wb") as stream:
                stream.writelines(_lines(history, os.fspath(file)))
        os.replace(beside, file)
    finally:
        beside.unlink(missing_ok=True)


def loads(data: bytes, file: str = "<history>") -> History:
    """The history in NDJSON bytes; ``file`` names them in errors. Raises `HistoryError`."""
    return read_stream(BytesIO(data), file)


def dumps(history: History, file: str = "<history>") -> bytes:
    """The history as NDJSON. Raises `HistoryError` where it cannot be stored exactly."""
    return b"".join(_lines(history, file))


def _parquet(file: str) -> ModuleType:
    try:
        from partq.conformance.history import codec_parquet
    except ImportError:
        raise HistoryError(file, None, None, "is Parquet: pip install 'partq[parquet]' for it") from None
    return codec_parquet


# --- reading ----------------------------------------------------------------------------------------


def read_stream(stream: BinaryIO, file: str) -> History:
    """The history in a stream of NDJSON; ``file`` names it in errors. Raises `HistoryError`."""
    lines = _raw_lines(stream, file)
    first = next(lines, None)
    if first is None:
        raise HistoryError(file, None, None, "is empty: the first line must be the header")
    header = located(file, 1, _from_line, read_header, first)
    records = (located(file, number, _from_line, read_record, line) for number, line in enumerate(lines, 2))
    return assembled(header, records, file, first_line=2)


def _raw_lines(stream: BinaryIO, file: str) -> Iterator[bytes]:
    number = 0
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise HistoryError(file, number, None, f"the line is longer than {MAX_LINE:,} bytes")
        if number == 1 and line.startswith(b"\xef\xbb\xbf"):
            raise HistoryError(file, 1, None, "begins with a byte order mark (BOM), which JSON does not have")
        yield line


def _from_line(read: Callable[[Any], T], line: bytes) -> T:
    try:
        return read(parse_json(line.decode("utf-8").rstrip("\n")))
    except UnicodeDecodeError as error:
        raise FieldError("", f"invalid UTF-8 at byte {error.start + 1} of the line") from None
    except json.JSONDecodeError as error:
        raise FieldError("", _not_json(error, line)) from None


def _not_json(error: json.JSONDecodeError, line: bytes) -> str:
    if not line.strip():
        return "the line is empty"
    if not line.endswith(b"\n"):
        return "is cut off: the file is truncated, or this is not JSON"
    return f"not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"


# --- writing ----------------------------------------------------------------------------------------


def _lines(history: History, file: str) -> Iterator[bytes]:
    for number, data in enumerate(checked_plain(history, file), 1):
        line = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        if len(line) > MAX_LINE:
            raise HistoryError(file, number, None, f"the line would be longer than {MAX_LINE:,} bytes")
        yield line
