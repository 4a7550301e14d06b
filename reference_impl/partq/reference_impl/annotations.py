"""SQL actions of rules, after the vendor's page on their syntax: the part of it that this broker has. What
one changes is a copy's user properties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Final

from lark import Lark, Token, Tree
from lark.exceptions import LarkError

from .conditions import QUOTA, trees
from .errors import Refused
from .store import Content, Letter

NAMED: Final = "RuleName"
"""The user property that tells which rule made a copy."""

STATEMENTS: Final = 32
"""The most statements of one."""

GRAMMAR: Final = r"""
action: change (";" change)* ";"?
?change: SET name "=" TEXT -> setting
    | REMOVE name -> removal
name: (WORD ".")? (WORD | BRACKETS)
SET.9: /SET\b/i
REMOVE.9: /REMOVE\b/i
WORD: /[^\W\d_]\w*/
BRACKETS: /\[(?:[^\]]|\]\])+\]/
TEXT: /'(?:[^']|'')*'/
%ignore /\s+/
"""

Statement = tuple[str, str | None]
"""A user property, and what it is set to; None: it is removed."""


@cache
def parser() -> Lark:
    """The parser of actions."""
    return Lark(GRAMMAR, start="action", parser="lalr", lexer="basic")


@lru_cache(maxsize=1024)
def statements(text: str) -> Sequence[Statement]:
    """What an action says. Raises `LarkError`, and `LookupError` where it is about no user property."""
    return [*told(parser().parse(text))]


def told(action: Tree[Token]) -> Iterator[Statement]:
    """Each statement of a parsed action."""
    for change in trees(action):
        words = [part for part in change.children if isinstance(part, Token)]
        *scope, last = map(str, trees(change)[0].children)
        if scope and scope[0].lower() != "user":
            raise LookupError(scope[0])
        bare = last[1:-1].replace("]]", "]") if last.startswith("[") else last
        yield bare, None if change.data == "removal" else str(words[-1])[1:-1].replace("''", "'")


class Annotations:
    """What a rule's action makes of a message."""

    def check_action(self, text: str) -> None:
        """Raises `Refused` where an action is none."""
        if len(text) > QUOTA:
            raise Refused("quota", f"an action has {QUOTA} characters at the most")
        try:
            many = len(statements(text)) if text else 0
        except (LarkError, LookupError):
            raise Refused("invalid_operation", f"this is no action: {text}") from None
        if many > STATEMENTS:
            raise Refused("quota", f"an action has {STATEMENTS} statements at the most")

    def annotated(self, content: Content, rule: str, text: str) -> Content:
        """The copy of a message that a rule with an action makes."""
        copy = Letter.of(content)
        copy.properties = (*self.changed(content.properties, statements(text)), (NAMED, rule))
        return copy

    def changed(
        self, properties: tuple[tuple[str, str], ...], asked: Sequence[Statement]
    ) -> tuple[tuple[str, str], ...]:
        """The properties after what an action says, which finds them by their names in any case."""
        found = dict(properties)
        for name, value in asked:
            own = next((one for one in found if one.lower() == name.lower()), name)
            if value is None:
                found.pop(own, None)
            else:
                found[own] = value
        return tuple(found.items())
