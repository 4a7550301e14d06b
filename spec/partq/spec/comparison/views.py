"""The common form to which states of the specification and of the model are mapped.

A form says of each message where it is, of each key its partition, of each client its place in peeking, which
partitions are down, the open transaction and the flows. What it leaves out (how a side names its locks, which
partitions were ever used) must make no difference; `equivalence.same_graphs` checks that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from partq.model.state import State
from partq.model.statuses import STATUSES
from partq.spec.tools.values import Function

from .model_side import Place

GONE: Final = ("gone",)
UNSENT: Final = ("unsent",)


class Form(NamedTuple):
    """The common form. ``messages``: of each, by number, `UNSENT`, `GONE` or partition, number, status,
    holder and count. ``homes``: keys and their partitions. ``cursors``: of each client and partition the
    next number that it peeks from. ``down``: partitions."""

    messages: tuple[tuple[Any, ...], ...]
    homes: frozenset[tuple[str, int]]
    cursors: frozenset[tuple[str, int, int]]
    down: frozenset[int]


def of_model(count: int) -> Callable[[Place], Form]:
    """The form of a model's state, in a scope of so many messages."""

    def form(place: Place) -> Form:
        state = place.state
        found: list[tuple[Any, ...]] = [UNSENT if number >= place.sent else GONE for number in range(count)]
        for p, part in enumerate(state.parts):
            for entry in part.log:
                holder = entry.lock.holder if entry.lock is not None else None
                status = STATUSES[entry.status].name
                about = (p, entry.number, status, holder, entry.tries)
                found[int(entry.id.removeprefix("m")) - 1] = about
        down = frozenset(p for p in range(len(state.parts)) if state.down >> p & 1)
        return Form(tuple(found), frozenset(state.keys), _cursors(state), down)

    return form


def _cursors(state: State) -> frozenset[tuple[str, int, int]]:
    return frozenset(
        (known.proc, p, number) for known in state.clients for p, number in enumerate(known.cursor) if number
    )


def of_spec(state: Function) -> Form:
    """The form of a state of the specification."""
    messages = tuple(_message(known) for known in _values(state["msg"]))
    homes = frozenset((key, p - 1) for key, p in _items(state["home"]) if p)
    cursors = frozenset(
        (client, p, last + 1)
        for client, places in _items(state["cursor"])
        for p, last in enumerate(_values(places))
        if last >= 0
    )
    down = frozenset(p for p, is_up in enumerate(_values(state["up"])) if not is_up)
    return Form(messages, homes, cursors, down)


_STORED: Final[Mapping[tuple[str, bool], str]] = {
    ("pending", True): "reserved",
    ("lagging", True): "lagging",
    ("ready", True): "fresh",
    ("ready", False): "back",
    ("cached", True): "cached",
    ("cached", False): "cached",
    ("locked", True): "locked",
    ("locked", False): "locked",
}
"""The model's word for where a message is, by the specification's and whether it stands in its place."""


def _message(known: Mapping[str, Any]) -> tuple[Any, ...]:
    if known["at"] == "unsent":
        return UNSENT
    status = _STORED.get((known["at"], known["placed"]))
    if status is None:
        return GONE
    holder = known["by"] if known["at"] == "locked" else None
    return known["part"] - 1, known["num"], status, holder, known["count"]


def _values(function: Any) -> list[Any]:
    """The values of a function over 1, 2, …, which TLC prints as a sequence."""
    return [*function] if isinstance(function, tuple) else [function[at] for at in sorted(function)]


def _items(function: Any) -> list[tuple[Any, Any]]:
    return [*enumerate(function, 1)] if isinstance(function, tuple) else [*function.items()]
