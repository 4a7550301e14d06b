"""``partq init``: the files with which a project begins: an adapter that runs, a pytest file, a workflow of
GitHub Actions and the table [tool.partq]. What is there already stays as it is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Final

import typer

from partq.conformance.frontends import settings
from partq.conformance.frontends.cli.common import created, fail, failing, known_profile
from partq.conformance.frontends.cli.profile import LIKE, begun, profile_name
from partq.conformance.frontends.cli.streams import printable, say
from partq.conformance.history.codec_profiles import SUFFIX

STARTER: Final = resources.files("partq.conformance.frontends.cli") / "starter"

FILES: Final[Mapping[str, str]] = {
    "my_broker.py": "my_broker.py",
    "tests/test_conformance.py": "conformance.py",
    ".github/workflows/partq.yml": "partq.yml",
}
"""File -> which one of `STARTER` it is."""

_PROFILE: Final = re.compile(r'^( *profile = )".*', re.MULTILINE)

NEXT: Final = (
    ("partq run --case queue-keys", "one case: seconds"),
    ("partq run", "all of them, with what [tool.partq] says"),
    ("partq run --write-baseline partq-baseline.toml", "what is violated now, as known"),
    ("pytest tests/test_conformance.py", "the same from pytest"),
)
"""Commands, and what each does."""


def init(
    folder: Annotated[Path, typer.Argument(help="Where; it is made unless it is there.")] = Path(),
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="Begin a profile, too: NAME.toml beside the adapter.")
    ] = None,
) -> None:
    """Begin a project: an adapter that runs, a pytest file, a workflow, settings in pyproject.toml.

    Nothing is overwritten."""
    if profile is not None:
        profile = profile_name(profile)
    with failing(folder, inside=True):
        table = _with_table(folder / settings.FILE, profile)
        for file, source in FILES.items():
            say(printable(_written(folder / file, _text(source, profile))))
        if profile is not None:
            say(printable(_written(folder / f"{profile}{SUFFIX}", begun(profile, known_profile(LIKE)))))
        say(printable(_appended(folder / settings.FILE, table)))
    say("\nnext:" + "".join(f"\n  {line}" for line in _next(folder)))


def _text(source: str, profile: str | None) -> str:
    """The starter's text; in a project with a profile of its own it names that one's file."""
    text = (STARTER / source).read_text(encoding="utf-8")
    return _PROFILE.sub(rf'\g<1>"{profile}{SUFFIX}"', text) if profile else text


def _written(file: Path, text: str) -> str:
    """Write a new file; what was done, in a line."""
    file.parent.mkdir(parents=True, exist_ok=True)
    return f"written: {file}" if created(file, text) else f"left as it is: {file}"


def _with_table(file: Path, profile: str | None) -> str | None:
    """The text that the file has to end with, so that it has the table; None where it has one. Ends with one
    line where the file, or what it would be, is not valid TOML."""
    text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    more = _text("pyproject.toml", profile)
    if text:
        more = ("" if text.endswith("\n") else "\n") + "\n" + more
    try:
        tool = tomllib.loads(text).get("tool", {})
        if isinstance(tool, dict) and "partq" in tool:
            return None
        tomllib.loads(text + more)
    except tomllib.TOMLDecodeError as error:
        fail(f"{file}: cannot take a table {settings.TABLE}: {error}")
    return more


def _appended(file: Path, more: str | None) -> str:
    """Put the text at the end of the file; what was done, in a line."""
    if more is None:
        return f"left as it is: {file}, which has {settings.TABLE}"
    done = "appended to" if file.exists() else "written"
    with file.open("a", encoding="utf-8") as stream:
        stream.write(more)
    return f"{done}: {file} ({settings.TABLE})"


def _next(folder: Path) -> Iterator[str]:
    if folder.absolute() != Path.cwd():
        yield f"cd {folder}"
    wide = max(len(command) for command, _ in NEXT)
    for command, what in NEXT:
        yield f"{command:{wide}}  # {what}"
