"""A mechanism's part in explorations: an `Offer`, in its module `offer`. A scope that names the mechanism
among its operations includes the offer, and a chart is drawn of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from .actions import Action
from .messages import Message
from .state import State

Actions = Callable[[State, int], Iterator[Action]]


class Group(NamedTuple):
    """Actions with one footprint. ``actions``, asked with a node's parts, looks at nothing else either."""

    footprint: frozenset[str]
    actions: Actions


class Drawn(NamedTuple):
    """The scope of a chart: a profile, and the operations besides sends."""

    profile: str
    operations: tuple[str, ...]


class Bounds(Protocol):
    """The bounds of a scope, for an offer."""

    @property
    def partitions(self) -> int: ...
    @property
    def producer(self) -> str: ...
    @property
    def consumers(self) -> tuple[str, ...]: ...
    @property
    def transacts(self) -> bool: ...
    def footprint(self, *names: str, proc: str | None = None) -> frozenset[str]:
        """The parts of the state that an action reads or changes: these, and what the machine reads of the
        client."""


class Offer(NamedTuple):
    """``groups``: further actions. ``drawn``: of what its chart is drawn. ``settlements``: further operations
    by which a holder may settle. ``sends``: as what a message may be sent besides."""

    groups: Callable[[Bounds], Iterator[Group]]
    drawn: Drawn
    settlements: tuple[str, ...] = ()
    sends: Callable[[Message], Message] | None = None
