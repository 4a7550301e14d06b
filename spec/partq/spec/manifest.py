"""The manifest: which questions are put to the specification, and what the answers have to be.

One table in `tla/manifest.toml`, an entry a configuration. Putting the questions is `checks`' business.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from .tlc import MODULES

MANIFEST: Final = MODULES / "manifest.toml"


class InvalidManifest(ValueError):
    """The file is no manifest; the message names the line or the entry."""


class Expected(StrEnum):
    """How the search has to end."""

    HOLDS = "holds"
    VIOLATES = "violates"
    REACHES = "reaches"


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One configuration.

    ``module``, ``cfg``: the files, without and with their ending. ``question``: what it asks, in a sentence.
    ``tools``: what can run it. ``expected``: `Expected`; ``breaks`` (in the file: ``property``): what has to
    be violated (of ``reaches`` the invariant that says that the state is not reachable). ``distinct``,
    ``generated``: states; ``depth``: of the search, each as TLC prints it; of a counterexample only its
    length is compared, for how many states were searched before it was found is chance. ``seconds``: what
    it took; ``last_run``: when that was, or ``never``.
    """

    name: str
    module: str
    cfg: str
    question: str
    tools: list[str]
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


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An inductive invariant, for Apalache, in three calls: it holds in the beginning, every step keeps it,
    and it implies the property.

    ``invariant``, ``implies``, ``constants``: operators of the module. ``last_run``: when it was proven, and
    by what, or ``never``.
    """

    name: str
    module: str
    question: str
    invariant: str
    implies: str
    constants: str
    last_run: str = "never"


class _Manifest(msgspec.Struct, forbid_unknown_fields=True):
    check: list[Check]
    proof: list[Proof] = []


def read_manifest(file: Path = MANIFEST) -> tuple[Check, ...]:
    """Every check, in order. Raises `InvalidManifest`."""
    found = _read(file).check
    names = [check.name for check in found]
    for check in found:
        if names.count(check.name) > 1:
            raise InvalidManifest(f"{file}: {check.name} is there twice")
        if (check.expected is Expected.HOLDS) == bool(check.breaks):
            raise InvalidManifest(
                f"{file}: {check.name}: a property is named for all that violates or reaches"
            )
        missing = [part for part in check.files if not part.is_file()]
        if missing:
            raise InvalidManifest(f"{file}: {check.name}: {missing[0].name} is missing")
    return tuple(found)


def read_proofs(file: Path = MANIFEST) -> tuple[Proof, ...]:
    """Every proof, in order. Raises `InvalidManifest`."""
    return tuple(_read(file).proof)


def _read(file: Path) -> _Manifest:
    try:
        return msgspec.toml.decode(file.read_bytes(), type=_Manifest)
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidManifest(f"{file}: {error}") from error
