"""The figures of the last run of each question, in a generated file, ``tla/figures.json``.

Of counterexamples it has only how long each is.

`manifest` has the questions.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from partq.spec import MODULES
from partq.spec.tools.apalache import Outcome
from partq.spec.tools.errors import SpecError

FIGURES: Final = MODULES / "figures.json"


class InvalidFigures(SpecError, ValueError):
    """The file is not what `write_figures` writes; the message says where."""


class Figures(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """``distinct``, ``generated``: states; ``depth``: of the search, each as TLC prints it. Of a check that
    ends with a counterexample ``depth`` is its length, and there are no other figures, for how many states
    were searched before it was found is chance. ``seconds`` by the clock, Java's start included; ``date``:
    of the run, empty if there was none."""

    distinct: int = 0
    generated: int = 0
    depth: int = 0
    seconds: float = 0
    date: str = ""


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


class Recorded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By the names of the questions: the figures of TLC's where all states were searched, the length of a
    counterexample where there has to be one, the last runs of Apalache's."""

    checks: dict[str, Figures] = {}
    lengths: dict[str, int] = {}
    apalache: dict[str, LastRun] = {}


def read_figures(file: Path = FIGURES) -> Recorded:
    """Read the record; empty if there is no file. Raises `InvalidFigures`."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Recorded) if file.exists() else Recorded()
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidFigures(f"{file}: {error}") from error


def record_checks(found: dict[str, Figures], file: Path = FIGURES) -> None:
    """Replace TLC's figures in the record. Raises `InvalidFigures`, `OSError`."""
    old = read_figures(file)
    whole = {name: one for name, one in found.items() if one.distinct}
    lengths = {name: one.depth for name, one in found.items() if not one.distinct}
    write_figures(Recorded(old.checks | whole, old.lengths | lengths, old.apalache), file)


def record_runs(found: dict[str, LastRun], file: Path = FIGURES) -> None:
    """Replace Apalache's runs in the record. Raises `InvalidFigures`, `OSError`."""
    old = read_figures(file)
    write_figures(Recorded(old.checks, old.lengths, old.apalache | found), file)


def write_figures(recorded: Recorded, file: Path = FIGURES) -> None:
    """Replace the whole record. Raises `OSError`."""
    file.write_text("\n".join(_lines(recorded)), encoding="utf-8")


def _lines(recorded: Recorded) -> Iterator[str]:
    yield "{"
    checks = (f'"{name}":{msgspec.json.encode(one).decode()}' for name, one in recorded.checks.items())
    lengths = (f'"{name}":{length}' for name, length in recorded.lengths.items())
    for name, entries in (("checks", checks), ("lengths", lengths)):
        yield from (f'"{name}": {{', textwrap.fill(", ".join(entries), 2000, break_on_hyphens=False), "},")
    yield '"apalache": {'
    runs = recorded.apalache.items()
    yield ",\n".join(f'"{name}": {msgspec.json.encode(one).decode()}' for name, one in runs)
    yield from ("}", "}", "")
