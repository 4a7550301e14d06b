"""The mutants: the reference broker with one defect each. Importing this package registers them all.

A defect is a function in the place of one hook of the broker (a method that decides one thing), or, where it
needs several hooks or a memory, a subclass of a few lines. It names the rule that it breaks; the suite must
kill it by that rule. Those that a client cannot tell apart from it are in ``also``, the reason beside it.
"""

from __future__ import annotations

from importlib import import_module

from .registry import MUTANTS, Mutant

__all__ = ["MUTANTS", "Mutant"]

MECHANISMS = (
    "keys",
    "routing",
    "sequencing",
    "delivery",
    "locks",
    "peeking",
    "transactions",
    "scheduling",
    "deadletters",
    "deferral",
    "expiry",
    "duplicates",
    "flows",
    "assignments",
    "domains",
)

for _mechanism in MECHANISMS:
    import_module(f"{__name__}.{_mechanism}")
    import_module(f"{__name__}.held_out.{_mechanism}")
