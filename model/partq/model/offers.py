"""What a mechanism adds to explorations: an `Offer`, in its module `offer`. A scope that has the mechanism's
name among its operations has what is offered, and a chart is drawn of it."""

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
    """What a chart is drawn of: a profile, and the operations of a scope besides sends."""

    profile: str
    operations: tuple[str, ...]


class Bounds(Protocol):
    """What an offer may know of a scope."""

    @property
    def partitions(self) -> int: ...
    @property
    def producer(self) -> str: ...
    @property
    def consumers(self) -> tuple[str, ...]: ...
    def footprint(self, *names: str, proc: str | None = None) -> frozenset[str]:
        """What an action looks at, or changes: these, and what the machine looks at of the client."""


class Offer(NamedTuple):
    """``groups``: further actions. ``drawn``: of what its chart is drawn. ``settlements``: further operations
    by which a holder may settle. ``sends``: as what a message may be sent besides."""

    groups: Callable[[Bounds], Iterator[Group]]
    drawn: Drawn
    settlements: tuple[str, ...] = ()
    sends: Callable[[Message], Message] | None = None
