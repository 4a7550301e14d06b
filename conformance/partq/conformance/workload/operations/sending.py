"""Sending: one message, or several in one request, in a transaction or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.record import Args, Holdings, Operation, Pen
from partq.conformance.workload.operations.transactions import IN_TXN, NO_TRANSACTION
from partq.model.actions import Action
from partq.model.operations import OPS, Arg, Kind
from partq.model.profiles import SEND_TIMEOUT


def _resolve(held: Holdings, args: Args) -> Args | None:
    if "txn" not in args and "ended" not in args:
        return args
    return held.in_txn({name: value for name, value in args.items() if name not in IN_TXN}, args)


def _written(pen: Pen, held: Holdings, action: Action) -> Args:
    sent = tuple(map(pen.attempt, action.messages))
    return {"messages": sent, **held.asked_in(action.txn, mine=held.txn is not None)}


def _retraced(held: Holdings, args: Args) -> Args:
    txn = args.get("txn")
    return {"messages": args["messages"], **held.asked_in(txn, mine=txn == held.txn)}


_SEND: Final = Operation(
    {
        "messages": OPS["send"].args["messages"],
        **IN_TXN,
        "timeout": Arg(Kind.NS, meaning="ns"),
    },
    _resolve,
    idle=NO_TRANSACTION,
    written=_written,
    retraced=_retraced,
    timeout=SEND_TIMEOUT,
)

SENDING: Final[Mapping[str, Operation]] = {
    "send": _SEND,
    "send_batch": _SEND._replace(
        args={**_SEND.args, "messages": Arg(Kind.MESSAGES, required=True, meaning="the batch")},
        single="send",
    ),
}
