"""SQL actions of rules (TOPIC-1): a part of what the vendor's page on their syntax allows.

An action is parsed once, and changes user properties alone: nothing of it is run as code. What it may be,
and what no source says of it, is in `docs/rules/topics.md`.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..filters import LONGEST

if TYPE_CHECKING:
    from lark import Lark, Token

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
    from lark import UnexpectedInput

    if len(text) > LONGEST:
        raise InvalidAction(f"has {len(text)} characters, more than {LONGEST}")
    try:
        tree: Any = _parser().parse(text)
    except UnexpectedInput as error:
        at = f"at character {error.column}" if error.column > 0 else "at its end"
        raise InvalidAction(f"is not understood {at}: {text!r}") from None
    steps = tuple(_step(*statement.children) for statement in tree.children)
    if len(steps) > MOST:
        raise InvalidAction(f"has {len(steps)} statements, more than {MOST}")
    if len({name.casefold() for name, _ in steps}) < len(steps):
        raise Unsettled("no source says what an action does that names a property twice")
    return Change(steps)


@cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", lexer="basic")


def _step(property: Any, value: Token | None = None) -> tuple[str, str | None]:
    *scope, last = property.children
    if scope and scope[0].casefold() != "user":
        raise InvalidAction(f"changes what is no user property: {scope[0]}.{last}")
    name = last[1:-1].replace("]]", "]") if last.type == "BRACKETED" else str(last)
    return name, None if value is None else value[1:-1].replace("''", "'")
