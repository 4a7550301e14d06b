"""Tables of TOML that people write, read and checked: which fields there are, and what each may hold."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from partq.conformance.history.notation_words import near
from partq.model.errors import UserError

SHOWN: Final = 60
"""Characters of a value that an error shows."""


class BadTable(UserError, ValueError):
    """A table does not hold what it should. The text says in one line where, what and what to do."""


def decoded(file: Path) -> str:
    """The text of the file. Raises `BadTable` where it is not UTF-8 or can't be read."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise BadTable(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadTable(f"{file}: not valid TOML: {error}") from None


def parsed(text: str, where: str) -> dict[str, Any]:
    """The tables of the text. Raises `BadTable`, which names ``where`` it is, unless it is TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadTable(f"{where}: not valid TOML: {error}") from None


def value_text(value: object) -> str:
    """A text, a truth value, a number or a list of them; TOML writes them as JSON does, but for one sign."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


class Field(NamedTuple):
    """What a field may hold. ``read``: the value as the code has it, or None where it is none of these."""

    expected: str
    read: Callable[[object], Any]


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _texts(value: object) -> tuple[str, ...] | None:
    items = [_text(item) for item in (value if isinstance(value, list) else [value])]
    return tuple(item for item in items if item) if items and all(items) else None


TEXT: Final = Field("a text", _text)
TEXTS: Final = Field("a text or a list of texts", _texts)
COUNT: Final = Field(
    "a whole number, 0 or more", lambda value: value if type(value) is int and value >= 0 else None
)
FLAG: Final = Field("true or false", lambda value: value if isinstance(value, bool) else None)


def checked(table: object, fields: Mapping[str, Field], where: str) -> dict[str, Any]:
    """The table's values by field, as `Field.read` has them. Raises `BadTable`, which names ``where`` it
    is."""
    if not isinstance(table, dict):
        raise BadTable(f"{where}: expected a table")
    return {name: _value(name, value, fields, where) for name, value in table.items()}


def _value(name: str, value: object, fields: Mapping[str, Field], where: str) -> Any:
    if name not in fields:
        raise BadTable(f"{where}: unknown key {name!r}{near(name, fields)}")
    found = fields[name].read(value)
    if found is None:
        raise BadTable(f"{where}: {name}: expected {fields[name].expected}, not {repr(value)[:SHOWN]}")
    return found
