"""Strict reading of TOML or JSON tables: each field is taken once. `requirements` and `profile_file` define
the tables; no file is opened here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from reprlib import Repr
from types import MappingProxyType
from typing import Final

_PAGE: Final = re.compile(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+/[\w./#%+-]*", re.ASCII)

SHOWN: Final = 60
"""Characters of a value that an error shows."""

LISTED: Final = 20
"""An error lists the known values, if there are no more and none is near."""


class TableError(ValueError):
    """A table does not hold what it should. ``where`` names the table, ``path`` the keys that lead to the
    field, ``problem`` says what is wrong there."""

    def __init__(self, where: str, path: tuple[str, ...], problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.path = path
        self.problem = problem


def did_you_mean(word: str, known: Collection[str]) -> str:
    """A hint with the nearest known words, or nothing."""
    if word in known:
        return f"; did you mean {word}?"
    near = get_close_matches(word, known, n=3) if len(word) <= SHOWN else []
    return f"; did you mean {' or '.join(near)}?" if near else ""


class Table:
    """One table while it is read: each field is taken once, `finish` refuses what is left over. Errors are
    ``error``s."""

    def __init__(
        self, where: str, fields: object, error: type[TableError], path: tuple[str, ...] = ()
    ) -> None:
        self.where = where
        self.path = path
        self._error = error
        if not isinstance(fields, dict):
            raise error(where, path, "is not a table")
        self._left: dict[str, object] = dict(fields)

    def error(self, field: str, problem: str) -> TableError:
        return self._error(self.where, (*self.path, field), f"field {_shown(field)} {problem}")

    def take(self, field: str) -> object:
        if field not in self._left:
            raise self.error(field, "is missing")
        return self._left.pop(field)

    def peek(self, field: str) -> object:
        """The field's value, which is still to be taken; None where it is missing."""
        return self._left.get(field)

    def text(self, field: str) -> str:
        value = self.take(field)
        if not isinstance(value, str) or not value.strip():
            raise self.error(field, "must be text that is not empty")
        text = " ".join(value.split())
        if not text.isprintable():
            raise self.error(field, "has a character that cannot be printed")
        return text

    def optional_text(self, field: str) -> str | None:
        return self.text(field) if field in self._left else None

    def pages(self, field: str) -> Mapping[str, str]:
        """A table of titles and https addresses, or none."""
        if field not in self._left:
            return MappingProxyType({})
        table = self.children(field)
        found = {title: table.text(title) for title in table.fields()}
        for title, url in found.items():
            if not _PAGE.fullmatch(url):
                raise table.error(title, f"must be an https address: {_shown(url)}")
        return MappingProxyType(found)

    def flag(self, field: str) -> bool:
        value = self.take(field) if field in self._left else False
        if not isinstance(value, bool):
            raise self.error(field, "must be true or false")
        return value

    def whole(self, field: str, low: int, high: int) -> int:
        value = self.take(field)
        if type(value) is not int or not low <= value <= high:
            raise self.error(field, f"must be a whole number from {low} to {high}")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """A list of different texts, or none."""
        value = self._left.pop(field, [])
        if not isinstance(value, list) or not all(
            isinstance(one, str) and one.isprintable() for one in value
        ):
            raise self.error(field, "must be a list of texts")
        return tuple(dict.fromkeys(value))

    def wholes(self, field: str, low: int, high: int) -> tuple[int, ...]:
        """A list of different whole numbers."""
        value = self.take(field)
        if not isinstance(value, list) or any(
            type(one) is not int or not low <= one <= high for one in value
        ):
            raise self.error(field, f"must be a list of whole numbers from {low} to {high}")
        return tuple(dict.fromkeys(value))

    def names(self, field: str, known: Collection[str]) -> tuple[str, ...]:
        """A list of one or more different names, each of them known."""
        value = self.take(field)
        if not isinstance(value, list) or not value:
            raise self.error(field, "must be a list that is not empty")
        for name in value:
            self.check_known(field, name, known)
        if len(set(value)) < len(value):
            raise self.error(field, f"names something twice: {', '.join(value)}")
        return tuple(value)

    def optional_names(self, field: str) -> tuple[str, ...]:
        """A list of different IDs, or none; whether they are known is seen when all are read."""
        if field not in self._left:
            return ()
        value = self._left[field]
        return self.names(
            field, [name for name in value if isinstance(name, str)] if isinstance(value, list) else ()
        )

    def one_of(self, field: str, known: Collection[str]) -> str:
        value = self.take(field)
        self.check_known(field, value, known)
        return str(value)

    def check_known(self, field: str, value: object, known: Collection[str]) -> None:
        if not isinstance(value, str) or value not in known:
            hint = did_you_mean(value, known) if isinstance(value, str) else ""
            if not hint and 0 < len(known) <= LISTED:
                hint = f"; known: {', '.join(known)}"
            raise self.error(field, f"has an unknown value {_shown(value)}{hint}")

    def tables(self, field: str, label: str) -> list[Table]:
        """An array of tables; each is called by its field ``label`` in errors, else by its position."""
        value = self.take(field)
        if not isinstance(value, list):
            raise self.error(field, "must be an array of tables")
        found = []
        for position, item in enumerate(value, 1):
            name = item.get(label) if isinstance(item, dict) else None
            called = f" ({name})" if isinstance(name, str) else ""
            where = f"{self.where}: {field} entry {position}{called}"
            found.append(Table(where, item, self._error, (*self.path, field, str(position))))
        return found

    def children(self, field: str) -> Table:
        """The table in that field."""
        return Table(f"{self.where}: [{field}]", self.take(field), self._error, (*self.path, field))

    def fields(self) -> list[str]:
        return list(self._left)

    def finish(self, known: Collection[str] = ()) -> None:
        """Refuse what was not taken. ``known``: the fields that there are, for a hint."""
        if self._left:
            field = next(iter(self._left))
            raise self.error(field, f"is not known{did_you_mean(field, known)}")


class _Short(Repr):
    """Values as an error shows them: short, on one line, whatever they are."""

    maxstring = SHOWN
    maxlevel = 2
    maxlist = maxdict = 4

    def repr_int(self, x: int, level: int) -> str:
        return repr(x) if x.bit_length() < 200 else f"a number of {x.bit_length()} bits"


_shown: Final = _Short().repr


# --- texts and lines ---------------------------------------------------------------------------------


def document(toml: str, where: str, error: type[TableError]) -> Table:
    """The root table of the TOML text called ``where``. Raises ``error``, with the line, for bad syntax."""
    try:
        return Table(where, tomllib.loads(toml), error)
    except RecursionError:
        raise error(where, (), "is nested too deeply") from None
    except ValueError as problem:  # of a number of thousands of digits, too
        line = re.search(r"at line (\d+)", str(problem))
        raise error(f"{where}:{line[1]}" if line else where, (), f"not valid TOML: {problem}") from None


def located(error: TableError, where: str, toml: str) -> TableError:
    """The error with the line of its field in the TOML text called ``where``."""
    at = f"{where}:{line_of(toml, error.path)}"
    return type(error)(at + error.where.removeprefix(where), error.path, error.problem)


_PART: Final = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*""")
_KEY: Final = r"""(?:"[^"]*"|'[^']*'|[\w-]+)"""
_KEYS: Final = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_LINE: Final = re.compile(rf"\s*(?:\[(?P<array>\[)?\s*(?P<table>{_KEYS})\s*\]|(?P<key>{_KEYS})\s*=)")


def line_of(toml: str, path: tuple[str, ...]) -> int:
    """The line on which that field stands, or the nearest table around it that has a line of its own; 1 where
    none has."""
    table: tuple[str, ...] = ()
    best, best_line, seen = 0, 1, dict[tuple[str, ...], int]()
    for number, line in enumerate(toml.splitlines(), 1):
        found = _LINE.match(line)
        if found is None:
            continue
        here = tuple("".join(part) for part in _PART.findall(found["table"] or found["key"]))
        if found["key"]:
            here = table + here
        elif found["array"]:  # its tables are counted
            seen[here] = seen.get(here, 0) + 1
            table = (*here, str(seen[here]))
            here = table if path[: len(table)] == table else here
        else:
            table = here
        if len(here) > best and here == path[: len(here)]:
            best, best_line = len(here), number
    return best_line
