"""Reading and writing histories, schema ``partq.history/1``: NDJSON here, Parquet through `codec_parquet`.

A file is read whole and strictly: the first thing that is wrong raises `HistoryError` with file, line and
field, and no part of the history is returned. `docs/history.md` describes the format for recorders in
any language. What each field may hold is in `codec_records.py`; nothing here judges a broker.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Final, Never, TypeVar

from .codec_fields import SHOWN, FieldError
from .codec_records import plain_header, plain_record, read_header, read_record
from .history import Header, History, Record

MAX_LINE: Final = 10 * 1000 * 1000
"""The longest line, in bytes, newline included."""

PARQUET_MAGIC: Final = b"PAR1"

T = TypeVar("T")


class HistoryError(ValueError):
    """A history is malformed. ``line`` counts from 1 (in Parquet it is the row); it and ``field`` may be
    None where the fault is of the whole file or line. As text: ``file:line: field: message``."""

    def __init__(self, file: str, line: int | None, field: str | None, message: str) -> None:
        super().__init__(file, line, field, message)
        self.file = file
        self.line = line
        self.field = field
        self.message = message

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.field}: {self.message}" if self.field else f"{where}: {self.message}"


def read_history(path: str | os.PathLike[str]) -> History:
    """The history in a file, NDJSON or Parquet. Raises `HistoryError`, also for a file it cannot read."""
    file = os.fspath(path)
    try:
        with open(file, "rb") as stream:
            if file.endswith(".parquet") or stream.peek().startswith(PARQUET_MAGIC):
                stored: History = _parquet(file).read_parquet(file)
                return stored
            return _read(stream, file)
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
    return _read(BytesIO(data), file)


def dumps(history: History, file: str = "<history>") -> bytes:
    """The history as NDJSON. Raises `HistoryError` where it cannot be stored exactly."""
    return b"".join(_lines(history, file))


def _parquet(file: str) -> ModuleType:
    try:
        from . import codec_parquet
    except ImportError:
        raise HistoryError(file, None, None, "is Parquet: pip install 'partq[parquet]' for it") from None
    return codec_parquet


# --- reading ----------------------------------------------------------------------------------------


def _read(stream: BinaryIO, file: str) -> History:
    lines = _raw_lines(stream, file)
    first = next(lines, None)
    if first is None:
        raise HistoryError(file, None, None, "is empty: the first line must be the header")
    header = located(file, 1, _from_line, read_header, first)
    records = [located(file, number, _from_line, read_record, line) for number, line in enumerate(lines, 2)]
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
        return read(parse_json(line.decode("utf-8")))
    except UnicodeDecodeError as error:
        raise FieldError("", f"invalid UTF-8 at byte {error.start + 1} of the line") from None
    except json.JSONDecodeError as error:
        raise FieldError("", _not_json(error, line)) from None


def _not_json(error: json.JSONDecodeError, line: bytes) -> str:
    if not line.strip():
        return "the line is empty"
    if not line.endswith(b"\n"):
        return "is cut off: the file is truncated, or this is not JSON"
    return f"not JSON: {error.msg} at column {error.colno}"


def parse_json(text: str) -> Any:
    """Strict JSON: no name twice in one object, whole numbers only, no lone surrogates.

    Raises `json.JSONDecodeError`, or `FieldError` where it is JSON that no history holds.
    """
    try:
        data = _DECODER.decode(text)
        if "\\u" in text:
            refuse_surrogates(data)
    except RecursionError:
        raise FieldError("", "is nested too deeply") from None
    except json.JSONDecodeError:
        raise
    except FieldError:
        raise
    except ValueError:  # the interpreter refuses numbers of thousands of digits
        raise FieldError("", "holds a number that does not fit in 64 bits") from None
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise FieldError(twice, "occurs twice in one object")
    return found


def _no_number(text: str) -> Never:
    raise FieldError("", f"holds {text[:40]}: every number of a history is whole, written without . or e")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_no_number, parse_constant=_no_number
)


def refuse_surrogates(data: Any) -> None:
    """Raise `FieldError` for text that is not Unicode: half of a surrogate pair, which UTF-8 cannot hold."""
    if type(data) is str:
        try:
            data.encode()
        except UnicodeEncodeError:
            what = f"holds a lone surrogate, which is not Unicode text: {data[:SHOWN]!a}"
            raise FieldError("", what) from None
        return
    inside = data.items() if type(data) is dict else enumerate(data) if type(data) in (list, tuple) else ()
    for name, value in inside:
        try:
            refuse_surrogates(name)
            refuse_surrogates(value)
        except FieldError as error:
            raise error.within(f"[{name}]" if type(name) is int else ascii(name)[1:-1]) from None


# --- what holds between records ---------------------------------------------------------------------


def assembled(header: Header, records: list[Record], file: str, first_line: int) -> History:
    """The history of records that stand on consecutive lines; sorted by call, file order where equal.

    Raises `HistoryError` where two records have the same ``i`` or operations of one ``proc`` overlap.
    """
    lines: dict[int, int] = {}
    for line, record in enumerate(records, first_line):
        if (first := lines.setdefault(record.i, line)) != line:
            raise HistoryError(file, line, "i", f"is {record.i}, as in line {first}")
    ordered = sorted(records, key=_call)
    last: dict[str, Record] = {}
    for record in ordered:
        before = None if record.is_env else last.get(record.proc)
        if before is not None and (before.ret is None or record.call < before.ret):
            ended = "never returned" if before.ret is None else f"returned at {before.ret}"
            rule = (
                f"{record.proc} calls at {record.call}, but its operation in line {lines[before.i]} {ended}"
            )
            raise HistoryError(file, lines[record.i], "call", rule)
        last[record.proc] = record
    return History(header, tuple(ordered))


def _call(record: Record) -> int:
    return record.call


def located(file: str, line: int | None, function: Callable[..., T], *arguments: Any) -> T:
    """What the function returns; its `FieldError` becomes a `HistoryError` at that place."""
    try:
        return function(*arguments)
    except FieldError as error:
        raise HistoryError(file, line, error.field or None, error.message) from None


# --- writing ----------------------------------------------------------------------------------------


def checked_plain(history: History, file: str) -> Iterator[dict[str, Any]]:
    """The header and then every record as plain data, each known to be readable again.

    Raises `HistoryError`; lines are counted as in NDJSON, where the header is the first.
    """
    if any(a.call > b.call for a, b in pairwise(history.records)):
        raise HistoryError(file, None, "call", "the records are not sorted by call")
    assembled(history.header, list(history.records), file, first_line=2)
    yield located(file, 1, _checked, plain_header, read_header, history.header)
    for number, record in enumerate(history.records, 2):
        yield located(file, number, _checked, plain_record, read_record, record)


def _checked(plain: Callable[[T], dict[str, Any]], read: Callable[[Any], T], value: T) -> dict[str, Any]:
    data = plain(value)
    try:
        refuse_surrogates(data)
        read(data)
    except RecursionError:
        raise FieldError("", "is nested too deeply") from None
    return data


def _lines(history: History, file: str) -> Iterator[bytes]:
    for number, data in enumerate(checked_plain(history, file), 1):
        line = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        if len(line) > MAX_LINE:
            raise HistoryError(file, number, None, f"the line would be longer than {MAX_LINE:,} bytes")
        yield line
