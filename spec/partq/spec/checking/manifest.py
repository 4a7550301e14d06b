"""The manifest: which questions are put to the specification, and what the answers have to be.

`tla/manifest.toml` has a table for TLC, an entry a configuration, and one for Apalache. Putting the
questions is the business of `checks` and `symbolic`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from partq.spec import MODULES
from partq.spec.tools.apalache import Outcome
from partq.spec.tools.errors import SpecError
from partq.spec.tools.roots import InvalidConfiguration, read_configuration

from .switches import idle

MANIFEST: Final = MODULES / "manifest.toml"


class InvalidManifest(SpecError, ValueError):
    """The file is no manifest; the message names the line or the entry."""


class Expected(StrEnum):
    """How the search has to end."""

    HOLDS = "holds"
    VIOLATES = "violates"
    REACHES = "reaches"


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One configuration.

    ``module``, ``cfg``: the files, without and with their ending. ``question``: what it asks, in a sentence.
    ``expected``: `Expected`; ``breaks`` (in the file: ``property``): what has to
    be violated (of ``reaches`` the invariant that says that the state is not reachable). ``distinct``,
    ``generated``: states; ``depth``: of the search, each as TLC prints it; of a counterexample only its
    length is compared, for how many states were searched before it was found is chance. ``seconds``: what
    it took; ``last_run``: when that was, or ``never``.
    """

    name: str
    module: str
    cfg: str
    question: str
    expected: Expected
    breaks: str = msgspec.field(default="", name="property")
    distinct: int = 0
    generated: int = 0
    depth: int = 0
    seconds: float = 0
    last_run: str = "never"

    @property
    def files(self) -> tuple[Path, Path]:
        """The module and the configuration."""
        return MODULES / f"{self.module}.tla", MODULES / self.cfg


class Kind(StrEnum):
    """What Apalache is asked: whether a module type-checks, whether the properties of a configuration hold in
    behaviours of so many steps, or whether its invariants are inductive and imply its properties."""

    TYPES = "types"
    BOUNDED = "bounded"
    PROOF = "proof"


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call of Apalache: its words, how it ended, and after how many seconds."""

    command: str
    outcome: Outcome
    seconds: float


class LastRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When Apalache was last asked, which version of it, and what came of each call. ``text``: the digest of
    what it was given (`records.text_of`); empty if that was not recorded."""

    date: str
    version: str
    calls: list[Call]
    text: str = ""


class Symbolic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question for Apalache.

    ``file``: the configuration, or the module whose types are checked. ``wrong``: operators in whose place
    wrong variants are put. ``length``: how many steps a bounded check follows. ``expected``: unless it is
    `Expected.HOLDS`, a call must find a counterexample. ``last_run``: none if it never ran.
    """

    name: str
    kind: Kind
    file: str
    question: str
    expected: Expected = Expected.HOLDS
    wrong: dict[str, str] = {}
    length: int = 0
    last_run: LastRun | None = None


class _Manifest(msgspec.Struct, forbid_unknown_fields=True):
    check: list[Check]
    apalache: list[Symbolic] = []


def read_manifest(file: Path = MANIFEST) -> tuple[Check, ...]:
    """Every check by TLC, in order. Raises `InvalidManifest`."""
    found = _read(file).check
    _told_apart(file, [check.name for check in found])
    for check in found:
        if (check.expected is Expected.HOLDS) == bool(check.breaks):
            raise InvalidManifest(
                f"{file}: {check.name}: a property is named for all that violates or reaches"
            )
        _there(file, check.name, check.files)
        _may_fail(file, check.name, check.files[1])
    return tuple(found)


def read_symbolic(file: Path = MANIFEST) -> tuple[Symbolic, ...]:
    """Every question for Apalache, in order. Raises `InvalidManifest`."""
    found = _read(file).apalache
    _told_apart(file, [one.name for one in found])
    for one in found:
        if (one.kind is Kind.BOUNDED) != bool(one.length):
            raise InvalidManifest(f"{file}: {one.name}: a length is given for all that is bounded")
        _there(file, one.name, [MODULES / one.file])
        if one.kind is not Kind.TYPES:
            _may_fail(file, one.name, MODULES / one.file)
    return tuple(found)


def _told_apart(file: Path, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InvalidManifest(f"{file}: {name} is there twice")


def _there(file: Path, name: str, needed: Sequence[Path]) -> None:
    missing = [part for part in needed if not part.is_file()]
    if missing:
        raise InvalidManifest(f"{file}: {name}: {missing[0].name} is missing")


def _may_fail(file: Path, name: str, configuration: Path) -> None:
    try:
        found = [*idle(read_configuration(configuration))]
    except InvalidConfiguration as error:
        raise InvalidManifest(f"{file}: {name}: {error}") from error
    for broken, why in found:
        raise InvalidManifest(f"{file}: {name}: {broken} can't fail in {configuration.name}: it is {why}")


def _read(file: Path) -> _Manifest:
    try:
        return msgspec.toml.decode(file.read_bytes(), type=_Manifest)
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidManifest(f"{file}: {error}") from error
