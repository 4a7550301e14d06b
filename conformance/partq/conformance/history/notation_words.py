"""The words of the terse notation: how a line is taken apart, and what its words mean as values and messages.

Which words an operation takes, and how lines make a history, is `notation.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from partq.model.messages import SOLACE_KEY, Delivery, KeyRule, Message
from partq.model.operations import DEAD_LETTER
from partq.model.profiles import SECOND, Profile


class NotationError(ValueError):
    """A line can't be read. The text gives its number, what is wrong, and the line."""


_UNITS: Final = {"": 1, "ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": SECOND, "min": 60 * SECOND}
_TOKEN: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^\s",])+|[,"]')
_TIME: Final = re.compile(r"(\d+)(?:\.(\d{1,9}))?([a-zµ]*)")
_NUMBER: Final = re.compile(r"(?:(\d+)\.)?(?:(\d+)|max(?:-(\d+))?)")
_NAME: Final = re.compile(r"[^=#@>\"]+")
_RESERVED: Final = frozenset({"ok", "error", "unknown", "nothing", "...", "->"})


def words_of(line: str) -> list[str]:
    """The words of a line, without commas and comment. Raises `NotationError`."""
    words = [word for word in _TOKEN.findall(line) if word != ","]
    if "#" in words:
        words = words[: words.index("#")]
    if '"' in words:
        raise NotationError("a quotation mark is missing")
    return words


def split(words: list[str]) -> tuple[list[str], list[str] | None]:
    """The words before and behind the arrow; None where there is none."""
    if words.count("->") > 1 or words[0] == "->":
        raise NotationError("a line is: client operation arguments -> outcome @call-return")
    if "->" not in words:
        return words, None
    at = words.index("->")
    return words[:at], words[at + 1 :]


def items(words: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each nameless word with the attributes behind it."""
    name, attributes = None, dict[str, str]()
    for word in words:
        if "=" in word.split('"')[0]:
            key, value = word.split("=", 1)
            if name is None:
                raise NotationError(f"{key} belongs to no message")
            if key in attributes:
                raise NotationError(f"{key} is given twice for {name}")
            attributes[key] = text(value)
            continue
        if name is not None:
            yield name, attributes
        name, attributes = word, {}
    if name is not None:
        yield name, attributes


def message(item: tuple[str, dict[str, str]], family: Profile) -> Message:
    """A message that is sent. Raises `NotationError` and `InvalidMessage`."""
    name, given = item
    return Message(label(name), **_fields(name, given, SENT, family))


def delivery(item: tuple[str, dict[str, str]], family: Profile) -> Delivery:
    """A message that is shown. Raises `NotationError`."""
    name, given = item
    name, mark, seq = name.partition("#")
    fields = _fields(name, given, SHOWN, family)
    if mark:
        fields["seq"] = number(seq, family)
    return Delivery(label(name), **fields)


def _fields(name: str, given: dict[str, str], known: _Attributes, family: Profile) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    properties = [(key[5:], value) for key, value in given.items() if key.startswith("prop.")]
    for key, value in given.items():
        if key == "key" and family.key_rule is KeyRule.USER_PROPERTY:
            properties.append((SOLACE_KEY, value))
        elif key in known:
            field, read = known[key]
            fields[field] = read(value)
        elif not key.startswith("prop."):
            raise NotationError(f"{name}: unknown attribute {key!r}{near(key, known)}")
    if properties:
        fields["properties"] = tuple(properties)
    return fields


def text(word: str) -> str:
    """The text that a word stands for, quoted or not."""
    if not word.startswith('"'):
        return word
    try:
        return str(json.loads(word))
    except ValueError:
        raise NotationError(f"not quoted as in JSON: {word}") from None


def label(word: str) -> str:
    """A name: of a message, a lock, a flow. Raises `NotationError` for words that mean something else."""
    if word in _RESERVED or not _NAME.fullmatch(word):
        raise NotationError(f"not a name: {word!r}")
    return word


def whole_number(word: str) -> int:
    """A whole number, not negative."""
    if not word.isascii() or not word.isdigit():
        raise NotationError(f"not a whole number: {word!r}")
    return int(word)


def time(word: str) -> int:
    """A time in ns."""
    match = _TIME.fullmatch(word)
    if match is None or match[3] not in _UNITS:
        raise NotationError(f"not a time: {word!r}; known units: {', '.join(filter(None, _UNITS))}")
    digits, unit = match[2] or "", _UNITS[match[3]]
    ns, rest = divmod(int(match[1] + digits) * unit, int("1" + "0" * len(digits)))
    if rest:
        raise NotationError(f"not a whole number of ns: {word!r}")
    return ns


def _flag(word: str) -> bool:
    if word not in ("yes", "no"):
        raise NotationError(f"not yes or no: {word!r}")
    return word == "yes"


def number(word: str, family: Profile) -> int:
    """A sequence number: ``partition.counter``, or plain."""
    match = _NUMBER.fullmatch(word)
    if match is None:
        raise NotationError(f"not a number: {word!r}; write partition.counter, a number, or max")
    greatest = (1 << family.counter_bits) - 1
    counter = int(match[2]) if match[2] else greatest - int(match[3] or 0)
    if match[1] is None:
        return counter
    if not family.partitioned:
        raise NotationError(f"{word}: a non-partitioned entity has plain numbers")
    if counter > greatest or int(match[1]) > 0xFFFF:
        raise NotationError(f"{word}: a partition has 16 bits, a counter {family.counter_bits}")
    return (int(match[1]) << family.counter_bits) + counter


def near(word: str, known: Mapping[str, object]) -> str:
    """The end of an error: what may have been meant."""
    found = get_close_matches(word, known, n=1)
    return f"; did you mean {found[0]}?" if found else f"; known: {', '.join(known)}"


ALIASES: Final = {"from": "from_seq", "session": "session_id", "until": "locked_until"}
"""Words for arguments of other names."""

WORDS: Final = {"dead": ("entity", DEAD_LETTER), "delete": ("mode", "receive_and_delete")}
"""Words that are an argument and its value."""

_Attributes = Mapping[str, tuple[str, Callable[[str], Any]]]

SENT: Final[_Attributes] = {
    "key": ("partition_key", str),
    "body": ("body", str),
    "session": ("session_id", str),
    "at": ("scheduled_at", time),
    "ttl": ("ttl", time),
    "without_id": ("without_id", _flag),
}
"""The attributes of a message that is sent, beside ``prop.NAME``."""

SHOWN: Final[_Attributes] = {
    "key": ("partition_key", str),
    "body": ("body", str),
    "session": ("session_id", str),
    "partition": ("partition", whole_number),
    "enqueued": ("enqueued_at", time),
    "count": ("delivery_count", whole_number),
    "lock": ("lock", str),
    "until": ("locked_until", time),
    "state": ("state", str),
    "redelivered": ("redelivered", _flag),
    "reason": ("reason", str),
    "message_id": ("message_id", str),
}
"""The attributes of a message that is shown, beside ``prop.NAME``."""
