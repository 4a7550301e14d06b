"""The specification's actions, each instance with a label, so that TLC's graphs can be compared.

TLC labels an edge with the operator that made it, without arguments. So a module is generated that spells out
`Next`, one operator for each instance of each action; its own text is the only list of them. What a label is
called may depend on the state that an action is taken in (which of two locks is the current one).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

from partq.spec import MODULES

from .configuration import NEXT

Domains = Mapping[str, Sequence[Any]]
"""The elements of each constant set that actions range over, by its name."""


STEPS: Final = (
    *(NEXT, "DeadLettersNext", "DeferralNext", "ExpiryNext", "SchedulingNext", "DuplicatesNext"),
    "SessionsNext",
)
"""The next-state operators: that of the queue, and of each mechanism with a module of its own."""


WITNESSED: Final = "WitnessedNext"
"""The next-state operator of `witnessed`."""


class UnknownForm(ValueError):
    """`Next` has a disjunct that is no action over constant sets."""


class Action(NamedTuple):
    """One disjunct of `Next`: an operator and, of each parameter, the constant set that it ranges over."""

    name: str
    sets: tuple[str, ...]


class Instance(NamedTuple):
    """An action with its arguments, and the operator of the generated module that stands for it."""

    operator: str
    name: str
    arguments: tuple[Any, ...]


_DISJUNCT: Final = re.compile(r"\\/ (?:\\E (?P<bound>[^:]+) : )?(?P<name>\w+)(?:\((?P<given>[\w, ]+)\))?$")


def actions(modules: Path = MODULES, steps: str = NEXT) -> list[Action]:
    """The actions of `Next`, or of a mechanism's, which adds its own to another's. Raises `UnknownForm`."""
    text = (modules / f"{module_of(steps)}.tla").read_text(encoding="utf-8")
    written = re.search(rf"^{steps} ==\n((?:    .*\n)+)", text, re.M)
    if written is None:
        raise UnknownForm(f"{module_of(steps)} has no {steps} of disjuncts")
    found = [_action(line.strip()) for line in written[1].splitlines()]
    return [
        each for one in found for each in (actions(modules, one.name) if one.name.endswith(NEXT) else [one])
    ]


def module_of(steps: str) -> str:
    """The module in which these steps are defined."""
    return steps.removesuffix(NEXT) or "PartitionedQueue"


def _action(line: str) -> Action:
    found = _DISJUNCT.match(line)
    if found is None:
        raise UnknownForm(f"no action over constant sets: {line}")
    bound = [part.split(r" \in ") for part in (found["bound"] or "").split(", ") if part]
    given = [name for name in (found["given"] or "").split(", ") if name]
    if [name for name, _ in bound] != given:
        raise UnknownForm(f"arguments that are not just what is bound: {line}")
    return Action(found["name"], tuple(of for _, of in bound))


def instances(found: Iterable[Action], domains: Domains) -> list[Instance]:
    """Every action with every choice of arguments."""
    return [
        Instance("_".join(["Do", action.name, *map(_word, arguments)]), action.name, arguments)
        for action in found
        for arguments in product(*(domains[name] for name in action.sets))
    ]


def witnessed(root: str, steps: str) -> str:
    """A module that extends ``root`` with `WITNESSED`: these steps, where each action is printed, as
    ``<<"taken", "NAME">>``, when it is first taken."""
    every = [*enumerate(actions(steps=steps))]
    seen = r'IsTaken(n, name) == TLCGet(n) \/ (TLCSet(n, TRUE) /\ PrintT(<<"taken", name>>))'
    none = rf"ASSUME \A n \in 0 .. {len(every)} : TLCSet(n, FALSE)"
    nexts = [rf'    \/ ({_disjunct(one)}) /\ IsTaken({n}, "{one.name}")' for n, one in every]
    return extended("Witnessed", "\n".join([seen, none, f"{WITNESSED} ==", *nexts]), root)


def _disjunct(action: Action) -> str:
    """The action as it stands in its `Next`."""
    given = [f"x{n}" for n in range(len(action.sets))]
    bound = ", ".join(rf"{name} \in {of}" for name, of in zip(given, action.sets, strict=True))
    return rf"\E {bound} : {action.name}({', '.join(given)})" if given else action.name


def labelled(name: str, body: str, every: Iterable[Instance], steps: str = NEXT) -> str:
    """A module that extends the specification with ``body`` and has one operator for each instance. The
    leading conjunct keeps TLC from descending to the action's own name."""
    every = [*every]
    operators = [f"{one.operator} == TRUE /\\ {_call(one)}" for one in every]
    nexts = [f"    \\/ {one.operator}" for one in every]
    return extended(name, "\n".join([body, *operators, "LabelledNext ==", *nexts]), steps)


def extended(name: str, body: str, steps: str = NEXT) -> str:
    """A module that extends that of these steps, or the one called so, with ``body``."""
    return "\n".join([f"---- MODULE {name} ----", f"EXTENDS {module_of(steps)}, TLC", body, "====", ""])


def _call(one: Instance) -> str:
    return f"{one.name}({', '.join(map(text_of, one.arguments))})" if one.arguments else one.name


def text_of(value: Any) -> str:
    """A value as TLA+ text. Functions are dicts."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        return "(" + " @@ ".join(f"{text_of(k)} :> {text_of(v)}" for k, v in value.items()) + ")"
    if isinstance(value, frozenset | set):
        return "{" + ", ".join(sorted(map(text_of, value))) + "}"
    return str(value)


def _word(value: Any) -> str:
    """A value as a part of an operator's name."""
    return "and".join(sorted(map(str, value))) if isinstance(value, frozenset) else str(value)
