"""SQL filters of subscriptions, after the vendor's page on their syntax: the part of it that this broker has.

Truth has three values: None is unknown, as every comparison with a property that a message has not.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from typing import Any, Final

from lark import Lark, Token, Tree
from lark.exceptions import LarkError

from .errors import Refused
from .freedoms import taken
from .store import Content, id_of

MARK: Final = "sql:"
"""What such a filter begins with."""

QUOTA: Final = 1024
"""The most characters of one, and of an action."""

NESTED: Final = 50
"""The most conditions inside of one another."""

KEYWORDS: Final = ("OR", "AND", "NOT", "IS", "NULL", "IN", "LIKE", "ESCAPE", "EXISTS", "TRUE", "FALSE")

GRAMMAR: Final = r"""
?condition: inner | inner (OUTER inner)+ -> joined
?inner: factor | factor (INNER factor)+ -> joined
?factor: NOT factor -> negation
    | "(" condition ")"
    | value SIGN value -> comparison
    | name IS NOT? NULL -> absence
    | value NOT? IN "(" value ("," value)* ")" -> membership
    | value NOT? LIKE text (ESCAPE text)? -> likeness
    | EXISTS "(" name ")" -> presence
?value: name | text | NUMBER -> number | (TRUE | FALSE) -> boolean
name: (WORD ".")? (WORD | BRACKETS)
text: TEXT
SIGN: /<>|!=|<=|>=|=|<|>/
WORD: /[^\W\d_]\w*/
BRACKETS: /\[(?:[^\]]|\]\])+\]/
TEXT: /'(?:[^']|'')*'/
NUMBER: /[-+]?\d+/
%ignore /\s+/
""" + "\n".join(rf"{word}.9: /{word}\b/i" for word in KEYWORDS)

Truth = bool | None

SIGNS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

SYSTEM: Final[Mapping[str, Callable[[Content], str | None]]] = {
    "messageid": id_of,
    "sessionid": lambda content: content.session_id,
    "partitionkey": lambda content: content.partition_key,
}


@cache
def parser(outer: str, inner: str) -> Lark:
    """The parser, of conditions in which ``inner`` binds more tightly than ``outer``."""
    grammar = GRAMMAR.replace("OUTER", outer).replace("INNER", inner)
    return Lark(grammar, start="condition", parser="lalr", lexer="basic")


@lru_cache(maxsize=4096)
def parsed(text: str, outer: str, inner: str) -> Tree[Token]:
    """The parsed filter. Raises `LarkError`."""
    return parser(outer, inner).parse(text)


class Conditions:
    """Whether a message is what a filter asks for. ``LEVELS``: AND and OR, the one that binds first last."""

    LEVELS: tuple[str, str] = ("OR", "AND")

    queues: Mapping[str, Any]

    def check(self, rule: str) -> None:
        """Raises `Refused` where a filter is none."""
        if rule.startswith(MARK):
            self.look_over(self.understood(rule.removeprefix(MARK)), NESTED)

    def holds(self, rule: str, content: Content) -> bool:
        """Whether the filter, which was checked, matches the message: what is unknown does not."""
        return self.truth(self.understood(rule.removeprefix(MARK)), content) is True

    def understood(self, text: str) -> Tree[Token]:
        """The parsed filter. Raises `Refused`."""
        if len(text) > QUOTA:
            raise Refused("quota", f"a filter has {QUOTA} characters at the most")
        try:
            return parsed(text, *self.LEVELS)
        except LarkError:
            raise Refused("invalid_operation", f"this is no filter: {text}") from None

    def look_over(self, part: Any, left: int) -> None:
        """Raises `Refused` where a filter asks for what no message has, or is nested too deeply."""
        if not left:
            raise Refused("invalid_operation", "the filter is nested too deeply")
        if isinstance(part, Tree):
            scope, name = named(part) if part.data == "name" else ("user", "")
            if scope != "user" and (scope != "sys" or name not in SYSTEM):
                raise Refused("invalid_operation", f"messages have no {scope}.{name}")
            if part.data == "likeness" and len(trees(part)) > 2 and len(self.pattern(part)[1]) != 1:
                raise Refused("invalid_operation", "one character escapes others")
            for child in part.children:
                self.look_over(child, left - 1)

    def truth(self, part: Tree[Token], content: Content) -> Truth:
        """Whether that part of a filter holds of the message."""
        if part.data in ("joined", "negation"):
            return self.compound(part, [self.truth(one, content) for one in trees(part)])
        if part.data in ("absence", "presence"):
            there = self.operand(trees(part)[0], content) is not None
            return there if (part.data == "presence") is not denied(part) else not there
        found = self.simple(part, [self.operand(one, content) for one in trees(part)])
        return self.negation(found) if denied(part) else found

    def compound(self, part: Tree[Token], truths: Sequence[Truth]) -> Truth:
        """What several truths, or the negation of one, come to."""
        if part.data == "negation":
            return self.negation(truths[0])
        decisive = part.children[1].type == "OR"  # type: ignore[union-attr]  # a token
        return decisive if decisive in truths else None if None in truths else not decisive

    def negation(self, truth: Truth) -> Truth:
        """What is unknown remains so."""
        return None if truth is None else not truth

    def simple(self, part: Tree[Token], operands: Sequence[Any]) -> Truth:
        """What a comparison comes to."""
        own, *others = operands
        if part.data == "comparison":
            return self.compared(str(part.children[1]), own, others[0])
        if own is None:
            return None
        if part.data == "membership":
            return self.among(own, others)
        return isinstance(own, str) and self.alike(own, *self.pattern(part))

    def compared(self, sign: str, left: Any, right: Any) -> Truth:
        """Whether the sign holds between two values."""
        if left is None or right is None:
            return None
        if type(left) is not type(right):
            return sign in ("<>", "!=")
        return bool(SIGNS[sign](self.folded(left), self.folded(right)))

    def among(self, own: Any, others: Sequence[Any]) -> Truth:
        """Whether it is one of the others."""
        found = [self.compared("=", own, other) for other in others]
        return True if True in found else None if None in found else False

    def alike(self, own: str, pattern: str, escape: str) -> bool:
        """Whether the whole text is as the pattern says: the shortest way first, and back to the last `%`."""
        own, wanted = self.folded(own), self.wildcards(pattern, escape)
        at = place = 0
        back: tuple[int, int] | None = None
        while at < len(own):
            one, wild = wanted[place] if place < len(wanted) else ("", False)
            if wild and one == "%":
                back, place = (at, place + 1), place + 1
            elif one and (own[at] == self.folded(one) or (wild and one == "_")):
                at, place = at + 1, place + 1
            elif back is None:
                return False
            else:
                back = (back[0] + 1, back[1])
                at, place = back
        return all(rest == ("%", True) for rest in wanted[place:])

    def wildcards(self, pattern: str, escape: str) -> Sequence[tuple[str, bool]]:
        """The pattern's characters, each with whether it stands for others."""
        found: list[tuple[str, bool]] = []
        characters = iter(pattern)
        for one in characters:
            escaped = one == escape
            found.append((next(characters, one) if escaped else one, one in "%_" and not escaped))
        return found

    def pattern(self, part: Tree[Token]) -> tuple[str, str]:
        """The pattern of a LIKE, and what escapes a wildcard in it."""
        pattern, escape = ([text_of(one) for one in trees(part)[1:]] + [""])[:2]
        return pattern, escape

    def operand(self, part: Tree[Token], content: Content) -> Any:
        """The value; None: the message has none."""
        if part.data == "name":
            return self.property(*named(part), content)
        word = str(part.children[0])
        if part.data == "text":
            return text_of(part)
        return int(word) if part.data == "number" else word.upper() == "TRUE"

    def property(self, scope: str, name: str, content: Content) -> str | None:
        """The message's property of that name."""
        if scope == "sys":
            return SYSTEM[name](content)
        return {own.lower(): value for own, value in content.properties}.get(name)

    def folded(self, value: Any) -> Any:
        """The value as it is compared."""
        return value.lower() if self.lax and isinstance(value, str) else value

    @cached_property
    def lax(self) -> bool:
        """Whether texts are compared without their case."""
        queue = next(iter(self.queues.values()))
        return taken(queue.free.ignore_case, queue.clock.random)


def trees(part: Tree[Token]) -> list[Tree[Token]]:
    """Its parts, without the keywords between them."""
    return [child for child in part.children if isinstance(child, Tree)]


def denied(part: Tree[Token]) -> bool:
    """Whether there is a NOT within it."""
    return any(isinstance(child, Token) and child.type == "NOT" for child in part.children)


def named(part: Tree[Token]) -> tuple[str, str]:
    """Scope and name of a property, in small letters."""
    *scope, name = (str(child).lower() for child in part.children)
    bare = name[1:-1].replace("]]", "]") if name.startswith("[") else name
    return (scope or ["user"])[0], bare


def text_of(part: Tree[Token]) -> str:
    """A constant text."""
    return str(part.children[0])[1:-1].replace("''", "'")
