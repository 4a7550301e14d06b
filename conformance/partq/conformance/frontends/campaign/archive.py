"""The code of a campaign, as an archive for executors and as a fingerprint.

It is partq's own packages, and the module of a user's broker with what that imports from its own folder.
"""

from __future__ import annotations

import ast
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGES: Final = ("conformance", "model", "reference_impl", "reports", "spec")
"""Those of partq. The namespace that they are in may be shared by any folder of that name."""

_LEFT_OUT: Final = frozenset({".pyc", ".tla"})
"""Files that no task reads."""

_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
"""Folders whose packages have nothing to do with each other."""

Code = Mapping[str, Path]
"""Files by their names in the archive, in order."""


def code_of(modules: Iterable[str]) -> Code:
    """partq as this process imports it, and these modules with what they import from their own folders."""
    found: dict[str, Path] = {}
    for package in PACKAGES:
        spec = find_spec(f"partq.{package}")
        for root in map(Path, (spec and spec.submodule_search_locations) or ()):
            files = (file for file in root.rglob("*") if file.is_file() and file.suffix not in _LEFT_OUT)
            found |= {f"partq/{package}/{file.relative_to(root).as_posix()}": file for file in files}
    for module in modules:
        found |= _own(module)
    return dict(sorted(found.items()))


def write(code: Code, target: Path) -> Path:
    """Write the archive. It has an entry for every folder, without which namespace packages in an archive are
    not found on Python 3.11."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        folders: set[str] = set()
        for name, file in code.items():
            for parent in reversed(Path(name).parents[:-1]):
                if parent.as_posix() not in folders:
                    folders.add(parent.as_posix())
                    archive.writestr(zipfile.ZipInfo(f"{parent.as_posix()}/"), b"")
            archive.write(file, name)
    return target


def digest(code: Code) -> str:
    """The fingerprint of the code that decides what traces are and what is said of them."""
    state = sha256()
    for name, file in code.items():
        state.update(name.encode() + b"\0" + sha256(file.read_bytes()).digest())
    return state.hexdigest()


# --- a user's module ----------------------------------------------------------------------------------


def _own(module: str) -> dict[str, Path]:
    """The module's file and those that it imports from its folder, at whatever time it does so."""
    imported = import_module(module)
    file = Path(getattr(imported, "__file__", None) or "built in").absolute()
    folder = file.parents[module.count(".") + hasattr(imported, "__path__")]
    top = module.partition(".")[0]
    alone = not _INSTALLED.isdisjoint(folder.parts)
    found: dict[str, Path] = {}
    pending = [module]
    while pending:
        name = pending.pop()
        first = name.partition(".")[0]
        for file in _files(folder, name) if first != "partq" and (first == top or not alone) else ():
            if (place := file.relative_to(folder).as_posix()) not in found:
                found[place] = file
                pending += _imports(file, file.relative_to(folder).parts[:-1])
    return found


def _files(folder: Path, name: str) -> Iterator[Path]:
    """The files of the module and of the packages that it is in."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        *packages, last = parts[:count]
        for file in ("__init__.py", last), (f"{last}.py",):
            place = folder.joinpath(*packages, *reversed(file))
            if place.is_file():
                yield place


def _imports(file: Path, package: tuple[str, ...]) -> Iterator[str]:
    """The names of what a module in that package imports anywhere in its text, and may import."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            name = ".".join((*base, *filter(None, (node.module,))))
            yield from (f"{name}.{alias.name}".lstrip(".") for alias in node.names)
