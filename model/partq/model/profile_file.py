"""A profile as a file: TOML or plain data to `Profile`, checked strictly, and back. No file is opened here.

docs/profiles.md has the fields for those who write one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from hashlib import sha256
from typing import Any, Final

from .conditions import ALWAYS, CONDITIONS
from .family import ENTITY_BOUNDS, ENTITY_FLAGS, Divergence, Entity, Ground, OrderDomain, Profile
from .messages import KeyRule
from .requirements import PROFILE_COLUMNS, catalogue, groups
from .tables import Table, TableError, did_you_mean, document, located

SCHEMA: Final = "partq.profile/1"

LONGEST: Final = 100_000
"""The limit of characters in a profile's text."""

LONGEST_NAME: Final = 40

MOST_PARTITIONS: Final = ENTITY_BOUNDS["partitions"][1]

FLAGS: Final[Mapping[str, str]] = {
    "partitioned": "a queue has partitions",
    "caching_front_ends": "a receive may miss messages that another front end holds locked in its cache",
    "flows": "consumers bind, and partitions are assigned to them",
    "transactions": "there are transactions, and a key pins them to a partition",
    "peek": "messages can be read without receiving them",
    "shows_seq": "messages bear sequence numbers",
    "locks_expire": "a lock ends by time, too, and not by settlement or a lost connection alone",
    "kill_undoes_settlements": "a killed broker may have forgotten settlements that it answered",
    "kill_remaps_keys": "which key goes to which partition holds until the broker is killed",
    "connection_ends_locks": "a client's locks may end with its connection",
}
"""The fields of ``[switches]`` that are true or false: what they say where they are true."""

SWITCHES: Final = (*FLAGS, "key_rule", "order", "counter_bits", "partitions")
FIELDS: Final = (
    "schema",
    "name",
    "title",
    "rules",
    "pages",
    "switches",
    "entity",
    "adds_properties",
    "divergences",
)
"""The fields of a profile."""

NAME: Final = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"
NAME_RULE: Final = f"must be words of small letters and digits, joined by dashes, {LONGEST_NAME} at the most"
_NAME: Final = re.compile(NAME, re.ASCII)


def is_name(text: str) -> bool:
    """Whether a profile may have this name."""
    return _NAME.fullmatch(text) is not None and len(text) <= LONGEST_NAME


class ProfileError(TableError):
    """A profile's data is malformed; the text names the file, the line, the table and the field."""


def parse(toml: str, where: str, words: Collection[str] | None = None) -> Profile:
    """The profile in TOML text; ``where`` names the text in errors. ``words``: see `read`. Raises
    `ProfileError`."""
    if len(toml) > LONGEST:
        raise ProfileError(where, (), f"is longer than {LONGEST:,} characters")
    root = document(toml, where, ProfileError)
    try:
        return _read(root, words)
    except ProfileError as error:
        raise located(error, where, toml) from None


def words_for_rules() -> frozenset[str]:
    """The words that name rules: their IDs, their groups, the catalogue's columns."""
    return frozenset((*catalogue(), *groups(), *PROFILE_COLUMNS))


def read(plain: object, where: str, words: Collection[str] | None = None) -> Profile:
    """The profile in plain data. ``words``: what may stand for rules (`words_for_rules`); None: that is not
    checked. Raises `ProfileError`."""
    return _read(Table(where, plain, ProfileError), words)


def _read(root: Table, words: Collection[str] | None) -> Profile:
    if (schema := root.text("schema")) != SCHEMA:
        raise root.error("schema", f"is {schema!r}, not {SCHEMA!r}")
    name = root.text("name")
    if not is_name(name):
        raise root.error("name", NAME_RULE)
    title, pages = root.text("title"), dict(root.pages("pages"))
    rules = _rules(root, pages, words)
    switches, entity = _switches(root), _entity(root)
    added, known = root.texts("adds_properties"), _divergences(root, words)
    root.finish(FIELDS)
    found = Profile(
        name,
        title,
        rules,
        default_entity=entity,
        pages=pages,
        adds_properties=added,
        divergences=known,
        **switches,
    )
    if found.partitions and entity.partitions not in found.partitions:
        raise ProfileError(
            root.where, ("entity", "partitions"), "[entity]: partitions is none of those in [switches]"
        )
    ordered = next((word for word in rules if word.partition("-")[0] == "ORD"), None)
    if ordered is not None and found.order is OrderDomain.NONE:
        why = f'order is missing: {ordered} binds, so say what is ordered, "key" or "partition"'
        raise ProfileError(root.where, ("switches",), f"[switches]: {why}")
    return found


def _rules(root: Table, pages: Mapping[str, str], known: Collection[str] | None) -> dict[str, Ground | None]:
    """A list of words, or a table of words, each with its ground."""
    value = root.peek("rules")
    if isinstance(value, list):
        words = [word for word in value if isinstance(word, str)] if known is None else known
        return dict.fromkeys(root.names("rules", words))
    table = root.children("rules")
    if not table.fields():
        raise root.error("rules", "binds no rule")
    for word in table.fields():
        if known is not None and word not in known:
            raise table.error(
                word, f"is no rule, group or column{did_you_mean(word, known)} (partq list rules)"
            )
    return {word: _ground(table.children(word), pages) for word in table.fields()}


def _ground(table: Table, pages: Mapping[str, str]) -> Ground | None:
    if not table.fields():
        return None
    ground = Ground(table.one_of("page", pages), table.text("says"))
    table.finish(Ground._fields)
    return ground


def _switches(root: Table) -> dict[str, Any]:
    if "switches" not in root.fields():
        return {}
    table = root.children("switches")
    found: dict[str, Any] = {name: table.flag(name) for name in FLAGS if name in table.fields()}
    if "key_rule" in table.fields():
        found["key_rule"] = KeyRule(table.one_of("key_rule", tuple(KeyRule)))
    if "order" in table.fields():
        found["order"] = OrderDomain(table.one_of("order", tuple(OrderDomain)))
    if "counter_bits" in table.fields():
        found["counter_bits"] = table.whole("counter_bits", 1, 64)
    if "partitions" in table.fields():
        found["partitions"] = table.wholes("partitions", 1, MOST_PARTITIONS)
    table.finish(SWITCHES)
    return found


def _entity(root: Table) -> Entity:
    """The default settings of an entity."""
    if "entity" not in root.fields():
        return Entity()
    table = root.children("entity")
    found: dict[str, Any] = {
        name: table.whole(name, low, high)
        for name, (low, high, _) in ENTITY_BOUNDS.items()
        if name in table.fields()
    }
    found |= {name: table.flag(name) for name in ENTITY_FLAGS if name in table.fields()}
    table.finish((*ENTITY_BOUNDS, *ENTITY_FLAGS))
    return Entity(**found)


def _divergences(root: Table, words: Collection[str] | None) -> tuple[Divergence, ...]:
    found = []
    for table in root.tables("divergences", "rule") if "divergences" in root.fields() else ():
        rule = table.text("rule")
        if words is not None and rule not in catalogue():
            raise table.error("rule", f"is no rule{did_you_mean(rule, catalogue())} (partq list rules)")
        condition = table.one_of("condition", CONDITIONS)
        cause = table.optional_text("cause") or ""
        if condition == ALWAYS and not cause:
            raise table.error(
                "condition", f"is {ALWAYS!r} without a cause: it would hide every violation of the rule"
            )
        found.append(Divergence(rule, condition, table.text("reason"), cause))
        table.finish(Divergence._fields)
    return tuple(found)


# --- and back ---------------------------------------------------------------------------------------


def plain(family: Profile) -> dict[str, Any]:
    """The profile as plain data, without defaults: what `read` takes."""
    grounds = {word: {} if ground is None else ground._asdict() for word, ground in family.rules.items()}
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "name": family.name.partition("@")[0],
        "title": family.title,
        "switches": {name: _plain(value) for name, value in _unusual(family) if name in SWITCHES},
        "entity": dict(_unusual(family.default_entity)),
        "adds_properties": list(family.adds_properties),
        "pages": dict(family.pages),
        "rules": grounds if any(grounds.values()) else list(grounds),
        "divergences": [
            {name: value for name, value in one._asdict().items() if value} for one in family.divergences
        ],
    }
    return {name: value for name, value in document.items() if value}


def _unusual(of: Profile | Entity) -> Iterator[tuple[str, Any]]:
    """The fields that do not have their default."""
    for field in fields(of):
        if (value := getattr(of, field.name)) != field.default:
            yield field.name, value


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def digest(family: Profile) -> str:
    """A digest of the profile's contents, independent of its spelling."""
    return sha256(json.dumps(plain(family), sort_keys=True).encode()).hexdigest()
