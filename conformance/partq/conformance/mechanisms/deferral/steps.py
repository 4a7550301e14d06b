"""Messages that are set aside by their holder, and received by their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.receiving import received
from partq.conformance.workload.operations.record import Args, Holdings, Operation, Told
from partq.conformance.workload.operations.settling import SETTLING, settled
from partq.model.configuration import COUNTER_BITS
from partq.model.messages import DEFERRED
from partq.model.operations import Arg, Kind, Outcome

_DEFERS: Final = "defer"


def _deferred(held: Holdings, told: Told) -> None:
    settled(held, told)
    if told.outcome != Outcome.ERROR:
        held.kept[_DEFERS].extend(held.numbers[lock] for lock in told.args["locks"] if lock in held.numbers)


def _by_number(held: Holdings, args: Args) -> Args | None:
    if args.get("peeked"):
        shown = held.showed.get(DEFERRED, [])
        chosen = [seq for seq in shown if seq >> COUNTER_BITS == shown[0] >> COUNTER_BITS]
    else:
        pool = held.seen if args.get("seen") else held.kept[_DEFERS]
        chosen = [pool[pick % len(pool)] for pick in args.get("pick", (0,))] if pool else []
    return {"seqs": tuple(dict.fromkeys(chosen))} if chosen else None


def _received(held: Holdings, told: Told) -> None:
    received(held, told)
    shown = held.showed.get(DEFERRED, [])
    held.showed[DEFERRED] = [seq for seq in shown if seq not in told.args["seqs"]]


def _retraced(held: Holdings, args: Args) -> Args | None:
    for pool, kind in ((held.kept[_DEFERS], {}), (held.seen, {"seen": True})):
        if all(seq in pool for seq in args["seqs"]):
            return {"pick": [pool.index(seq) for seq in args["seqs"]], **kind}
    return None


OPERATIONS: Final[Mapping[str, Operation]] = {
    _DEFERS: SETTLING["abandon"]._replace(learn=_deferred),
    "receive_deferred": Operation(
        {
            "pick": Arg(Kind.INTS, meaning="indexes among the numbers of what I deferred"),
            "seen": Arg(Kind.FLAG, meaning="among numbers I have seen, instead"),
            "peeked": Arg(
                Kind.FLAG, meaning="those of one partition that my last peek showed as deferred, instead"
            ),
        },
        _by_number,
        _received,
        idle="it knew no such number",
        retraced=_retraced,
    ),
}
