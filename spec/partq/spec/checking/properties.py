"""The properties of the specification, as they are written: one for each requirement, named after it.

A requirement that also demands something eventually has a second one (`SCH_1_Eventually`).
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from partq.spec import MODULES

from .manifest import Check, Expected, Kind, Symbolic, read_manifest, read_symbolic

REQUIREMENTS: Final = "Requirements.tla"
CHECKED: Final = "*Checked.tla"
"""What is asked of a mechanism, in a module of its own."""

_NAME: Final = r"(?P<name>[A-Z]+_\d+)(?:_Eventually)?"
_PROPERTY: Final = re.compile(
    rf"(?P<comment>(?:^\\\*.*\n)+)(?P<formula>^{_NAME} ==(?:.*\n)(?:^(?:[ \t]+.*)?\n)*)", re.M
)


class Property(NamedTuple):
    """What the specification says of a requirement: the comment above it, the formula, and where it is, by
    the file's name and its line."""

    comment: str
    formula: str
    place: str

    @property
    def text(self) -> str:
        """Comment and formula, to be printed."""
        return f"{self.comment}\n\n{self.formula}"


@cache
def properties(modules: Path = MODULES) -> dict[str, Property]:
    """Every property, by the requirement's ID."""
    found: dict[str, Property] = {}
    for file in (modules / REQUIREMENTS, *sorted(modules.glob(CHECKED))):
        text = file.read_text(encoding="utf-8")
        for one in _PROPERTY.finditer(text):
            requirement, formula = one["name"].replace("_", "-"), one["formula"].rstrip()
            place = f"{file.name}:{text.count(chr(10), 0, one.start('formula')) + 1}"
            comment = "\n".join(part.removeprefix("\\*").strip() for part in one["comment"].splitlines())
            first = found.get(requirement)
            found[requirement] = (
                first._replace(formula=f"{first.formula}\n\n{comment}\n\n{formula}")
                if first
                else Property(comment, formula, place)
            )
    return found


def checks_of(requirement: str) -> tuple[list[Check], list[Check]]:
    """The checks under which the requirement's property holds, and those in which a wrong variant breaks it.

    Raises `InvalidManifest`.
    """
    name = requirement.replace("-", "_")
    every = read_manifest()
    holds = [one for one in every if one.expected is Expected.HOLDS and name in _checked(one)]
    return holds, [one for one in every if one.expected is Expected.VIOLATES and name in _names(one.breaks)]


def proofs_of(requirement: str) -> list[Symbolic]:
    """The proofs, by inductive invariants, that imply the requirement's property.

    Raises `InvalidManifest`.
    """
    name = requirement.replace("-", "_")
    proofs = [one for one in read_symbolic() if one.kind is Kind.PROOF and one.expected is Expected.HOLDS]
    return [one for one in proofs if name in _checked(one)]


def _checked(one: Check | Symbolic) -> set[str]:
    """The requirements whose properties are checked."""
    return _names(" ".join(one.configuration.properties))


def _names(text: str) -> set[str]:
    return {one["name"] for one in re.finditer(rf"\b{_NAME}\b", text)}
