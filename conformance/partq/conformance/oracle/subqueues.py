"""How a queue that is an entity of its own beside another one is read together with it: what moves between
the two ties them, and the judge is asked about both at once. What moves its mechanism's `reading` says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from partq.conformance.history import Record
from partq.conformance.of_mechanisms import given
from partq.conformance.oracle.effects import Effect
from partq.model.profiles import Profile


class Subqueue(NamedTuple):
    """``read``: the rules that, waived, have its moves read otherwise; ``changed_by``: those of them that
    make a difference to these records. ``told_apart``: the records of both, with names of births, and whether
    the one of that name is asked; raises `Ambiguous`. ``wrong``: what it cannot show: the rule, the record,
    and why. ``moves``: the broker's moves by which what it shows came there, with rules waived."""

    read: frozenset[str]
    changed_by: Callable[[Sequence[Record]], frozenset[str]]
    told_apart: Callable[[Profile, Sequence[Record], str], tuple[Record, ...]]
    wrong: Callable[[Sequence[Record], frozenset[str]], tuple[str, int, str] | None]
    moves: Callable[[Sequence[Record], frozenset[str]], Iterator[Effect]]


@cache
def subqueue() -> Subqueue:
    """The one kind that a queue may have."""
    (only,) = given("reading", "SUBQUEUE").values()
    assert isinstance(only, Subqueue)
    return only
