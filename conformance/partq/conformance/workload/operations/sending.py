"""Sending: one message, or several in one request, in a transaction or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from partq.conformance.workload.operations.record import Args, Holdings, Operation, Pen
from partq.conformance.workload.operations.transactions import IN_TXN, NO_TRANSACTION
from partq.model.actions import Action
from partq.model.operations import OPS, Arg, Kind
from partq.model.profiles import SEND_TIMEOUT

DELAY: Final = Arg(Kind.NS, meaning="ns after which the messages are to be enqueued")


def _resolve(held: Holdings, args: Args) -> Args | None:
    if "delay" in args:
        at = held.now + args["delay"]
        later = tuple(replace(message, scheduled_at=at) for message in args["messages"])
        args = {**{name: value for name, value in args.items() if name != "delay"}, "messages": later}
    if "txn" not in args and "ended" not in args:
        return args
    return held.in_txn({name: value for name, value in args.items() if name not in IN_TXN}, args)


def _written(pen: Pen, held: Holdings, action: Action) -> Args:
    sent = tuple(map(pen.attempt, action.messages))
    return {"messages": sent, **held.asked_in(action.txn, mine=held.txn is not None)}


def _retraced(held: Holdings, args: Args) -> Args:
    """What was scheduled for a time, for the time from the step on."""
    messages, asked = args["messages"], held.retraced_in(args)
    if messages[0].scheduled_at is None:
        return {"messages": messages, **asked}
    delay = max(0, messages[0].scheduled_at - held.now)
    return {"messages": tuple(replace(one, scheduled_at=None) for one in messages), "delay": delay, **asked}


def _also(args: Args) -> str:
    """What cannot schedule heeds no message's time, nor its time to live."""
    timed = "delay" in args or any(message.ttl is not None for message in args.get("messages", ()))
    return "schedule" if timed else ""


_SEND: Final = Operation(
    {
        "messages": OPS["send"].args["messages"],
        **IN_TXN,
        "delay": DELAY,
        "timeout": Arg(Kind.NS, meaning="ns"),
    },
    _resolve,
    idle=NO_TRANSACTION,
    written=_written,
    retraced=_retraced,
    timeout=SEND_TIMEOUT,
    also=_also,
)

SENDING: Final[Mapping[str, Operation]] = {
    "send": _SEND,
    "send_batch": _SEND._replace(
        args={**_SEND.args, "messages": Arg(Kind.MESSAGES, required=True, meaning="the batch")}, single="send"
    ),
}
