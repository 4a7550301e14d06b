"""SQL filters of rules (TOPIC-1): a part of what the vendor's page on the syntax of SQL filters allows.

A filter is parsed once. Nothing of it is run as code, and LIKE compares characters. What a filter says of a
message is a set of truth values, as the sources leave some points open (`docs/rules/topics.md`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache, lru_cache
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .messages import Message, message_id

if TYPE_CHECKING:
    from lark import Lark, Token

SQL: Final = "sql:"
"""What a rule begins with that is an SQL filter."""

LONGEST: Final = 1024
"""The most characters of a filter, and of an action: the vendor's quota."""

DEEPEST: Final = 32
"""The most filters within each other, but for parentheses that change nothing."""

FALSE, UNKNOWN, TRUE = range(3)
"""So that AND is the least of several truth values, and OR the greatest."""

Truths = frozenset[int]
Test = Callable[[Message], Truths]

ALL: Final[Truths] = frozenset({FALSE, UNKNOWN, TRUE})
_EITHER: Final[Truths] = frozenset({FALSE, TRUE})
_OF: Final[dict[bool, Truths]] = {False: frozenset({FALSE}), True: frozenset({TRUE})}

_GRAMMAR: Final = r"""
?start: both | both ("OR"i both)+ -> any_of
?both: single | single ("AND"i single)+ -> all_of
?single: "NOT"i single -> negated
    | operand COMPARES operand -> compared
    | property "IS"i NOT? "NULL"i -> is_null
    | operand NOT? "IN"i "(" constant ("," constant)* ")" -> listed
    | operand NOT? "LIKE"i TEXT ("ESCAPE"i TEXT)? -> like
    | "EXISTS"i "(" property ")" -> exists
    | "(" start ")"
?operand: property | constant
property: (NAME ".")? (NAME | BRACKETED)
?constant: TEXT | WHOLE | TRUTH
COMPARES: "=" | "<>" | "!=" | "<=" | ">=" | "<" | ">"
NOT: "NOT"i
TRUTH.1: /(TRUE|FALSE)\b/i
NAME: /[^\W\d_]\w*/
BRACKETED: /\[([^\]]|\]\])+\]/
TEXT: /'([^']|'')*'/
WHOLE: /[+-]?[0-9]+/
%ignore /\s+/
"""


class InvalidFilter(ValueError):
    """A filter that is none, or is beyond what is modelled."""


class _Missing(Enum):
    """What a property is that has no value."""

    ABSENT = "a user property that the message has not: unknown"
    NULL = "a system property without a value: unknown, or a value that equals no other"
    ANYTHING = "a system property that the client library may have set"


Value = str | int | _Missing
Operand = Callable[[Message], Iterable[Value]]
"""The values that an operand may have; one of the values of a message that has several under the name."""


class Filter(NamedTuple):
    """``test``: what it may say of a message. ``doubts``: why no source says what it means, or whether a
    broker takes it; empty: one does."""

    test: Test
    doubts: str


@lru_cache(maxsize=4096)
def parsed(rule: str) -> Filter:
    """The filter of a rule that begins with `SQL`. Raises `InvalidFilter`."""
    reader = _Reader()
    test = reader.read(tree_of(rule.removeprefix(SQL), _GRAMMAR, InvalidFilter), 0)
    return Filter(test, "; ".join(dict.fromkeys(reader.doubts)))


def tree_of(text: str, grammar: str, invalid: type[ValueError]) -> Any:
    """The parse tree of a filter, or of an action. Raises ``invalid``."""
    from lark import UnexpectedInput

    if len(text) > LONGEST:
        raise invalid(f"has {len(text)} characters, more than {LONGEST}")
    try:
        return _parser(grammar).parse(text)
    except UnexpectedInput as error:
        at = f"at character {error.column}" if error.column > 0 else "at its end"
        raise invalid(f"is not understood {at}: {text!r}") from None


@cache
def _parser(grammar: str) -> Lark:
    from lark import Lark

    return Lark(grammar, parser="lalr", lexer="basic")


class _Reader:
    """Makes a test of a parse tree. ``doubts``: what no source settles of it."""

    def __init__(self) -> None:
        self.doubts: list[str] = []

    def read(self, tree: Any, depth: int) -> Test:
        """The test. Raises `InvalidFilter`."""
        if depth > DEEPEST:
            raise InvalidFilter(f"has more than {DEEPEST} filters within each other")
        if tree.data in _JOINS:
            return _joined(_JOINS[tree.data], [self.read(child, depth + 1) for child in tree.children])
        if tree.data == "negated":
            return _negated(self.read(tree.children[-1], depth + 1))
        parts = [part for part in tree.children if getattr(part, "type", "") != "NOT"]
        test: Test = getattr(self, tree.data)(parts)
        return test if len(parts) == len(tree.children) else _negated(test)

    def compared(self, parts: Sequence[Any]) -> Test:
        (left, a), (right, b) = self._operand(parts[0]), self._operand(parts[2])
        sign = str(parts[1])
        if left != right:
            self.doubts.append(f"no source says how {left} compares with {right}")
        elif left != "a number" and sign not in _EQUALITY:
            self.doubts.append(f"no source says which of two comes first, each {left}")
        return lambda message: _union(_compared(sign, *pair) for pair in product(a(message), b(message)))

    def is_null(self, parts: Sequence[Any]) -> Test:
        own = self._operand(parts[0])[1]
        return lambda message: _union(map(_is_null, own(message)))

    def exists(self, parts: Sequence[Any]) -> Test:
        own = self._operand(parts[0])[1]
        return lambda message: _union(map(_exists, own(message)))

    def listed(self, parts: Sequence[Any]) -> Test:
        return _joined(max, [self.compared((parts[0], "=", other)) for other in parts[1:]])

    def like(self, parts: Sequence[Any]) -> Test:
        kind, own = self._operand(parts[0])
        if kind != "a text":
            self.doubts.append(f"no source says how {kind} is like a text")
        escape = text_of(parts[2]) if len(parts) > 2 else ""
        if len(parts) > 2 and len(escape) != 1:
            raise InvalidFilter(f"has another escape character than a single one: {escape!r}")
        pattern = self._pattern(text_of(parts[1]), escape)
        return lambda message: _union(_like(value, pattern) for value in own(message))

    def _pattern(self, text: str, escape: str) -> Pattern:
        found: list[str | None] = []
        characters = iter(text)
        for one in characters:
            if one == escape:
                one = next(characters, "")
                if one not in ("%", "_", escape):
                    self.doubts.append(f"no source says what the escape character means before {one!r}")
                found.append(one)
            else:
                found.append(_WILD.get(one, one))
        return tuple(found)

    def _operand(self, part: Any) -> tuple[str, Operand]:
        """Its kind, and its values."""
        if getattr(part, "data", None) == "property":
            return "a text", _property(part.children)
        value: Value = text_of(part)
        if part.type == "TEXT":
            return "a text", lambda message: (value,)
        if part.type == "TRUTH":
            truth = str(part).upper() == "TRUE"
            return "a truth value", lambda message: (truth,)
        number = int(part)
        if not -(2**63) <= number < 2**63:
            raise InvalidFilter(f"has a number of more than 64 bits: {number}")
        return "a number", lambda message: (number,)


_JOINS: Final[dict[str, Callable[..., int]]] = {"all_of": min, "any_of": max}


def _joined(pick: Callable[..., int], tests: Sequence[Test]) -> Test:
    """Those of all ways in which the tests may come out. A set that several share counts once: of the same
    set twice there is no least or greatest that is not of the one."""
    return lambda message: frozenset(map(pick, product(*{test(message) for test in tests})))


def _union(found: Iterable[Truths]) -> Truths:
    return frozenset[int]().union(*found)


def _negated(test: Test) -> Test:
    return lambda message: frozenset(TRUE - truth for truth in test(message))


def _property(names: Sequence[Token]) -> Operand:
    """The property of that name, whose case does not matter, of the scope before it, or of users."""
    scope, last = scoped(names)
    name = last.casefold()
    if scope == "user":
        return lambda message: _of_user(message, name)
    if scope != "sys":
        raise InvalidFilter(f"has a scope that is neither sys nor user: {scope}")
    if name not in _SYSTEM:
        raise InvalidFilter(f"has a system property that is not modelled: {last}")
    return _SYSTEM[name]


def scoped(names: Sequence[Token]) -> tuple[str, str]:
    """The scope of a property, and its name."""
    scope = str(names[0]).casefold() if len(names) > 1 else "user"
    last = str(names[-1])
    return scope, last[1:-1].replace("]]", "]") if names[-1].type == "BRACKETED" else last


def _of_user(message: Message, name: str) -> Iterable[Value]:
    """All the values of the name: of several that differ in case, no source says which one counts."""
    return [value for own, value in message.properties if own.casefold() == name] or (_Missing.ABSENT,)


def _partition_key(message: Message) -> Iterable[Value]:
    """Whether a session ID is the partition key, too, no source settles."""
    if message.partition_key is not None:
        return (message.partition_key,)
    return (_Missing.NULL,) if message.session_id is None else (_Missing.NULL, message.session_id)


_SYSTEM: Final[dict[str, Operand]] = {
    "messageid": lambda message: (_Missing.ANYTHING if message.without_id else message_id(message.id),),
    "sessionid": lambda message: (_Missing.NULL if message.session_id is None else message.session_id,),
    "partitionkey": _partition_key,
}


def text_of(token: str) -> str:
    """The text of a constant."""
    return token[1:-1].replace("''", "'")


_EQUALITY: Final = {"=": False, "<>": True, "!=": True}
"""Whether it asks for what is different."""

_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _compared(sign: str, left: Value, right: Value) -> Truths:
    if _Missing.ABSENT in (left, right):
        return frozenset({UNKNOWN})
    missing = [value for value in (left, right) if isinstance(value, _Missing)]
    if sign in _EQUALITY and missing == [_Missing.NULL]:
        return _OF[_EQUALITY[sign]] | {UNKNOWN}
    if missing or type(left) is not type(right) or (type(left) is not int and sign not in _EQUALITY):
        return ALL
    if sign not in _EQUALITY:
        return _OF[_ORDERS[sign](left, right)]
    same = _same(left, right) if isinstance(left, str) and isinstance(right, str) else _OF[left == right]
    return frozenset(TRUE - truth for truth in same) if _EQUALITY[sign] else same


def _same(left: str, right: str) -> Truths:
    """Whether they are equal. Whether case matters, spaces at the end, and how other characters than those
    of ASCII are written no source settles."""
    if left == right:
        return _OF[True]
    alike = left.casefold().rstrip() == right.casefold().rstrip() or not (left + right).isascii()
    return _EITHER if alike else _OF[False]


def _is_null(value: Value) -> Truths:
    return _EITHER if value is _Missing.ANYTHING else _OF[isinstance(value, _Missing)]


def _exists(value: Value) -> Truths:
    """Whether a system property without a value exists no source settles."""
    missing = isinstance(value, _Missing)
    return _EITHER if missing and value is not _Missing.ABSENT else _OF[not missing]


Pattern = Sequence[str | None]
"""Characters, and in the place of wildcards `_ONE` and `_MANY`."""

_ONE: Final = ""
_MANY: Final = None
_WILD: Final[dict[str, str | None]] = {"_": _ONE, "%": _MANY}


def _like(value: Value, pattern: Pattern) -> Truths:
    """Whether the text fits the pattern. The same is open as in `_same`, but for spaces."""
    if value is _Missing.ABSENT:
        return frozenset({UNKNOWN})
    if value is _Missing.NULL:
        return frozenset({FALSE, UNKNOWN})
    if not isinstance(value, str):
        return ALL
    if not value.isascii() or not "".join(filter(None, pattern)).isascii():
        return _EITHER
    if _fits(value, pattern):
        return _OF[True]
    loose = [one and one.casefold() for one in pattern]
    return _EITHER if _fits(value.casefold(), loose) else _OF[False]


def _fits(text: str, pattern: Pattern) -> bool:
    """Whether the whole text does: what is before the first `%`, behind the last, and between them, each as
    early as may be."""
    cuts = [n for n, one in enumerate(pattern) if one is _MANY]
    if not cuts:
        return len(text) == len(pattern) and _is_at(text, 0, pattern)
    first, last = pattern[: cuts[0]], pattern[cuts[-1] + 1 :]
    end = len(text) - len(last)
    if end < len(first) or not (_is_at(text, 0, first) and _is_at(text, end, last)):
        return False
    at = len(first)
    for begin, until in pairwise(cuts):
        part = pattern[begin + 1 : until]
        found = next((n for n in range(at, end - len(part) + 1) if _is_at(text, n, part)), None)
        if found is None:
            return False
        at = found + len(part)
    return True


def _is_at(text: str, start: int, part: Pattern) -> bool:
    """Whether the part, which has no `%`, is in the text there."""
    return all(one in (_ONE, text[start + n]) for n, one in enumerate(part))
