"""What TLC is given beside a module: constants, wrong variants, what is checked; the text of a ``.cfg``.

Which configurations there are is `checking.manifest`'s business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from partq.spec.tools.errors import SpecError

NEXT: Final = "Next"
"""The steps of the specification without what modules of their own add to it."""


class InvalidConfiguration(SpecError, ValueError):
    """A configuration, or what it names in the modules, is not understood; the message says where."""


class Configuration(NamedTuple):
    """``values`` of constants, ``variants`` (what is put in the place of which operator), the names of
    ``invariants`` and ``properties``, ``steps``: the operator that says which steps there are, or the
    specification that has fairness as well; ``init``: where they begin. ``view``: whether states that differ
    only in the last answer are one; never where it is `fair`, for TLC follows whole states there.
    ``symmetric``: whether states that differ only in which client is which are one."""

    values: dict[str, str]
    variants: dict[str, str]
    invariants: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    steps: str = NEXT
    init: str = "Init"
    view: bool = True
    symmetric: bool = False

    @property
    def fair(self) -> bool:
        """Whether it asks what happens in the end."""
        return self.steps.endswith("Spec")


def text(configuration: Configuration) -> str:
    """The ``.cfg``."""
    return "\n".join([*_lines(configuration), ""])


def _lines(one: Configuration) -> Iterator[str]:
    yield from [f"SPECIFICATION {one.steps}"] if one.fair else [f"INIT {one.init}", f"NEXT {one.steps}"]
    if one.view and not one.fair:
        yield "VIEW View"
    yield "CHECK_DEADLOCK FALSE"
    if one.symmetric:
        yield "SYMMETRY Interchangeable"
    clients = {"Clients": one.values["Clients"].replace('"', "")} if one.symmetric else {}  # model values
    values = (f"{name} = {value}" for name, value in (one.values | clients).items())
    variants = (f"{name} <- {operator}" for name, operator in one.variants.items())
    yield from _section("CONSTANTS", [*values, *variants])
    yield from _section("INVARIANT", one.invariants)
    yield from _section("PROPERTIES", one.properties)


def _section(heading: str, lines: Iterable[str]) -> list[str]:
    within = [f"    {line}" for line in lines]
    return ["", heading, *within] if within else []
