"""What every stored history must hold, in NDJSON and in Parquet: strict JSON, records that fit together.

Places of errors (`HistoryError`) are made here too. What each field may hold is `codec_records.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, Final, Never, TypeVar

from partq.conformance.history.codec_fields import SHOWN, FieldError, label
from partq.conformance.history.codec_records import plain_header, plain_record, read_header, read_record
from partq.conformance.history.record import Header, History, Record

T = TypeVar("T")

MAX_RECORDS: Final = 1_000_000
"""The most records of a history."""


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
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise FieldError(label(name), "occurs twice in one object")
            seen.add(name)
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


def assembled(header: Header, records: Iterable[Record], file: str, first_line: int) -> History:
    """The history of records that stand on consecutive lines; sorted by call, file order where equal.

    Raises `HistoryError` where two records have the same ``i``, as soon as the second comes, or operations of
    one ``proc`` overlap, or there are more than `MAX_RECORDS`.
    """
    lines: dict[int, int] = {}
    read: list[Record] = []
    for line, record in enumerate(records, first_line):
        if (first := lines.setdefault(record.i, line)) != line:
            raise HistoryError(file, line, "i", f"is {record.i}, as in line {first}")
        if len(read) == MAX_RECORDS:
            raise HistoryError(file, line, None, too_many())
        read.append(record)
    ordered = sorted(read, key=lambda record: record.call)
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


def too_many() -> str:
    """What is wrong with a history of more records than there may be."""
    return f"a history has at most {MAX_RECORDS:,} records: cut it into several, each with a header"


def located(file: str, line: int | None, function: Callable[..., T], *arguments: Any) -> T:
    """What the function returns; its `FieldError` becomes a `HistoryError` at that place."""
    try:
        return function(*arguments)
    except FieldError as error:
        raise HistoryError(file, line, error.field or None, error.message) from None


def checked_plain(history: History, file: str) -> Iterator[dict[str, Any]]:
    """The header and then every record as plain data, each known to be readable again.

    Raises `HistoryError`; lines are counted as in NDJSON, where the header is the first.
    """
    if any(a.call > b.call for a, b in pairwise(history.records)):
        raise HistoryError(file, None, "call", "the records are not sorted by call")
    assembled(history.header, history.records, file, first_line=2)
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
