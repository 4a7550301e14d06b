"""When a broker detects that a client has left without a goodbye, as far as its events show."""

from __future__ import annotations

from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.history import Record


def noticed_by(facts: Facts, flow: str, loss: Record) -> int:
    """The instant by which the broker certainly had noticed that the flow was lost. As a rule that is when
    the loss returns; where a live client's socket just ended, it is the first event that says so (`FOREVER`:
    none does)."""
    ret = loss.end
    if facts.header.clock != "wall" or loss.args.get("how") != "socket" or not loss.ok:
        return ret
    held: set[int] = set()
    for event in facts.assignment_events:
        partition, mine = event.args["partition"], event.args.get("flow") == flow
        gone = event.args["state"] in ("unbound", "unassigned")
        if event.call > loss.call and (gone if mine else partition in held):
            return max(event.call, ret)
        if mine and event.args["state"] != "unassigned":
            held.add(partition)
        elif mine or partition in held:
            held.discard(partition)
    return FOREVER
