"""Messages shown to a client: received, or peeked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.record import Args, Holdings, Operation, Told, some_of
from partq.model.grouping import grouped
from partq.model.operations import ENTITY, RECEIVE_MODES, Arg, Kind

CURSORS: Final = ("cursor", "start")
"""Where a peek may begin, beside a number that was seen."""

_MOST: Final = {"max": Arg(Kind.INT, required=True, meaning="how many")}


def _receive(held: Holdings, args: Args) -> Args:
    if not held.flows:
        return {name: value for name, value in args.items() if name != "flow"} if "flow" in args else args
    return {**args, "flow": held.flows[args.get("flow", 0) % len(held.flows)]}


def received(held: Holdings, told: Told) -> None:
    """Learn the locks and numbers of what was delivered."""
    pool = held.locks_of(told.args)
    for one in told.messages:
        if one.lock is not None:
            pool.append(one.lock)
            if one.seq is not None:
                held.numbers[one.lock] = one.seq
    _shown(held, told)


def _shown(held: Holdings, told: Told) -> None:
    held.seen += [delivery.seq for delivery in told.messages if delivery.seq is not None]


def _peeked(held: Holdings, told: Told) -> None:
    _shown(held, told)
    numbered = ((one.state, one.seq) for one in told.messages)
    held.showed = grouped((state, seq) for state, seq in numbered if state is not None and seq is not None)


def _peek(held: Holdings, args: Args) -> Args | None:
    start, plain = args.get("from", "cursor"), some_of(args, "max", "entity")
    if start == "cursor":
        return plain
    if start == "start":
        return {**plain, "from_seq": 0}
    return {**plain, "from_seq": held.seen[start % len(held.seen)]} if held.seen else None


def _peek_retraced(held: Holdings, args: Args) -> Args:
    start = args.get("from_seq")
    place = "cursor" if start is None else held.seen.index(start) if start in held.seen else "start"
    return {**some_of(args, "max", "entity"), "from": place}


RECEIVING: Final[Mapping[str, Operation]] = {
    "receive": Operation(
        {
            **_MOST,
            "mode": Arg(Kind.TEXT, words=RECEIVE_MODES, meaning="peek_lock or receive_and_delete"),
            "timeout": Arg(Kind.NS, meaning="ns to wait"),
            "flow": Arg(Kind.INT, meaning="an index among my flows"),
            **ENTITY,
        },
        _receive,
        received,
        written=lambda pen, held, action: {"max": action.max, "mode": action.mode, "timeout": pen.wait},
        retraced=lambda held, args: some_of(args, "max", "mode", "timeout", "entity"),
        waits=True,
    ),
    "peek": Operation(
        {
            **_MOST,
            "from": Arg(
                Kind.INT,
                words=CURSORS,
                meaning="cursor (default), start, or an index among numbers I have seen",
            ),
            **ENTITY,
        },
        _peek,
        _peeked,
        idle="it had seen no number to begin at",
        written=lambda pen, held, action: {"max": action.max, "from": "cursor"},
        retraced=_peek_retraced,
    ),
}
