"""How deviations are added to the norm: two decorators, and the deviations in force in a configuration.

A *point* of the norm (`clauses.point`) is a function with departures. `beyond` adds results to those of the
norm, `instead` changes them, each where one of its rules is not enforced: waived, or not binding; with
``broken`` only where it is waived, with ``where`` only in some configurations. What is in force is put
together once for each configuration.

While it is `Consulted` what a history needs, no departure is in force: each one is tried, and its rules are
noted where it would have made a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from inspect import isgeneratorfunction, unwrap
from itertools import chain
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar

from . import mechanisms

Where = Callable[[Any], bool]
P = ParamSpec("P")
R = TypeVar("R")
Norm = Callable[..., Any]


class Departure(NamedTuple):
    """``change``: the result with it, of that of the norm and its arguments. ``where``: the configurations in
    which it may differ at all. ``function``: what is marked."""

    rules: tuple[str, ...]
    broken: bool
    change: Callable[..., Any]
    where: Where | None
    function: Callable[..., Any]


_registry: Final[dict[Norm, list[Departure]]] = {}
_wheres: Final[dict[Where, None]] = {}


def beyond(
    norm: Callable[P, R], *rules: str, broken: bool = False, where: Where | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function as giving further results of a point: more in a list or iterator, or true."""

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        more = _chained if isgeneratorfunction(unwrap(norm)) else _more
        _add(norm, Departure(rules, broken, partial(more, function), where, function))
        return function

    return mark


def instead(
    norm: Callable[P, R], *rules: str, broken: bool = False, where: Where | None = None
) -> Callable[[Callable[Concatenate[R, P], R]], Callable[Concatenate[R, P], R]]:
    """Mark a function as giving the result of a point, from that of the norm."""

    def mark(function: Callable[Concatenate[R, P], R]) -> Callable[Concatenate[R, P], R]:
        _add(norm, Departure(rules, broken, function, where, function))
        return function

    return mark


def _add(norm: Norm, departure: Departure) -> None:
    if departure.where is not None:
        _wheres[departure.where] = None
    _registry.setdefault(norm.__wrapped__, []).append(departure)  # type: ignore[attr-defined]  # of a point


def _more(function: Callable[..., Any], result: Any, *args: Any) -> Any:
    if isinstance(result, bool):
        return result or function(*args)
    return result | function(*args) if isinstance(result, frozenset) else result + function(*args)


def _chained(function: Callable[..., Any], result: Any, *args: Any) -> Any:
    return chain(result, function(*args))


class Consulted(frozenset[str]):
    """No waiver but what is ``spared``, and a memory of which rules would have made a difference, or were
    asked for. Not equal to any other, nor empty."""

    asked: dict[str, None]
    spared: frozenset[str]

    def __new__(cls, spared: frozenset[str]) -> Consulted:
        made = super().__new__(cls, ("nothing", *spared))
        made.asked, made.spared = {}, spared
        return made

    def __contains__(self, requirement: object) -> bool:
        if requirement in self.spared:
            return True
        self.asked[str(requirement)] = None
        return False

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def union(self, *others: Iterable[Any]) -> Consulted:
        """With these spared, too: a set with a memory of its own."""
        return Consulted(self.spared.union(*others))

    def note(self, rules: Iterable[str]) -> None:
        """Remember that these rules made a difference."""
        self.asked.update(dict.fromkeys(rules))


@cache
def load() -> None:
    """Fill the registry."""
    mechanisms.deviations()


def of(rule: str) -> list[Callable[..., Any]]:
    """The deviations of a rule, besides where its guards do not hold."""
    load()
    named = (one for departures in _registry.values() for one in departures if rule in one.rules)
    return [*dict.fromkeys(one.function for one in named)]


_in_force: Final[dict[tuple[str, frozenset[str], tuple[bool, ...]], Mapping[Norm, Norm]]] = {}


def in_force(cfg: Any) -> Mapping[Norm, Norm]:
    """The points with departures in this configuration (`configuration.Config`), and what to call instead."""
    load()
    if isinstance(cfg.waived, Consulted):
        return _put_together(cfg, cfg.waived.spared, cfg.waived)
    key = cfg.profile.name, cfg.waived, tuple(where(cfg) for where in _wheres)
    if key not in _in_force:
        _in_force[key] = _put_together(cfg, cfg.waived, None)
    return _in_force[key]


def _put_together(cfg: Any, waived: frozenset[str], consulted: Consulted | None) -> Mapping[Norm, Norm]:
    lifted = waived & cfg.waivable
    found: dict[Norm, Norm] = {}
    for norm, departures in _registry.items():
        changes = []
        for rules, broken, change, where, _ in departures:
            if where is not None and not where(cfg):
                continue
            if not lifted.isdisjoint(rules) or not (broken or cfg.binding.issuperset(rules)):
                changes.append(change)
            elif consulted is not None:
                changes.append(partial(_tried, consulted, rules, change))
        if len(changes) == 1:
            found[norm] = partial(_departed_once, norm, changes[0])
        elif changes:
            found[norm] = partial(_departed, norm, tuple(changes))
    return found


def _departed_once(norm: Norm, change: Callable[..., Any], *args: Any) -> Any:
    return change(norm(*args), *args)


def _departed(norm: Norm, changes: tuple[Callable[..., Any], ...], *args: Any) -> Any:
    result = norm(*args)
    for change in changes:
        result = change(result, *args)
    return result


def _tried(
    consulted: Consulted, rules: tuple[str, ...], change: Callable[..., Any], result: Any, *args: Any
) -> Any:
    """The result of the norm. The rules are noted if the change would have been one."""
    if consulted.asked.keys() >= {*rules}:
        return result
    if isinstance(result, Iterator):
        return _then_tried(consulted, rules, change, result, args)
    if change(result, *args) != result:
        consulted.note(rules)
    return result


def _then_tried(
    consulted: Consulted, rules: tuple[str, ...], change: Callable[..., Any], result: Iterator[Any], args: Any
) -> Iterator[Any]:
    yield from result
    if any(True for _ in change(iter(()), *args)):
        consulted.note(rules)
