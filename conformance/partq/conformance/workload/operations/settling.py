"""What a client does to the locks that it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from partq.conformance.workload.operations.record import Args, Holdings, Operation, Pen, Told
from partq.conformance.workload.operations.transactions import IN_TXN
from partq.model.actions import LOCK_LOST, Action
from partq.model.operations import ENTITY, Arg, Kind, Outcome

FORGED: Final = "no-client-was-given-this-lock"

_POOLS: Final = {"again": "enlisted", "stale": "ended"}
"""Argument -> among which locks it says that a step chooses, if not among those that are held."""


def _settle(held: Holdings, args: Args) -> Args | None:
    pool = next((getattr(held, pool) for name, pool in _POOLS.items() if args.get(name)), held.locks_of(args))
    chosen = _chosen(pool, args.get("pick", (0,)))
    if "lost" in args:
        chosen += _chosen(held.ended, args["lost"])
    if args.get("forged"):
        chosen.append(FORGED)
    return held.in_txn({"locks": tuple(dict.fromkeys(chosen))}, args) if chosen else None


def _chosen(pool: list[str], picks: Sequence[int]) -> list[str]:
    """The locks at those indexes, which go round."""
    return [pool[pick % len(pool)] for pick in picks] if pool else []


def settled(held: Holdings, told: Told) -> None:
    """Learn which locks have ended, or end with the transaction."""
    if told.outcome == Outcome.ERROR and told.error != LOCK_LOST:
        return
    enlisted = told.outcome == Outcome.OK and told.args.get("txn", held) == held.txn
    into = held.enlisted if enlisted else held.ended
    for lock in told.args["locks"]:
        for pool in (held.held, *held.apart.values()):
            if lock in pool:
                pool.remove(lock)
                into.append(lock)


def _renew(held: Holdings, args: Args) -> Args | None:
    settle = _settle(held, args)
    return None if settle is None else {"lock": settle["locks"][0]}


def _written(pen: Pen, held: Holdings, action: Action) -> Args | None:
    found = held.places([pen.locks.get(token) for token in action.locks], least=len(action.locks))
    if found is None:
        return None
    return {"pick": found[0], **found[1], **held.asked_in(action.txn, mine=held.txn is not None)}


def _retraced(held: Holdings, args: Args) -> Args | None:
    """The locks as indexes among the client's; None where it was given none of them."""
    found = held.places(args.get("locks", (args.get("lock"),)), least=1)
    return None if found is None else {"pick": found[0], **found[1], **held.retraced_in(args)}


_RENEWAL: Final = Operation(
    {
        "pick": Arg(Kind.INTS, meaning="one index among my held locks"),
        "stale": Arg(Kind.FLAG, meaning="among my ended ones"),
        **ENTITY,
    },
    _renew,
    idle="it held no such lock or transaction",
    written=_written,
    retraced=_retraced,
)
_SETTLEMENT: Final = _RENEWAL._replace(
    args={
        "pick": Arg(Kind.INTS, meaning="indexes among my held locks"),
        "stale": Arg(Kind.FLAG, meaning="among my ended ones"),
        "again": Arg(Kind.FLAG, meaning="among those I settled in my open transaction"),
        **ENTITY,
        "lost": Arg(Kind.INTS, meaning="further indexes, among my ended ones"),
        "forged": Arg(Kind.FLAG, meaning="and a lock that no client was given"),
        **IN_TXN,
    },
    resolve=_settle,
    learn=settled,
)

SETTLING: Final[Mapping[str, Operation]] = {
    "complete": _SETTLEMENT,
    "abandon": _SETTLEMENT,
    "renew_lock": _RENEWAL,
}
