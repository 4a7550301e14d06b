"""Deferring, and receiving by number, in explorations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from ..actions import Action
from ..offers import Bounds, Drawn, Group, Offer
from ..state import State


def _groups(scope: Bounds) -> Iterator[Group]:
    txns = ["txns"] if scope.transacts else []
    for c in scope.consumers:
        for p in range(scope.partitions):
            yield Group(scope.footprint(f"part {p}", *txns, proc=c), partial(_by_number, c, p))


def _by_number(c: str, p: int, state: State, sent: int) -> Iterator[Action]:
    for entry in state.parts[p].log:
        yield Action("receive_deferred", c, about=(entry.id,), only=p)


OFFER: Final = Offer(
    _groups, Drawn("azure-flat", ("receive", "complete", "abandon", "deferral")), settlements=("defer",)
)
