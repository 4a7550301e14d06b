"""The two files: histories, packed, and what is said of them, a line a history, so that a change of it can be
read where the files are compared, and merged."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

from .opinions import Opinions

FOLDER: Final = Path(__file__).parents[2] / "tests" / "parity"
HISTORIES: Final = FOLDER / "histories.ndjson.xz"
"""For each history a line with its name, a JSON string, then its own lines."""

OPINIONS: Final = FOLDER / "opinions.ndjson"

PRESET: Final = 9

Packed = tuple[str, bytes]
"""A history's name, and its lines, which `loads` reads."""


def write_histories(histories: Iterable[Packed]) -> None:
    """Keep these histories in place of those that were kept."""
    with lzma.open(HISTORIES, "wb", preset=PRESET) as file:
        for name, lines in histories:
            file.write(json.dumps(name).encode() + b"\n" + lines)


def packed_histories() -> Iterator[Packed]:
    """The histories that are kept."""
    with lzma.open(HISTORIES, "rb") as file:
        name = ""
        for names, lines in groupby(file, lambda line: line.startswith(b'"')):
            if names:
                name = json.loads(b"".join(lines))
            else:
                yield name, b"".join(lines)


def write_opinions(opinions: Mapping[str, Opinions]) -> None:
    """Keep what is said of the histories, in their order."""
    lines = (
        json.dumps({"history": name, **said}, ensure_ascii=False, separators=(",", ":"), sort_keys=False)
        for name, said in opinions.items()
    )
    OPINIONS.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_opinions() -> dict[str, Opinions]:
    """What was said of each history, by its name."""
    lines = map(json.loads, OPINIONS.read_text(encoding="utf-8").splitlines())
    return {line.pop("history"): line for line in lines}
