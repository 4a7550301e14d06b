"""Imports that wait: a command's own modules are loaded when something of them is first used, so that
`partq --help` is quick and every import is at the head of its file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType


class _Waiting(MetaPathFinder):
    """Finds what Python does by itself, with a loader that waits."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def lazily() -> Iterator[None]:
    """Modules that are imported inside wait, unless they are loaded already. Import modules only, not names
    out of them (a package is loaded with the first of its modules), and none that needs a package of an
    extra: whoever looks through `sys.modules` loads them."""
    finder = _Waiting()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
