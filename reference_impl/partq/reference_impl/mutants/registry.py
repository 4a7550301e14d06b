"""What a mutant is, and the table of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from types import FunctionType
from typing import Any, Final, TypeVar

from ..broker import Parts
from .forms import Form, together

Defect = TypeVar("Defect", bound=Callable[..., Any])

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
    breaks: str,
    hook: str = "",
    form: Form | None = None,
    *,
    name: str = "",
    profile: str = "azure-premium",
    also: tuple[str, ...] = (),
) -> Callable[[Defect], Defect]:
    """Register a mutant: a function in the place of ``hook`` (or, with a ``form``, before or after it) in the
    class of its ``self``'s annotation; or, for several hooks or a memory, a subclass. It gives the name (or
    ``name``), its docstring the summary. What is declared in `mutants.held_out` is set aside."""

    def register(item: Defect) -> Defect:
        own = name or re.sub(r"_|(?<=.)(?=[A-Z])", "-", item.__name__).lower()
        if own in MUTANTS:
            raise ValueError(f"two mutants are called {own}")
        part: Any = _replacing(hook, form, item) if isinstance(item, FunctionType) else item
        parts = replace(Parts(), **{_slot(part): part})
        aside = ".held_out." in item.__module__
        MUTANTS[own] = Mutant(own, breaks, item.__doc__ or "", profile, also, parts, aside)
        return item

    return register


def _replacing(hook: str, form: Form | None, function: FunctionType) -> type[Any]:
    """The subclass with that function in the place of the hook, or beside it. Raises AttributeError if there
    is no such hook, TypeError if it takes other arguments."""
    base = function.__globals__[function.__annotations__["self"]]
    method = together(function, getattr(base, hook), form)
    return type(function.__name__, (base,), {hook: method, "__module__": function.__module__})


def _slot(part: Any) -> str:
    """Which of the broker's classes it stands in for: the one that is nearest among its bases."""
    slots = {getattr(Parts(), field.name): field.name for field in fields(Parts)}
    return next(slots[base] for base in part.__mro__ if base in slots)
