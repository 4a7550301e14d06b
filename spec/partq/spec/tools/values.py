"""Values as TLC prints them, read into Python.

Numbers are int, strings and model values str, TRUE and FALSE bool, sets frozenset, sequences tuple. Records
and functions are `Function`: a dict that can be hashed, so that sets may hold them. Nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final


class InvalidValue(ValueError):
    """The text is no value that TLC prints."""


class Function(dict[Any, Any]):
    """A record or a function. Equal ones hash alike; it must not be changed."""

    def __hash__(self) -> int:  # type: ignore[override]  # a dict that is never changed
        return hash(frozenset(self.items()))


_TOKEN: Final = re.compile(
    r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>-?\d+)|(?P<name>\w+)'
    r"|(?P<sign>\|->|:>|@@|<<|>>|\.\.|[\[\]{}(),]))"
)


def read_value(text: str) -> Any:
    """The value that the text is. Raises `InvalidValue`."""
    tokens = _Tokens(text)
    value = tokens.value()
    if tokens.kind:
        raise InvalidValue(f"more than a value: {text!r}")
    return value


def read_state(text: str) -> Function:
    """A state, ``/\\ variable = value`` for each variable, as a record. Raises `InvalidValue`."""
    conjuncts = re.split(r"(?:^|\n)/\\ ", text)[1:] if text.lstrip().startswith("/\\") else [text]
    found = {}
    for conjunct in conjuncts:
        name, sign, value = conjunct.partition(" = ")
        if not sign:
            raise InvalidValue(f"no variable: {conjunct!r}")
        found[name.strip()] = _known(value)
    return Function(found)


@lru_cache(100_000)
def _known(text: str) -> Any:
    """`read_value`; in a graph most variables have few values."""
    return read_value(text)


class _Tokens:
    """The tokens of a text, with the next one in ``kind`` and ``text`` (no kind: the end)."""

    def __init__(self, text: str) -> None:
        self._tokens = self._split(text)
        self.kind, self.text = "", ""
        self._next()

    @staticmethod
    def _split(text: str) -> Iterator[tuple[str, str]]:
        at, end = 0, len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                raise InvalidValue(f"no value at {text[at : at + 20]!r}")
            yield str(found.lastgroup), found[found.lastgroup or 0]
            at = found.end()

    def _next(self) -> str:
        before = self.text
        self.kind, self.text = next(self._tokens, ("", ""))
        return before

    def _expect(self, sign: str) -> None:
        if (self.kind, self.text) != ("sign", sign):
            raise InvalidValue(f"{sign!r} expected, not {self.text!r}")
        self._next()

    def _until(self, sign: str) -> Iterator[None]:
        """Once for each item of a list that ends with that sign."""
        if self.text == sign and self.kind == "sign":
            self._next()
            return
        while True:
            yield
            if self.kind == "sign" and self.text == ",":
                self._next()
                continue
            self._expect(sign)
            return

    def value(self) -> Any:
        """The value that begins here."""
        kind, text = self.kind, self._next()
        if kind == "string":
            return re.sub(r"\\(.)", r"\1", text[1:-1])
        if kind == "number":
            return self._from(int(text))
        if kind == "name":
            return {"TRUE": True, "FALSE": False}.get(text, text)
        if text == "{":
            return frozenset([self.value() for _ in self._until("}")])
        if text == "<<":
            return tuple([self.value() for _ in self._until(">>")])
        if text == "[":
            return Function([self._field() for _ in self._until("]")])
        if text == "(":
            return self._function()
        raise InvalidValue(f"no value begins with {text!r}")

    def _from(self, first: int) -> Any:
        """A number, or the set that TLC writes ``1..3``."""
        if self.text != ".." or self.kind != "sign":
            return first
        self._next()
        last = self._next()
        if not last.lstrip("-").isdigit():
            raise InvalidValue(f"no number ends the range: {last!r}")
        return frozenset(range(first, int(last) + 1))

    def _field(self) -> tuple[str, Any]:
        name = self._next()
        self._expect("|->")
        return name, self.value()

    def _function(self) -> Function:
        found = {}
        while True:
            argument = self.value()
            self._expect(":>")
            found[argument] = self.value()
            if self.text != "@@":
                self._expect(")")
                return Function(found)
            self._next()
