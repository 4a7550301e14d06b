"""Messages that their holder moves to the dead-letter queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.record import Args, Holdings, Operation
from partq.conformance.workload.operations.settling import SETTLING
from partq.model.operations import DEAD_LETTER, Arg, Kind

_SETTLEMENT: Final = SETTLING["complete"]


def _with_reason(found: Args | None, args: Args) -> Args | None:
    return {**found, "reason": args["reason"]} if found is not None and "reason" in args else found


def _resolve(held: Holdings, args: Args) -> Args | None:
    return _with_reason(_SETTLEMENT.resolve(held, args) if _SETTLEMENT.resolve else None, args)


OPERATIONS: Final[Mapping[str, Operation]] = {
    DEAD_LETTER: _SETTLEMENT._replace(
        args={**_SETTLEMENT.args, "reason": Arg(Kind.TEXT, meaning="why")},
        resolve=_resolve,
        retraced=lambda held, args: _with_reason(_SETTLEMENT.retraced(held, args), args),
    )
}
