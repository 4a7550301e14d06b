"""The manifest: the questions put to the specification, and the expected answers.

`tla/manifest.toml` has a table for TLC, an entry a configuration, one for Apalache, and bases that both begin
with; a mechanism may have a file of its own beside it. `checks` and `symbolic` put the questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from partq.spec import MODULES
from partq.spec.tools.configuration import Configuration
from partq.spec.tools.errors import SpecError

from .figures import Figures, LastRun, read_figures
from .switches import Switch, idle

MANIFEST: Final = MODULES / "manifest.toml"

DEFAULT: Final = "Azure"
"""The base of the checks in the manifest itself that name none; in a mechanism's file it has its name."""


class InvalidManifest(SpecError, ValueError):
    """The file is no manifest; the message names the line or the entry."""


class Expected(StrEnum):
    """How the search has to end."""

    HOLDS = "holds"
    VIOLATES = "violates"
    REACHES = "reaches"


class Check(NamedTuple):
    """One question for TLC. ``question``: what it asks, in a sentence. ``breaks``: what has to be violated
    (of `Expected.REACHES` the invariant that says that the state is not reachable). ``figures``: of the
    last run. ``by_hand``: it takes too long to be put with all others."""

    name: str
    question: str
    configuration: Configuration
    expected: Expected = Expected.HOLDS
    breaks: str = ""
    figures: Figures = Figures()
    by_hand: bool = False


class Kind(StrEnum):
    """What Apalache is asked: whether the modules type-check, whether the properties of a configuration hold
    in behaviours of so many steps, or whether its invariants are inductive and imply its properties."""

    TYPES = "types"
    BOUNDED = "bounded"
    PROOF = "proof"


class Symbolic(NamedTuple):
    """One question for Apalache. ``length``: how many steps a bounded check follows. ``expected``: unless it
    is `Expected.HOLDS`, a call must find a counterexample. ``last_run``: none if it never ran."""

    name: str
    kind: Kind
    question: str
    configuration: Configuration
    expected: Expected = Expected.HOLDS
    length: int = 0
    last_run: LastRun | None = None


class _Entry(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A configuration by its differences from ``base``'s."""

    base: str = ""
    steps: str | None = None
    constants: dict[str, bool | int | str | list[int | str]] = {}
    invariants: tuple[str, ...] | None = None
    properties: tuple[str, ...] | None = None


class _Check(_Entry, kw_only=True):
    """``violates``: words; each property after the first is a check of its own."""

    question: str
    violates: str = ""
    reaches: str = ""
    by_hand: bool = False

    @property
    def breaks(self) -> tuple[str, ...]:
        return tuple(self.violates.split()) or (self.reaches,)


class _Symbolic(_Entry, kw_only=True):
    question: str
    kind: Kind
    expected: Expected = Expected.HOLDS
    length: int = 0


E = TypeVar("E", bound=_Entry)


class _Manifest(msgspec.Struct, forbid_unknown_fields=True):
    groups: dict[str, tuple[str, ...]] = {}
    switches: dict[str, dict[str, str]] = {}
    base: dict[str, _Entry] = {}
    check: dict[str, _Check] = {}
    apalache: dict[str, _Symbolic] = {}


def read_manifest(file: Path = MANIFEST) -> tuple[Check, ...]:
    """Every check by TLC, in order. Raises `InvalidManifest`, `InvalidFigures`."""
    manifest, recorded = _read(file), read_figures()
    figures = recorded.checks | {name: Figures(depth=length) for name, length in recorded.lengths.items()}
    return tuple(
        Check(
            name,
            one.question,
            configuration._replace(properties=(broken,)) if one.violates else configuration,
            (one.violates and Expected.VIOLATES) or (one.reaches and Expected.REACHES) or Expected.HOLDS,
            broken,
            figures.get(name, Figures()),
            one.by_hand,
        )
        for first, one, configuration in _configured(file, manifest, manifest.check)
        for broken in one.breaks
        for name in [first if broken == one.breaks[0] else f"{first}-{broken}"]
    )


def read_symbolic(file: Path = MANIFEST) -> tuple[Symbolic, ...]:
    """Every question for Apalache, in order. Raises `InvalidManifest`, `InvalidFigures`."""
    manifest, runs = _read(file), read_figures().apalache
    for name, one in manifest.apalache.items():
        if (one.kind is Kind.BOUNDED) != bool(one.length):
            raise InvalidManifest(f"{file}: {name}: a length is given for all that is bounded")
    return tuple(
        Symbolic(name, one.kind, one.question, configuration, one.expected, one.length, runs.get(name))
        for name, one, configuration in _configured(file, manifest, manifest.apalache)
    )


def _entries(file: Path, manifest: _Manifest) -> Mapping[str, _Entry]:
    tables = (manifest.base, manifest.check, manifest.apalache)
    entries: dict[str, _Entry] = {}
    for name, one in chain.from_iterable(table.items() for table in tables):
        if name in entries:
            raise InvalidManifest(f"{file}: {name} is there twice")
        entries[name] = one
    return entries


def _configured(
    file: Path, manifest: _Manifest, table: Mapping[str, E]
) -> Iterator[tuple[str, E, Configuration]]:
    """The entries of a table, each with its configuration, of whose properties each can fail in it. Raises
    `InvalidManifest`."""
    entries = _entries(file, manifest)
    switches = {name: Switch(**words) for name, words in manifest.switches.items()}
    for name, one in table.items():
        found = _differing(file, entries, name)
        for broken, why in idle(found, switches):
            raise InvalidManifest(f"{file}: {name}: {broken} can't fail in it: it is {why}")
        yield name, one, found


def _differing(
    file: Path, entries: Mapping[str, _Entry], name: str, above: tuple[str, ...] = ()
) -> Configuration:
    """A base's configuration, and what the entry says in the place of it."""
    if name not in entries or name in above:
        raise InvalidManifest(f"{file}: {(above or (name,))[-1]}: no base is called {name}")
    one = entries[name]
    start = _differing(file, entries, one.base, (*above, name)) if one.base else Configuration({}, {})
    values = {key: _value(value) for key, value in one.constants.items() if not isinstance(value, str)}
    variants = {key: value for key, value in one.constants.items() if isinstance(value, str)}
    return _asked(one, start)._replace(
        values=start.values | values, variants=start.variants | variants, steps=one.steps or start.steps
    )


def _asked(one: _Entry, start: Configuration) -> Configuration:
    """The properties that the entry checks instead of its base's."""
    if isinstance(one, _Check) and one.reaches:
        return start._replace(invariants=(one.reaches,), properties=(), view=False)
    if isinstance(one, _Check) and one.violates:
        return start._replace(invariants=(), properties=one.breaks)
    return start._replace(
        invariants=start.invariants if one.invariants is None else one.invariants,
        properties=start.properties if one.properties is None else one.properties,
    )


def _value(value: bool | int | list[int | str]) -> str:
    """A constant's value as TLA+ writes it."""
    if isinstance(value, list):
        return "{" + ", ".join(f'"{one}"' if isinstance(one, str) else str(one) for one in value) + "}"
    return str(value).upper()


def _read(file: Path) -> _Manifest:
    """The manifest with those of mechanisms, the properties of each group in the place of its name."""
    found = _Manifest()
    for each in (file, *sorted({*file.parent.glob("*.toml")} - {file})):
        try:
            part = msgspec.toml.decode(each.read_bytes(), type=_Manifest)
        except (OSError, msgspec.MsgspecError) as error:
            raise InvalidManifest(f"{each}: {error}") from error
        for check in part.check.values():
            check.base = check.base or (DEFAULT if each == file else each.stem)
        for name in msgspec.structs.asdict(part):
            _add(each, getattr(found, name), getattr(part, name))
    for one in chain(found.base.values(), found.check.values(), found.apalache.values()):
        if one.properties is not None:
            every = (found.groups.get(name, (name,)) for name in one.properties)
            one.properties = tuple(chain.from_iterable(every))
    return found


def _add(file: Path, table: dict[str, Any], more: dict[str, Any]) -> None:
    if twice := sorted(table.keys() & more.keys()):
        raise InvalidManifest(f"{file}: {twice[0]} is there twice")
    table.update(more)
