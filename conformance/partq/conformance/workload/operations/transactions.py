"""Transactions: a client has one at a time, which it names itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from partq.conformance.workload.operations.record import Args, Holdings, Operation, Told
from partq.model.operations import Arg, Kind, Outcome

IN_TXN: Final[Mapping[str, Arg]] = {
    "txn": Arg(Kind.FLAG, meaning="inside my open transaction"),
    "ended": Arg(Kind.FLAG, meaning="inside the transaction that I ended last"),
}
"""The arguments of a step that may be part of a transaction."""

NO_TRANSACTION: Final = "it had no such transaction"


def _begin(held: Holdings, args: Args) -> Args | None:
    return None if held.txn else {"txn": held.name("t")}


def _begun(held: Holdings, told: Told) -> None:
    if told.outcome == Outcome.OK:
        held.txn = told.args["txn"]


def _end(held: Holdings, args: Args) -> Args | None:
    txn = held.last_txn if args.get("ended") else held.txn
    return {"txn": txn} if txn else None


def _finish(held: Holdings, told: Told, committed: bool) -> None:
    if told.args["txn"] == held.txn:
        into = held.ended if committed and told.outcome != Outcome.ERROR else held.held
        into.extend(held.enlisted)
        held.enlisted.clear()
        held.last_txn, held.txn = held.txn, None


_END: Final = Operation(
    {"ended": Arg(Kind.FLAG, meaning="the transaction that I ended last")},
    _end,
    idle=NO_TRANSACTION,
    written=lambda pen, held, action: {"ended": True} if held.txn is None else {},
)

TRANSACTIONS: Final[Mapping[str, Operation]] = {
    "begin": Operation({}, _begin, _begun, "its transaction was open already", lambda pen, held, action: {}),
    "commit": _END._replace(learn=partial(_finish, committed=True)),
    "rollback": _END._replace(learn=partial(_finish, committed=False)),
}
