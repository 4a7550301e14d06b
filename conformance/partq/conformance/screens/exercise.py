"""A row of `exercised`, here or in a mechanism: how to count that a history exercises a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from partq.conformance.facts.index import Facts


class Exercise(NamedTuple):
    """``count``: how often a history exercises the rule. ``needs``: see `Screen`. ``judged``: whether the
    judge alone decides it."""

    count: Callable[[Facts], int]
    needs: tuple[str, ...]
    judged: bool = False
