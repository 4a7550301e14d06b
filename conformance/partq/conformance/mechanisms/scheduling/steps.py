"""Messages that are scheduled for a time after the step, and cancelled by a number that was shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.record import Args, Holdings, Operation, Told
from partq.conformance.workload.operations.sending import DELAY, SENDING
from partq.conformance.workload.operations.transactions import IN_TXN
from partq.model.operations import Arg, Kind

_SCHEDULES: Final = "schedule"


def _scheduled(held: Holdings, told: Told) -> None:
    held.kept[_SCHEDULES].extend(delivery.seq for delivery in told.messages if delivery.seq is not None)


def _cancel(held: Holdings, args: Args) -> Args | None:
    pool = held.seen if args.get("active") else held.kept[_SCHEDULES]
    return held.in_txn({"seq": pool[args["pick"] % len(pool)]}, args) if pool else None


def _cancel_retraced(held: Holdings, args: Args) -> Args | None:
    seq = args["seq"]
    for pool, kind in ((held.kept[_SCHEDULES], {}), (held.seen, {"active": True})):
        if seq in pool:
            return {"pick": pool.index(seq), **kind, **held.retraced_in(args)}
    return None


OPERATIONS: Final[Mapping[str, Operation]] = {
    _SCHEDULES: SENDING["send_batch"]._replace(
        args={**SENDING["send_batch"].args, "delay": DELAY._replace(required=True)},
        learn=_scheduled,
        single="",
        also=lambda args: "",
    ),
    "cancel_scheduled": Operation(
        {
            "pick": Arg(Kind.INT, required=True, meaning="an index among the numbers that I scheduled under"),
            "active": Arg(Kind.FLAG, meaning="among numbers I have seen, instead"),
            **IN_TXN,
        },
        _cancel,
        idle="it had scheduled nothing, or had no such transaction",
        retraced=_cancel_retraced,
    ),
}
