"""How each operation is asked of a client: by the method of its name. The arguments that the operation
requires are given by position, all others that the method takes by name. Derived from `Client` and the
alphabet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, signature
from typing import Any, Final, NamedTuple

from partq.conformance.adapters.protocol import CLIENT_OPS, Client
from partq.model.messages import Created, Overview, Session, SessionState
from partq.model.operations import OPS, Arg, Kind
from partq.model.profiles import SECOND


class Call(NamedTuple):
    """A method's arguments, by position and by name; of the latter what is given where none is recorded."""

    asked: tuple[str, ...]
    named: Mapping[str, Any]


def _call(op: str) -> Call:
    takes = signature(getattr(Client, op)).parameters.values()
    asked = tuple(name for name, arg in OPS[op].args.items() if arg.required)
    return Call(asked, {one.name: one.default for one in takes if one.kind is Parameter.KEYWORD_ONLY})


CALLS: Final[Mapping[str, Call]] = {op: _call(op) for op in CLIENT_OPS}

Answer = type[Session] | type[SessionState] | type[Created] | type[Overview]

_KINDS: Final[tuple[Answer, ...]] = (Session, SessionState, Created, Overview)

ANSWERS: Final[Mapping[str, Answer]] = {
    op: next(kind for kind in _KINDS if {*spec.tells} <= {*kind._fields})
    for op, spec in OPS.items()
    if spec.tells
}
"""What an operation answers that tells something else than messages."""


def ask(client: Client, op: str, args: Mapping[str, Any]) -> object:
    """What the client answers. Raises what it raises."""
    call, kinds = CALLS[op], OPS[op].args
    given = [_own(kinds[name], args[name]) for name in call.asked]
    usual = {name: value for name, value in call.named.items() if name in args or not kinds[name].apart}
    named = {n: _own(kinds[n], args[n]) if n in args else value for n, value in usual.items()}
    answer: object = getattr(client, op)(*given, **named)
    return answer


def recorded(op: str, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call as a history records them."""
    call, kinds = CALLS[op], OPS[op].args
    args = {**call.named, **dict(zip(call.asked, given, strict=True)), **named}
    return {name: _record(kinds[name], value) for name, value in args.items()}


def _record(arg: Arg, value: Any) -> Any:
    if arg.kind is Kind.NS:
        return int(value * SECOND)
    return (value,) if arg.most == 1 else value


def _own(arg: Arg, value: Any) -> Any:
    """The value as a client takes it: times in seconds; of messages copies, so that whatever it does to them,
    what is recorded is what it was asked to send."""
    if arg.kind is Kind.NS:
        return value / SECOND
    if arg.kind is not Kind.MESSAGES:
        return value
    copies = tuple(replace(message) for message in value)
    return copies[0] if arg.most == 1 else copies
