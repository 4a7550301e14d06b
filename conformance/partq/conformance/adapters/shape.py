"""Whether an adapter can be called as partq calls it, and says what it has: seen before the first call, so
that a slip in a signature is one line, and not an error in every operation. No method is called here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from inspect import getattr_static, signature
from typing import Any, Final, cast

from partq.conformance.adapters.calls import CALLS
from partq.conformance.adapters.protocol import Broker, Client, SimulatedBroker
from partq.model.operations import DEAD_LETTER, OPS, TOPICS

BROKER_CALLS: Final = ("open", "connect", "inject", "is_empty", "close", "restore", "lacks", "profiles")
"""The methods of a `Broker` that partq calls, with the arguments of the base class, by position."""

NEAR: Final = 0.75
"""How much alike two names are where one may be meant by the other, unless it begins the other as a word."""


def misfit(broker: Broker) -> str | None:
    """What is wrong with the adapter's classes, in one line, or None."""
    if isinstance(broker, SimulatedBroker):
        return None
    name, client = type(broker).__name__, cast("object", broker.client_class)
    if not (isinstance(client, type) and issubclass(client, Client)):
        return f"{name}.client_class is {client!r}, which is no subclass of Client"
    if client is Client and type(broker).lacks is Broker.lacks:
        return f"{name}.client_class is not set: from it partq learns which operations the broker has"
    if getattr_static(broker, "connect") is getattr_static(Broker, "connect"):
        return f"{name} does not override Broker.connect, as every adapter must"
    for call in BROKER_CALLS:
        if wrong := _unlike(f"{name}.{call}", getattr(broker, call), _arguments(Broker, call)):
            return wrong
    for call in (*CALLS, "close"):
        if wrong := _unlike_call(client, call, call):
            return wrong
    return None


def _unlike_call(client: type[Client], own: str, call: str) -> str | None:
    """How that method of the client cannot be called as ``call`` is, or None."""
    by_name, named = (CALLS[call].named, _named(client, call)) if call in CALLS else ((), ())
    asked = [argument for argument in _arguments(Client, call) if argument not in by_name]
    if not isinstance(getattr_static(client, own), staticmethod | classmethod):
        asked.insert(0, "self")
    return _unlike(f"{client.__name__}.{own}", getattr(client, own), asked, named)


def _named(client: type[Client], op: str) -> tuple[str, ...]:
    """What its method is given by name; which entity is asked only where there are several."""
    others = any(getattr_static(client, op) is not getattr_static(Client, op) for op in (DEAD_LETTER, TOPICS))
    return tuple(name for name in CALLS[op].named if others or not OPS[op].args[name].apart)


def near_misses(broker: Broker) -> Iterator[str]:
    """A line for each method that partq never calls and whose name is nearly that of one that it does: where
    the adapter lacks that one, or has it from another class and could be called as it is."""
    for own in (type(broker), cast("object", broker.client_class)):
        if isinstance(own, type):
            yield from _near_misses(own)


def _near_misses(own: type) -> Iterator[str]:
    base = next((kind for kind in own.__mro__ if kind.__module__ == Broker.__module__), object)
    known = [name for name in dir(base) if not name.startswith("_")]
    for name in dict.fromkeys(name for kind in own.__mro__ for name in vars(kind)):
        if name.startswith("_") or hasattr(base, name):
            continue
        possible = [one for one in known if _lacks(own, base, one) or _replaces(own, name, one)]
        longer = [one for one in possible if one.startswith(f"{name}_")]
        if near := longer or get_close_matches(name, possible, n=1, cutoff=NEAR):
            yield f"{own.__name__}.{name} is never called: did you mean {near[0]}?"


def _lacks(own: type, base: type, name: str) -> bool:
    return getattr_static(own, name) is getattr_static(base, name)


def _replaces(own: type, name: str, call: str) -> bool:
    """Whether the client's method could be meant to replace ``call``, which a class further up has."""
    if call not in CALLS or not issubclass(own, Client) or _depth(own, name) >= _depth(own, call):
        return False
    return sorted(name) == sorted(call) or _unlike_call(own, name, call) is None


def _depth(own: type, name: str) -> int:
    """How many classes up a name of the class is defined."""
    return next(depth for depth, kind in enumerate(own.__mro__) if name in vars(kind))


def _arguments(owner: type, call: str) -> list[str]:
    return list(signature(getattr(owner, call)).parameters)[1:]


def _unlike(where: str, own: Callable[..., Any], asked: list[str], named: tuple[str, ...] = ()) -> str | None:
    """How a method cannot be called with these arguments, or None."""
    try:
        signature(own).bind(*asked, **dict.fromkeys(named))
    except (TypeError, ValueError) as error:
        how = ", ".join([*(name for name in asked if name != "self"), *(f"{name}=…" for name in named)])
        return f"{where} cannot be called with ({how}): {error}"
    return None
