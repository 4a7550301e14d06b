"""What a mutant is, and the table of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Final

from ..broker import Parts

MUTANTS: Final[dict[str, Mutant]] = {}
"""Every mutant by name, in order of registration."""

APART: Final = ("ROUTE-2",)
"""``also`` of the mutants by which equal keys come apart: a short history does not tell why, and ROUTE-2 is
what every client sees of it."""

BY_CHANCE: Final = ("KEY-8", "ROUTE-1")
"""``also`` of the mutants that tear keys apart where partitions show by flows alone, or once, as a partition
fills up: in one history of many another explanation, such as a fault just then, fits so well, by chance, that
it is taken for the right one."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """``breaks``: the rule by which it must be killed. ``also``: rules that may be reported besides.
    ``profile``: under which it is run. ``parts``: the broker's classes, one of them defective.
    ``held_out``: it is set aside; its histories measure how well violations are attributed to requirements,
    and are never looked at while that is built."""

    name: str
    breaks: str
    summary: str
    profile: str
    also: tuple[str, ...]
    parts: Parts
    held_out: bool


def defect(
    name: str,
    breaks: str,
    *,
    profile: str = "azure-premium",
    also: tuple[str, ...] = (),
    held_out: bool = False,
) -> Callable[[type[Any]], type[Any]]:
    """Register the decorated subclass as that mutant; its docstring is the summary."""

    def register(part: type[Any]) -> type[Any]:
        if name in MUTANTS:
            raise ValueError(f"two mutants are called {name}")
        parts = replace(Parts(), **{_slot(part): part})
        MUTANTS[name] = Mutant(name, breaks, part.__doc__ or "", profile, also, parts, held_out)
        return part

    return register


held_out: Final = partial(defect, held_out=True)
"""As `defect`, of a mutant that is set aside (`mutants.held_out`)."""


def _slot(part: type[Any]) -> str:
    """Which of the broker's classes it stands in for: the one that is nearest among its bases."""
    slots = {getattr(Parts(), field.name): field.name for field in fields(Parts) if field.name != "router"}
    return next(slots[base] for base in part.__mro__ if base in slots)
