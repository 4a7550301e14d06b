"""Root modules for Apalache, made of the configurations that TLC is given.

A root extends `MC` and gives what a `configuration` gives TLC: constants, wrong variants, and the properties
without the temporal operators around them, for Apalache takes a predicate of a state or of a step. Constants
are given as Apalache's overrides (``OVERRIDE_Name == …``), not by ``--cinit``: so they are folded before
anything reaches the solver, and a range such as ``1 .. MessageCount`` is one of constant bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from partq.spec import MODULES

from .configuration import Configuration, InvalidConfiguration

ROOT: Final = "Root"
"""The name of every root module."""

INVARIANT: Final = "Ind"
"""All invariants of a configuration together, in a root."""

BEGINNING: Final = "AnyInd"
"""The same as an initial predicate: `SHAPE`, which must be the first of them, assigns each variable."""

SHAPE: Final = ("Shape", "AnyShape")
"""The invariant that says what values the variables have, and its form that assigns them."""


_ANNOTATED: Final = re.compile(r"\\\* @type: (?P<type>.*);\n\s*(?P<name>\w+),?$", re.M)
_TEMPORAL: Final = re.compile(r"(?P<column>\s*)\[\](?:\[(?P<step>.*)\]_ghostVars|\((?P<state>.*)\))", re.S)
_WORDS: Final = {"Profile": "Promises", "Alphabet": "Offers", "Freedoms": "May"}
"""The sets of words among the constants, and the operator that asks whether a word is in it."""


def root(configuration: Configuration, modules: Path = MODULES, extends: str = "MC") -> str:
    """The text of the root module of a configuration. Raises `InvalidConfiguration`."""
    lines = [f"---- MODULE {ROOT} ----", f"EXTENDS {extends}", *constants(configuration.values, modules)]
    for operator, variant in configuration.variants.items():
        parameters = _definition(variant, modules)[0]
        lines.append(f"OVERRIDE_{operator}{parameters} == {variant}{parameters}")
    lines += [_bare(name, modules) for name in configuration.properties]
    lines += _invariants(configuration.invariants)
    return "\n".join([*lines, "====", ""])


def bare(name: str) -> str:
    """What a root calls a property without its temporal operators."""
    return f"Bare_{name}"


def of_steps(name: str, modules: Path = MODULES) -> bool:
    """Whether a property speaks of steps, and not of states. Raises `InvalidConfiguration`."""
    found = _TEMPORAL.fullmatch(_definition(name, modules)[1])
    return found is not None and found["step"] is not None


def constants(values: Mapping[str, str], modules: Path = MODULES) -> Iterator[str]:
    """The lines of a root that give constants their values. Raises `InvalidConfiguration`."""
    types = {one["name"]: one["type"] for one in _ANNOTATED.finditer(_text(modules))}
    for name, value in values.items():
        if name not in types:
            raise InvalidConfiguration(f"no constant {name} in the modules")
        yield f"\\* @type: {types[name]};"
        yield f"OVERRIDE_{name} == {value}"
        if name in _WORDS:
            same = " \\/ ".join(f"word = {word}" for word in re.findall(r'"[^"]*"', value))
            yield f"OVERRIDE_{_WORDS[name]}(word) == {same or 'FALSE'}"


def _invariants(names: tuple[str, ...]) -> Iterator[str]:
    if names:
        yield f"{INVARIANT} == " + " /\\ ".join(names)
    if names[:1] == SHAPE[:1]:
        yield f"{BEGINNING} == " + " /\\ ".join((SHAPE[1], *names[1:]))


def _bare(name: str, modules: Path) -> str:
    """A property without its temporal operators, its columns as they were (bullets are aligned by them)."""
    found = _TEMPORAL.fullmatch(_definition(name, modules)[1])
    if found is None:
        raise InvalidConfiguration(f"{name} is no property of all states or of all steps")
    return f"{bare(name)} ==\n{found['column']}  ({found['step'] or found['state']})"


def _definition(name: str, modules: Path) -> tuple[str, str]:
    """The parameters of an operator, in their parentheses, and what it is defined as, in its columns."""
    found = re.search(rf"^({name}(\([^)]*\))? +==)(.*\n(?:[ \t]+.*\n|\n)*)", _text(modules), re.M)
    if found is None:
        raise InvalidConfiguration(f"no operator {name} in the modules")
    return found[2] or "", " " * len(found[1]) + found[3].rstrip()


@cache
def _text(modules: Path) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted(modules.glob("*.tla")))
