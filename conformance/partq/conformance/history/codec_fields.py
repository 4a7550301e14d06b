"""Reading single fields of plain data strictly: text, whole numbers of 64 bits, lists, objects.

A reader takes a value and returns it, or raises a `FieldError` that says what was expected and, on its
way out, learns the field's path. Which fields a history has is `codec_records.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final, Never, TypeVar

from partq.model.messages import MAX_INT, MAX_SEQ

SHOWN: Final = 60
"""As many characters of a value stand in an error."""

DEEPEST: Final = 50
"""So many lists and objects may lie in each other in free data."""

FieldReader = Callable[[Any], Any]

T = TypeVar("T")


class FieldError(ValueError):
    """A field does not hold what it must. ``field`` is its path, such as ``args.messages[0].id``."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(field, message)
        self.field = field
        self.message = message

    def within(self, outer: str) -> FieldError:
        """The same error, seen from the object or list that holds the field."""
        inner, outer = self.field, label(outer)
        return FieldError(outer + inner if inner[:1] in ("", "[") else f"{outer}.{inner}", self.message)


def inside(outer: str, read: Callable[..., T], *values: Any) -> T:
    """What the reader makes of the values, whose errors are seen from the object or list that holds them."""
    try:
        return read(*values)
    except FieldError as error:
        raise error.within(outer) from None


_JSON_WORDS: Final = {None: "null", True: "true", False: "false"}


def shown(value: object) -> str:
    """A value as it may stand in an error: short, printable, on one line, in the words of JSON."""
    if isinstance(value, dict | list | tuple):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    if value is None or isinstance(value, bool):
        return _JSON_WORDS[value]
    if isinstance(value, int) and value.bit_length() > 128:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, str | bytes):
        value = value[:SHOWN]
    return _cut(repr(value))


def label(name: str) -> str:
    """A field's name as it may stand in an error's path."""
    return _cut(name if name.isprintable() else ascii(name[:SHOWN])[1:-1])


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


# --- single values ----------------------------------------------------------------------------------


def wrong(expected: str, value: object) -> Never:
    """Raise the `FieldError` for a value that is not what was expected."""
    raise FieldError("", f"expected {expected}, found {shown(value)}")


def whole(low: int, high: int, expected: str) -> FieldReader:
    """A whole number between two limits, both included; a float or a truth value is none."""

    def read(value: Any) -> int:
        if type(value) is not int:
            wrong("a whole number", value)
        if not low <= value <= high:
            wrong(expected, value)
        return value

    return read


a_count: Final = whole(0, MAX_INT, "a number from 0 to 2^63-1")
a_time: Final = whole(-MAX_INT - 1, MAX_INT, "a time that fits in 64 bits (signed)")
a_tally: Final = whole(-MAX_INT - 1, MAX_INT, "a whole number that fits in 64 bits (signed)")
a_seq: Final = whole(0, MAX_SEQ, "a sequence number from 0 to 2^64-1")
a_64_bit: Final = whole(-MAX_INT - 1, MAX_SEQ, "a number that fits in 64 bits")


def a_text(value: Any) -> str:
    """Text, empty or not."""
    if type(value) is not str:
        wrong("text", value)
    return value


def a_name(value: Any) -> str:
    """Text that is not empty."""
    if type(value) is not str or not value:
        wrong("text that is not empty", value)
    return value


def a_flag(value: Any) -> bool:
    """True or false, and no number instead."""
    if type(value) is not bool:
        wrong("true or false", value)
    return value


def one_of(known: Collection[str], what: str) -> FieldReader:
    """One of some words."""

    def read(value: Any) -> str:
        if type(value) is not str or value not in known:
            raise FieldError("", f"unknown {what} {shown(value)}{did_you_mean(value, known)}")
        return value

    return read


def exactly(word: str) -> FieldReader:
    """That word."""
    return lambda value: value if value == word else wrong(f"{word!r}", value)


def or_null(read: FieldReader) -> FieldReader:
    """What the reader takes, or null."""
    return lambda value: None if value is None else read(value)


def did_you_mean(word: object, known: Collection[str]) -> str:
    """A hint at the nearest known word, or all of them where they are few."""
    near = get_close_matches(word, known, n=1) if isinstance(word, str) and len(word) <= SHOWN else []
    if near:
        return f"; did you mean {near[0]}?"
    return f"; known: {', '.join(known)}" if len(known) <= 13 else ""


def list_of(item: FieldReader, at_least: int = 0) -> FieldReader:
    """A list of what another reader takes, read as a tuple."""

    def read(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            wrong("a list", value)
        if len(value) < at_least:
            wrong("a list that is not empty", value)
        found: list[Any] = []
        try:
            for element in value:
                found.append(item(element))
        except FieldError as error:
            raise error.within(f"[{len(found)}]") from None
        return tuple(found)

    return read


def _pair(value: Any) -> tuple[str, str]:
    if type(value) not in (list, tuple) or len(value) != 2 or any(type(part) is not str for part in value):
        wrong("a pair [name, value] of text", value)
    return (value[0], value[1])


some_pairs: Final = list_of(_pair)


def an_object(value: Any) -> dict[str, Any]:
    """An object of free data: text, whole numbers of 64 bits, true, false, null, lists and objects."""
    if type(value) is not dict:
        wrong("an object", value)
    _check_json(value)
    return value


def _check_json(value: Any, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise FieldError("", f"is nested more than {DEEPEST} levels deep")
    if type(value) is dict:
        for name, inner in value.items():
            a_text(name)
            inside(name, _check_json, inner, depth + 1)
    elif type(value) is list:
        for position, inner in enumerate(value):
            inside(f"[{position}]", _check_json, inner, depth + 1)
    elif type(value) is int:
        a_64_bit(value)
    elif value is not None and type(value) not in (str, bool):
        wrong("text, a whole number, true, false, null, a list or an object", value)


# --- objects ----------------------------------------------------------------------------------------


class Fields:
    """The shape of a JSON object: one decoder per field, and which fields are required."""

    __slots__ = ("readers", "required")

    def __init__(self, readers: Mapping[str, FieldReader], required: Collection[str] = ()) -> None:
        self.readers = readers
        self.required = frozenset(required)

    def read(self, data: Any) -> dict[str, Any]:
        """The object's values. Raises `FieldError` for a missing, unknown or wrong field."""
        if type(data) is not dict:
            wrong("an object", data)
        found: dict[str, Any] = {}
        readers = self.readers
        for name, value in data.items():
            reader = readers.get(name)
            if reader is None:
                raise FieldError(label(name), f"unknown field{did_you_mean(name, readers)}")
            try:
                found[name] = reader(value)
            except FieldError as error:
                raise error.within(name) from None
        if not self.required <= data.keys():
            raise FieldError(min(self.required - data.keys()), "is missing")
        return found
