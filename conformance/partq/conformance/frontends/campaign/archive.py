"""The project's own code as one file that executors import it from, and its fingerprint."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

import partq

_LEFT_OUT: Final = frozenset({".pyc", ".tla", ".cfg"})
"""Files that no task reads."""


def write(target: Path) -> Path:
    """Write the archive. It has an entry for every folder, without which namespace packages in an archive are
    not found on Python 3.11."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        folders: set[str] = set()
        for name, file in _files():
            for parent in reversed(Path(name).parents[:-1]):
                if parent.as_posix() not in folders:
                    folders.add(parent.as_posix())
                    archive.writestr(zipfile.ZipInfo(f"{parent.as_posix()}/"), b"")
            archive.write(file, name)
    return target


@cache
def digest() -> str:
    """The fingerprint of the code that decides what traces are and what is said of them."""
    state = sha256()
    for name, file in _files():
        state.update(name.encode() + b"\0" + sha256(file.read_bytes()).digest())
    return state.hexdigest()


def _files() -> Iterator[tuple[str, Path]]:
    """Every file of the package and its name in the archive, in order; of two alike, the one imported."""
    found: dict[str, Path] = {}
    for root in map(Path, partq.__path__):
        for file in root.rglob("*"):
            if file.is_file() and file.suffix not in _LEFT_OUT:
                found.setdefault(f"partq/{file.relative_to(root).as_posix()}", file)
    yield from sorted(found.items())
