"""A baseline as people write it: TOML, schema ``partq.baseline/1``. Text to entries, entries to text.

What the entries mean is `verdict.baseline`'s business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from partq.conformance.frontends.toml_tables import (
    FLAG,
    TEXT,
    TEXTS,
    BadTable,
    Field,
    checked,
    decoded,
    parsed,
    value_text,
)
from partq.conformance.history.notation_words import near
from partq.conformance.verdict import ANOTHER, Entry, Fault, Kind, narrower
from partq.model.conditions import ALWAYS, CONDITIONS
from partq.model.profiles import UnknownProfile, is_called, profile
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
        "condition": TEXTS,
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


def read(file: Path) -> tuple[Entry, ...]:
    """The entries in that file, as `loads`. Raises `BadTable` where it can't be read, too."""
    return loads(decoded(file), str(file))


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
            if not is_called(said["profile"]):
                profile(said["profile"])
        except UnknownProfile as error:
            raise BadTable(f"{where}: {error}") from None
    conditions = said.pop("condition", ())
    for name in conditions:
        if name not in CONDITIONS:
            raise BadTable(f"{where}: condition: {name!r} is none of {', '.join(map(repr, CONDITIONS))}")
    return Entry(kind, rules, **said, conditions=conditions)


def doubtful(entries: Iterable[Entry], where: str) -> Iterator[str]:
    """A line for each entry that covers more than one known violation, as those of older versions do."""
    for number, entry in enumerate((one for one in entries if one.kind is Kind.VIOLATED), start=1):
        if why := entry.hides:
            about = f"{where}: [[{Kind.VIOLATED}]] {number}: {why}, and so hides other violations of"
            yield f"{about} {entry.text}: take it out and run --write-baseline, or add one (docs/ci.md)"


def unconditional(entries: Iterable[Entry], new: Collection[Fault], where: str) -> Iterator[str]:
    """A line for each of these entries, just written for what is ``new``, that excuses every later violation
    with its cause."""
    for entry in entries:
        others = narrower(entry, new)
        if others is None:
            continue
        found = "some findings have" if others else "it was found with"
        advice = (
            f"To excuse only a part, write {' or '.join(map(repr, others))}" if others else "Better mend it"
        )
        yield (
            f"{where}: {entry.text} has the condition {ALWAYS!r}, since {found} no narrower one, and so "
            f"excuses every later violation with this cause. {advice} (docs/ci.md)"
        )


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
    yield f"rule = {_value(entry.rules)}\n"
    for name in ("profile", "cause"):
        if text := getattr(entry, name):
            yield f"{name} = {_value((text,))}\n"
    if entry.conditions:
        yield f"condition = {_value(entry.conditions)}\n"
    if entry.sometimes:
        yield "sometimes = true\n"
    yield f"reason = {_value((entry.reason,))}\n"


def _value(texts: tuple[str, ...]) -> str:
    """A text, or a list of several."""
    return value_text(texts[0] if len(texts) == 1 else list(texts))
