"""A baseline as people write it: TOML, schema ``partq.baseline/1``. Pure: text to entries, entries to text.

What the entries mean is `verdict.baseline`'s business.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from partq.conformance.frontends.toml_tables import FLAG, TEXT, TEXTS, BadTable, Field, checked, parsed
from partq.conformance.history.notation_words import near
from partq.conformance.verdict import ANOTHER, Entry, Kind
from partq.model.profiles import UnknownProfile, profile
from partq.model.requirements import catalogue

SCHEMA: Final = "partq.baseline/1"

TODO: Final = "TODO: say why"
"""The reason in entries that partq wrote."""

HEAD: Final = f"""\
# Violations of this broker that its team knows of, for `partq run --baseline`. docs/ci.md has the fields.
schema = "{SCHEMA}"
"""

_FIELDS: Final[Mapping[Kind, Mapping[str, Field]]] = {
    Kind.VIOLATED: {
        "rule": TEXTS,
        "reason": TEXT,
        "profile": TEXT,
        "cause": TEXT,
        "sometimes": FLAG,
    },
    Kind.OPEN: {"rule": TEXT, "reason": TEXT, "profile": TEXT, "sometimes": FLAG},
}

_REQUIRED: Final = ("rule", "reason")


def loads(text: str, where: str) -> tuple[Entry, ...]:
    """The entries in their order, violations first. Raises `BadTable`, which names ``where`` it is."""
    data = parsed(text, where)
    if data.pop("schema", None) != SCHEMA:
        raise BadTable(f"{where}: schema: expected {SCHEMA!r}")
    for name in data:
        if name not in _FIELDS:
            raise BadTable(f"{where}: unknown key {name!r}{near(name, dict.fromkeys(Kind))}")
    return tuple(
        _entry(kind, row, f"{where}: [[{kind}]] {number}")
        for kind in Kind
        for number, row in enumerate(_rows(data.get(kind, []), kind, where), start=1)
    )


def _rows(rows: object, kind: Kind, where: str) -> list[Any]:
    if not isinstance(rows, list):
        raise BadTable(f"{where}: {kind}: expected tables that begin with [[{kind}]]")
    return rows


def _entry(kind: Kind, row: object, where: str) -> Entry:
    said = checked(row, _FIELDS[kind], where)
    for name in _REQUIRED:
        if name not in said:
            raise BadTable(f"{where}: {name} is missing")
    rule = said.pop("rule")
    rules = (rule,) if isinstance(rule, str) else rule
    _check_rules(rules, where)
    if "profile" in said:
        try:
            profile(said["profile"])
        except UnknownProfile as error:
            raise BadTable(f"{where}: {error}") from None
    return Entry(kind, rules, **said)


def _check_rules(rules: tuple[str, ...], where: str) -> None:
    for rule in rules:
        if rule not in catalogue() and rule != ANOTHER:
            raise BadTable(f"{where}: rule: {rule!r} is no rule (partq list rules)")
    if set(rules) <= {ANOTHER}:
        raise BadTable(f"{where}: rule: name at least one rule")


def dumps(entries: Iterable[Entry]) -> str:
    """The entries as text, to be put after `HEAD` or other entries."""
    return "".join(f"\n[[{entry.kind}]]\n{''.join(_lines(entry))}" for entry in entries)


def _lines(entry: Entry) -> Iterator[str]:
    yield f"rule = {_value(entry.rules[0] if len(entry.rules) == 1 else list(entry.rules))}\n"
    for name in ("profile", "cause"):
        if text := getattr(entry, name):
            yield f"{name} = {_value(text)}\n"
    if entry.sometimes:
        yield "sometimes = true\n"
    yield f"reason = {_value(entry.reason)}\n"


def _value(value: str | list[str]) -> str:
    """A text, or a list of texts; TOML writes them as JSON does, but for one sign."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
