"""Which function of the model implements which rule: a registry filled when the model is imported.

`clause` marks a function with the IDs it implements and hands the same function back, so a marked function
costs nothing more to call. `guard` marks a predicate that one rule demands, `point` a clause whose result is
not the last word (`departures`); their first argument is the state, or named ``cfg``. Nothing here knows
what a clause does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final, TypeVar, cast

from . import mechanisms
from .requirements import requirement

F = TypeVar("F", bound=Callable[..., object])
P = TypeVar("P", bound=Callable[..., bool])

_registry: Final[dict[str, list[str]]] = {}


def clause(*ids: str) -> Callable[[F], F]:
    """Mark a function as the clause of these requirements. Raises `UnknownRequirement` for a wrong ID."""

    def mark(function: F) -> F:
        name = f"{function.__module__.removeprefix(f'{__package__}.')}.{function.__qualname__}"
        for id in ids:
            _registry.setdefault(requirement(id).id, []).append(name)
        return function

    return mark


def guard(*ids: str) -> Callable[[P], P]:
    """Mark a predicate as the clause of these requirements: true, also where one of them does not bind."""
    waived = " or ".join(f"not {{cfg}}.forbids(ids[{n}])" for n in range(len(ids)))

    def mark(function: P) -> P:
        return _called(clause(*ids)(function), f"function({{args}}) or {waived}", ids)

    return mark


def point(*ids: str) -> Callable[[F], F]:
    """`clause`, and a place where `departures` apply."""

    def mark(function: F) -> F:
        norm = (
            "function({args}) if (departed := {cfg}.departures.get(function)) is None else departed({args})"
        )
        return _called(clause(*ids)(function), norm)

    return mark


def _called(function: F, way: str, ids: tuple[str, ...] = ()) -> F:
    """The function with this signature, compiled from text: a call by ``*args`` takes three times as long."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    cfg = names[0] if names[0] == "cfg" else f"{names[0]}.cfg"
    way = way.format(args=", ".join(names), cfg=cfg)
    made = eval(f"lambda function, ids: lambda {', '.join(names)}: {way}")(function, ids)
    made.__defaults__ = function.__defaults__
    return cast(F, wraps(function)(made))


def of(id: str) -> tuple[str, ...]:
    """The clauses of a requirement as ``module.function``, sorted; empty where the model has none."""
    return tuple(sorted(_all().get(id, ())))


def covered() -> tuple[str, ...]:
    """Every requirement that has a clause, sorted."""
    return tuple(sorted(_all()))


def _all() -> dict[str, list[str]]:
    mechanisms.norms()
    return _registry
