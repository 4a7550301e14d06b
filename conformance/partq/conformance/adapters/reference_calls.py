"""How each client operation is asked of the reference broker: a table from operations to methods of its front
end. What is done with the answer is `reference`'s business."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

from partq.conformance.adapters.protocol import CLIENT_OPS
from partq.conformance.workload.operations.record import Args
from partq.model.operations import ENTITY, OPS, SETTLEMENTS
from partq.model.profiles import RECEIVE_TIMEOUT, SEND_TIMEOUT

Call = Generator[Any, Any, Any]
"""An operation under way, as the reference's clock runs it."""

FrontEndCall = Callable[[Any, Any, Args], Call]
"""An operation of a front end."""


def _calls(method: str, *names: str, **usual: Any) -> FrontEndCall:
    """That method with these arguments: ``connection``, the first if it is one, is the client's, ``delete``
    follows from the mode, all others are the operation's, or ``usual``."""
    own = tuple((name, usual.get(name)) for name in names if name != "connection")
    connected = len(own) < len(names)

    def call(end: Any, connection: Any, args: Args) -> Call:
        if "mode" in args:
            args = {**args, "delete": args["mode"] == "receive_and_delete"}
        given = [args.get(name, default) for name, default in own]
        steps: Call = getattr(end, method)(*((connection, *given) if connected else given))
        return steps

    return call


def _at(call: FrontEndCall) -> FrontEndCall:
    """The call, on the front end of the entity that is asked, by the client's connection to it."""

    def asked(end: Any, connection: Any, args: Args) -> Call:
        word = args.get("entity")
        if word and word.startswith(ENTITY["entity"].begins):
            name, _, dead = word.partition("/")[2].partition("/")
            end, connection = end.broker.beneath(name, connection)
            word = dead
        return (yield from call(end.dead_letters if word else end, connection, args))

    return asked


def _plainly(op: str) -> FrontEndCall:
    """The method of its name, with the connection and the arguments in the order of the alphabet."""
    names = (name for name in OPS[op].args if name not in ("timeout", "entity", *OPS[op].tells))
    return _at(_calls(op, "connection", *names))


OTHERWISE: Final[Mapping[str, FrontEndCall]] = {
    **{
        op: _calls(method, "messages", "txn", "timeout", timeout=SEND_TIMEOUT)
        for op, method in (("send", "send"), ("send_batch", "send"), ("schedule", "schedule"))
    },
    "cancel_scheduled": _calls("cancel", "seq", "txn"),
    **{
        op: _at(_calls(op, "connection", *names, timeout=RECEIVE_TIMEOUT, delete=False))
        for op, names in (
            ("receive", ("max", "delete", "timeout", "flow")),
            ("accept_session", ("session_id", "timeout")),
            ("receive_session", ("session_id", "max", "delete", "timeout")),
        )
    },
    **{op: _calls("settle", "connection", "how", "locks", "txn", "reason", how=op) for op in SETTLEMENTS},
    "renew_lock": _calls("renew", "lock"),
    **{op: _calls(op, "txn") for op in ("begin", "commit", "rollback")},
    "disconnect": _calls("disconnect", "connection"),
}
"""How it is asked for what is no method of a front end with the alphabet's name and arguments."""

CALLS: Final[Mapping[str, FrontEndCall]] = {op: OTHERWISE.get(op) or _plainly(op) for op in CLIENT_OPS}
"""How each client operation is asked of the broker."""
