"""The requirements catalogue: every rule by ID, as typed and validated data.

The rules themselves are in `rules.toml` of each mechanism's folder, what they share in `catalogue.toml`. Here
they are read, once and on first use, checked strictly, put in reading order and looked up. Which clause,
checker or case belongs to a rule, and which rules a family without a column takes, is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Final

from .tables import Table, TableError, did_you_mean, document, located

PROFILE_COLUMNS: Final = ("azure-standard", "azure-premium", "azure-flat", "solace")
"""The profiles that the catalogue itself speaks of; a further column is added here."""

SCHEMA: Final = "partq.requirements/1"

_COMMON: Final = "catalogue.toml"
_RULES: Final = "rules.toml"
_ID: Final = re.compile(r"([A-Z]+)-[1-9][0-9]*")


class CatalogueError(TableError):
    """The catalogue's data is malformed; the text names the file, the line, the table and the field."""


class UnknownRequirement(KeyError):
    """No rule has that ID; the text suggests the nearest ones."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the repr


class Level(StrEnum):
    """How binding a rule is."""

    MUST = "MUST"
    """A violation fails the run."""
    SHOULD = "SHOULD"
    """A violation is reported, and fails the run only under ``--strict``."""
    MAY = "MAY"
    """A freedom: a checker that flags its use is wrong."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where rules come from: a letter code, its name, and what kind of evidence it is. ``pages``: title ->
    https address of what the public can read of it."""

    code: str
    name: str
    kind: str
    pages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One rule.

    ``mechanism`` is the folder of its file. ``profiles`` are names out of `PROFILE_COLUMNS`; none where the
    rule binds only those that name it. ``sources`` are codes of `sources`. ``open_question`` is the part that
    no source settles: every answer to it is allowed. ``reading`` says how the suite reads a rule that leaves
    room. ``precedes``: more general rules that explain what breaks this one too. ``after``: the rule of its
    group that it stands behind, where its number does not say so. ``pages``: those that say the rule, where
    the pages of its source do not.
    """

    id: str
    mechanism: str
    group: str
    title: str
    level: Level
    text: str
    profiles: tuple[str, ...]
    sources: tuple[str, ...]
    open_question: str | None = None
    reading: str | None = None
    precedes: tuple[str, ...] = ()
    after: str | None = None
    pages: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def is_open(self) -> bool:
        """Whether part of the rule is unsettled."""
        return self.open_question is not None


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A disagreement between or within sources, and how the rules named settle it."""

    title: str
    requirements: tuple[str, ...]
    sources: tuple[str, ...]
    conflict: str
    settled: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A whole catalogue; ``requirements`` and ``groups`` (code to title) are in reading order."""

    requirements: Mapping[str, Requirement]
    groups: Mapping[str, str]
    sources: Mapping[str, Source]
    contradictions: tuple[Contradiction, ...]


def catalogue() -> Mapping[str, Requirement]:
    """Every rule by ID, in reading order; read-only. Raises `CatalogueError` if a file is damaged."""
    return _shipped().requirements


def requirement(id: str) -> Requirement:
    """The rule with that ID. Raises `UnknownRequirement`, whose text suggests near IDs."""
    rules = catalogue()
    try:
        return rules[id]
    except KeyError:
        hint = did_you_mean(id.upper(), rules)
        raise UnknownRequirement(f"unknown requirement {id!r}{hint}") from None


def selected(word: str) -> tuple[str, ...]:
    """The IDs of the rules that a word stands for: one rule, a group of them, or the column of a profile of
    `PROFILE_COLUMNS`. Empty where it stands for none."""
    return tuple(id for id, rule in catalogue().items() if word in (id, rule.group) or word in rule.profiles)


def groups() -> Mapping[str, str]:
    """The title of each group by its code, in reading order; read-only."""
    return _shipped().groups


def sources_of(rule: Requirement) -> tuple[Source, ...]:
    """Its sources, with the pages that say it."""
    found = tuple(sources()[code] for code in rule.sources)
    return tuple(replace(source, pages=rule.pages) for source in found) if rule.pages else found


def sources() -> Mapping[str, Source]:
    """Each source by its code; read-only."""
    return _shipped().sources


def special_first(ids: Collection[str]) -> tuple[str, ...]:
    """These rules in the order of the declared precedence, else in reading order: a special one before those
    that explain what breaks it too. Raises `UnknownRequirement`."""
    left = sorted({requirement(id).id for id in ids}, key=list(catalogue()).index)
    found: list[str] = []
    while left:
        preceded = {general for id in left for general in _preceded(requirement(id))}
        found.append(next(id for id in left if id not in preceded))
        left.remove(found[-1])
    return tuple(found)


def unpreceded(ids: Collection[str], by: Collection[str]) -> tuple[str, ...]:
    """Those of these rules that none of the others precedes."""
    general = {id for other in by for id in _preceded(requirement(other))}
    return tuple(id for id in ids if id not in general)


def _preceded(rule: Requirement) -> set[str]:
    """What it precedes, by others too."""
    found: set[str] = set()
    for id in rule.precedes:
        found |= {id} | _preceded(requirement(id))
    return found


def contradictions() -> tuple[Contradiction, ...]:
    """The disagreements between sources, and how they were settled."""
    return _shipped().contradictions


def parse(common: str, rules: Mapping[str, str]) -> Catalogue:
    """A catalogue out of TOML text: what all rules share, and the rules of each mechanism.

    Raises `CatalogueError` for bad syntax, unknown or missing fields, unknown levels, profiles, sources
    or groups, and IDs that occur twice or do not fit their group.
    """
    texts = {_COMMON: common, **{f"{mechanism}/{_RULES}": text for mechanism, text in rules.items()}}
    files = {file: document(text, file, CatalogueError) for file, text in texts.items()}
    try:
        return _read(files)
    except CatalogueError as error:
        file = error.where.partition(":")[0]
        raise located(error, file, texts[file]) from None


@cache
def _shipped() -> Catalogue:
    folder = resources.files("partq.model")
    files = {one.name: one / _RULES for one in folder.iterdir() if one.is_dir()}
    rules = {name: files[name].read_text("utf-8") for name in sorted(files) if files[name].is_file()}
    return parse((folder / _COMMON).read_text("utf-8"), rules)


def _read(files: dict[str, Table]) -> Catalogue:
    root = files.pop(_COMMON)
    if (schema := root.text("schema")) != SCHEMA:
        raise root.error("schema", f"is {schema!r}, not {SCHEMA!r}")
    titled = root.children("groups")
    group_titles = {code: titled.text(code) for code in titled.fields()}
    by_code = _sources(root)
    rules = _requirements(files, group_titles, by_code)
    if not rules:
        raise root.error("requirements", f"is empty: no {_RULES} has a rule")
    conflicts = _contradictions(root, rules, by_code)
    root.finish()
    freeze = MappingProxyType
    return Catalogue(freeze(rules), freeze(group_titles), freeze(by_code), conflicts)


def _sources(root: Table) -> dict[str, Source]:
    table = root.children("sources")
    found = {}
    for code in table.fields():
        row = table.children(code)
        found[code] = Source(code, row.text("name"), row.text("kind"), row.pages("pages"))
        row.finish()
    return found


def _requirements(
    files: Mapping[str, Table], known_groups: Collection[str], known_sources: Collection[str]
) -> dict[str, Requirement]:
    """The rules of all files, in reading order."""
    found: dict[str, tuple[Requirement, Table]] = {}
    for file, root in files.items():
        for row in root.tables("requirements", "id"):
            rule = _requirement(row, file.partition("/")[0], known_groups, known_sources)
            if rule.id in found:
                raise row.error("id", f"repeats {rule.id}")
            found[rule.id] = rule, row
        root.finish()
    rules = {id: rule for id, (rule, _) in found.items()}
    for rule, row in found.values():
        _check_precedence(row, rule, rules)
    order = list(known_groups)
    return {rule.id: rule for rule in sorted(rules.values(), key=lambda rule: _place(rule, order))}


def _place(rule: Requirement, order: Sequence[str]) -> tuple[int, int, int]:
    """Where the rule is read: by group and number, or right after another one."""
    number, after = (int(id.partition("-")[2]) for id in (rule.id, rule.after or rule.id))
    return order.index(rule.group), after, number


def _check_precedence(row: Table, rule: Requirement, rules: Mapping[str, Requirement]) -> None:
    """Raises `CatalogueError` where a rule precedes an unknown one, or, by others too, itself; or where it
    stands behind an unknown one."""
    if rule.after is not None:
        row.check_known("after", rule.after, [id for id in rules if rules[id].group == rule.group])
    after, waiting = set(), list(rule.precedes)
    while waiting:
        id = waiting.pop()
        row.check_known("precedes", id, rules)
        if id not in after:
            after.add(id)
            waiting += rules[id].precedes
    if rule.id in after:
        raise row.error("precedes", f"comes back to {rule.id}")


def _requirement(
    row: Table, mechanism: str, known_groups: Collection[str], known_sources: Collection[str]
) -> Requirement:
    id, group = row.text("id"), row.one_of("group", known_groups)
    match = _ID.fullmatch(id)
    if match is None or match[1] != group:
        raise row.error("id", f"must be {group}- and a number: {id!r}")
    rule = Requirement(
        id=id,
        mechanism=mechanism,
        group=group,
        title=row.text("title"),
        level=Level(row.one_of("level", tuple(Level))),
        text=row.text("text"),
        profiles=row.names("profiles", PROFILE_COLUMNS) if "profiles" in row.fields() else (),
        sources=row.names("sources", known_sources),
        open_question=row.optional_text("open_question"),
        reading=row.optional_text("reading"),
        precedes=row.optional_names("precedes"),
        after=row.optional_text("after"),
        pages=row.pages("pages"),
    )
    if row.flag("open") != rule.is_open:
        raise row.error("open", "must be true exactly where there is an open_question")
    row.finish()
    return rule


def _contradictions(
    root: Table, known_rules: Collection[str], known_sources: Collection[str]
) -> tuple[Contradiction, ...]:
    found = []
    for row in root.tables("contradictions", "title"):
        found.append(
            Contradiction(
                title=row.text("title"),
                requirements=row.names("requirements", known_rules),
                sources=row.names("sources", known_sources),
                conflict=row.text("conflict"),
                settled=row.text("settled"),
            )
        )
        row.finish()
    return tuple(found)
