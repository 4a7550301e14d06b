"""SQL actions of rules (TOPIC-1): a part of what the vendor's page on their syntax allows.

An action is parsed once, and changes user properties alone: nothing of it is run as code. What it may be,
and what no source says of it, is in `docs/rules/topics.md`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from ..filters import scoped, text_of, tree_of

Properties = tuple[tuple[str, str], ...]

MOST: Final = 32
"""The most statements of an action: the vendor's quota."""

_GRAMMAR: Final = r"""
start: statement (";" statement)* ";"?
statement: "SET"i property "=" TEXT | "REMOVE"i property
property: (NAME ".")? (NAME | BRACKETED)
NAME: /[^\W\d_]\w*/
BRACKETED: /\[([^\]]|\]\])+\]/
TEXT: /'([^']|'')*'/
%ignore /\s+/
"""


class InvalidAction(ValueError):
    """An action that is none, or is beyond what is modelled."""


class Unsettled(ValueError):
    """No source says what an action makes of a message."""


class Change(NamedTuple):
    """``steps``: the user properties and their new values; None: it is removed."""

    steps: tuple[tuple[str, str | None], ...]

    def made_of(self, properties: Properties) -> Properties:
        """The properties of the copy. Raises `Unsettled` where a name differs in case alone."""
        found, steps = dict(properties), dict(self.steps)
        names = {name.casefold(): name for name in steps}
        if any(names.get(own.casefold(), own) != own for own in found):
            raise Unsettled("no source says what an action makes of a property whose name differs in case")
        changed = {name: value for name, value in {**found, **steps}.items() if value is not None}
        return tuple(changed.items())


@lru_cache(maxsize=4096)
def parsed(text: str) -> Change:
    """The change that an action asks for. Raises `InvalidAction`, `Unsettled`."""
    tree = tree_of(text, _GRAMMAR, InvalidAction)
    steps = tuple(_step(*statement.children) for statement in tree.children)
    if len(steps) > MOST:
        raise InvalidAction(f"has {len(steps)} statements, more than {MOST}")
    if len({name.casefold() for name, _ in steps}) < len(steps):
        raise Unsettled("no source says what an action does that names a property twice")
    return Change(steps)


def _step(property: Any, value: Any = None) -> tuple[str, str | None]:
    scope, name = scoped(property.children)
    if scope != "user":
        raise InvalidAction(f"changes what is no user property: {scope}.{name}")
    return name, None if value is None else text_of(value)
