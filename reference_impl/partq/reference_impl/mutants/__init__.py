"""The mutants: the reference broker with one defect each. Importing this package registers those of all its
files.

A defect is a function in the place of one hook of the broker (a method that decides one thing), or before or
after it (`forms`), or, where it needs several hooks or a memory, a subclass of a few lines. It names the rule
that it breaks; the suite must kill it by that rule. Those that a client cannot tell apart from it are in
``also``, the reason beside it.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

from .registry import MUTANTS, Mutant

__all__ = ["MUTANTS", "Mutant"]

for _found in walk_packages(__path__, f"{__name__}."):
    import_module(_found.name)
