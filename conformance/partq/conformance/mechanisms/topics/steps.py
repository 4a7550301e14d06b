"""A client changes the rules of a subscription."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.record import Args, Holdings, Operation
from partq.conformance.workload.operations.transactions import IN_TXN, NO_TRANSACTION
from partq.model.operations import ENTITY, OPS

_OWN: Final = ("rule", "entity")


def _resolve(held: Holdings, args: Args) -> Args | None:
    return held.in_txn({name: args[name] for name in _OWN if name in args}, args)


def _retraced(held: Holdings, args: Args) -> Args:
    txn = args.get("txn")
    asked = held.asked_in(txn, mine=txn == held.txn)
    return {**{name: args[name] for name in _OWN if name in args}, **asked}


_CHANGE: Final = Operation(
    {"rule": OPS["add_rule"].args["rule"], **IN_TXN, **ENTITY},
    _resolve,
    idle=NO_TRANSACTION,
    written=lambda pen, held, action: None,
    retraced=_retraced,
)

OPERATIONS: Final[Mapping[str, Operation]] = dict.fromkeys(("add_rule", "remove_rule"), _CHANGE)
