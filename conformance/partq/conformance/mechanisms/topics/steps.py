"""A client changes the rules of a subscription."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.record import Operation, some_of
from partq.conformance.workload.operations.transactions import IN_TXN, NO_TRANSACTION
from partq.model.operations import ENTITY, OPS

_CHANGE: Final = Operation(
    {"rule": OPS["add_rule"].args["rule"], **IN_TXN, **ENTITY},
    lambda held, args: held.in_txn(some_of(args, "rule", "entity"), args),
    idle=NO_TRANSACTION,
    retraced=lambda held, args: {**some_of(args, "rule", "entity"), **held.retraced_in(args)},
)

OPERATIONS: Final[Mapping[str, Operation]] = dict.fromkeys(("add_rule", "remove_rule"), _CHANGE)
