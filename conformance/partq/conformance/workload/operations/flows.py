"""A client's way to its queue: the flows by which it is a consumer, and the connection that may be lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.record import Args, Holdings, Operation, Told
from partq.model.operations import UNAVAILABLE, Arg, Kind, Outcome


def _bind(held: Holdings, args: Args) -> Args | None:
    asked = {name: value for name, value in args.items() if name not in ("again", "another")}
    if not held.flows or (args.get("another") and len(held.flows) < held.most_flows):
        return {**asked, "flow": held.name("f")}
    return {**asked, "flow": held.flows[-1]} if args.get("again") else None


def _bound(held: Holdings, told: Told) -> None:
    if told.outcome != Outcome.ERROR:
        held.last_flow = told.args["flow"]
        if held.last_flow not in held.flows:
            held.flows.append(held.last_flow)


def _unbind(held: Holdings, args: Args) -> Args | None:
    if held.flows:
        return {"flow": held.flows[args.get("flow", 0) % len(held.flows)]}
    return {"flow": held.last_flow} if args.get("again") and held.last_flow else None


def _unbound(held: Holdings, told: Told) -> None:
    if told.outcome != Outcome.UNKNOWN and told.error not in UNAVAILABLE:
        _left(held, told)


def _disconnect(held: Holdings, args: Args) -> Args | None:
    if len(held.flows) > 1:
        return None  # The record of a disconnect names one flow.
    return {**args, "flow": held.flows[0]} if held.flows else args


def _left(held: Holdings, told: Told) -> None:
    if told.args.get("flow") in held.flows:
        held.flows.remove(told.args["flow"])
        if not held.flows:
            held.ended.extend(held.held)
            held.held.clear()


FLOWS: Final[Mapping[str, Operation]] = {
    "bind": Operation(
        {
            "partition": Arg(Kind.INT, meaning="ask for a partition, which no client may (REB-15)"),
            "again": Arg(Kind.FLAG, meaning="though I am bound, under the same name"),
            "another": Arg(
                Kind.FLAG, meaning="though I am bound, a further flow, where a client may have several"
            ),
        },
        _bind,
        _bound,
        idle="it was bound already",
        written=lambda pen, held, action: {"again": True} if held.flows else {},
        further=lambda held, args: bool(held.flows) and args["flow"] not in held.flows,
    ),
    "unbind": Operation(
        {
            "again": Arg(Kind.FLAG, meaning="though I am not bound"),
            "flow": Arg(Kind.INT, meaning="an index among my flows"),
        },
        _unbind,
        _unbound,
        idle="it had no flow",
        written=lambda pen, held, action: {} if held.flows else {"again": True},
    ),
    "disconnect": Operation(
        {"how": Arg(Kind.TEXT, meaning="how the connection ends: one of the adapter's ways")},
        _disconnect,
        _left,
        idle="it had several flows",
        written=lambda pen, held, action: {},
        retraced=lambda held, args: {"how": args["how"]} if "how" in args else {},
    ),
}
