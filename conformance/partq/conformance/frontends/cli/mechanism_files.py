"""The map of a mechanism: the files of its name, all over the project. What is in them is not read here."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Final

_PLACES: Final = (
    "partq/model/{name}/rules.toml",
    "partq/model/{name}/[a-z]*.py",
    "partq/conformance/mechanisms/{name}/[a-z]*.py",
    "partq/conformance/workload/operations/{name}.py",
    "partq/reference_impl/{name}.py",
    "partq/reference_impl/mutants/{name}.py",
    "partq/spec/tla/{Name}.tla",
    "docs/rules/{name}.md",
    "tests/corpus/{name}/*.toml",
)
"""Where files of a mechanism's name are, in the order of the map; documents and tests in a checkout only."""


def files_of(mechanism: str) -> tuple[str, ...]:
    """Files that exist: those of the packages from ``partq`` on, others from the project's root on."""
    packages = sorted({_root(top) for top in ("model", "conformance", "reference_impl", "spec")})
    roots = (*packages, _root("model").parent)
    names = (place.format(name=mechanism, Name=mechanism.capitalize()) for place in _PLACES)
    found = (file.relative_to(root) for name in names for root in roots for file in sorted(root.glob(name)))
    return tuple(file.as_posix() for file in found)


def _root(top: str) -> Path:
    """The folder that the package ``partq`` with this part of it is in."""
    return Path(str(resources.files(f"partq.{top}"))).parents[1]
