"""What a project says of itself in the table ``[tool.partq]`` of its pyproject.toml.

`settings_of` is pure: text in, settings out; only `settings_near` reads files. The command line and the
pytest plugin both ask here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from partq.conformance.frontends.toml_tables import (
    COUNT,
    FLAG,
    TEXT,
    TEXTS,
    BadTable,
    Field,
    checked,
    decoded,
    parsed,
)
from partq.conformance.history.codec_profiles import SUFFIX
from partq.conformance.verdict import OPEN, BadRequire, BadShare, checked_require, share_of
from partq.model.profiles import UnknownProfile, profile

FILE: Final = "pyproject.toml"
TABLE: Final = "[tool.partq]"

FIELDS: Final[Mapping[str, Field]] = {
    "broker": TEXT,
    "profile": TEXTS,
    "programs": COUNT,
    "seed": COUNT,
    "strict": FLAG,
    "baseline": TEXT,
    "require": TEXTS,
    "open": TEXT,
}


class Settings(NamedTuple):
    """The options of ``partq run`` by the same names; what the table does not say is None or empty.

    ``profile``: names, and files. ``baseline``: the file. Relative ones are in the folder of pyproject.toml.
    ``file``: the pyproject.toml that says so, None where there is none.
    """

    broker: str | None = None
    profile: tuple[str, ...] = ()
    programs: int | None = None
    seed: int | None = None
    strict: bool | None = None
    baseline: Path | None = None
    require: tuple[str, ...] = ()
    open: str | None = None
    file: Path | None = None

    def of(self, broker: str | None) -> Settings:
        """What applies to a broker that is named on the command line: nothing where the table is about
        another one."""
        return self if broker is None or self.broker in (None, broker) else Settings()


NOTHING: Final = Settings()


def settings_of(text: str, file: Path) -> Settings | None:
    """What the text of that pyproject.toml says; None where it has no such table. Raises `BadTable`."""
    tool = parsed(text, str(file)).get("tool", {})
    if not isinstance(tool, dict) or "partq" not in tool:
        return None
    where = f"{file}: {TABLE}"
    said = checked(tool["partq"], FIELDS, where)
    try:
        said["profile"] = tuple(_profile(word, file.parent) for word in said.get("profile", ()))
        checked_require(said.get("require", ()))
        share_of(said.get("open", OPEN))
    except (UnknownProfile, BadRequire, BadShare) as error:
        raise BadTable(f"{where}: {error}") from None
    if "baseline" in said:
        said["baseline"] = file.parent / said["baseline"]
    return Settings(**said, file=file)


def _profile(word: str, folder: Path) -> str:
    """A built-in profile's name, or the path of a profile's file as it is from the current folder. Raises
    `UnknownProfile`."""
    return str(folder / word) if word.endswith(SUFFIX) else profile(word).name


def settings_near(folder: Path) -> Settings:
    """The settings in that folder, or in the nearest parent that has some, up to the root of its repository.
    Raises `BadTable`."""
    for file in _candidates(folder):
        if file.is_file() and (found := settings_of(decoded(file), file)) is not None:
            return found
    return NOTHING


def _candidates(folder: Path) -> Iterator[Path]:
    """Where to look: outside of a repository in the folder itself only."""
    parents = (folder, *folder.parents)
    root = next((parent for parent in parents if (parent / ".git").exists()), folder)
    for parent in parents:
        yield parent / FILE
        if parent == root:
            return
