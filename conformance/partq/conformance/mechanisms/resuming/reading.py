"""Flows that come back, in a history: what is judged of them, and what exercises their rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.history import Header, Record
from partq.conformance.oracle.identity import Ambiguous
from partq.conformance.oracle.roles import BINDS, KILLS, RESUMES, UNBINDS
from partq.conformance.oracle.uses import Records, Use
from partq.conformance.screens.protocol import Exercise
from partq.model.operations import LINK_LOST, OPS
from partq.model.profiles import Entity


def _resumes(record: Record, end: int = 0) -> bool:
    return record.op == RESUMES


def _compared(header: Header, entity: Entity, records: Records) -> Records:
    """The records. Raises `Ambiguous` for what is not modelled of flows that come back."""
    if any(record.op == KILLS for record in records):
        raise Ambiguous("what a kill leaves for flows that come back is not modelled")
    of: dict[str, set[str]] = {}
    bound: Counter[str] = Counter()
    unbound: set[str] = set()
    for record in records:
        flow = record.args.get("flow", "")
        if record.op == RESUMES and bound[flow] != 1:
            raise Ambiguous("what a flow had that was not bound once, by that name, is not known")
        if record.op in BINDS - {RESUMES}:
            bound[flow] += not record.refused
        if OPS[record.op].opens and flow:
            of.setdefault(flow, set()).add(record.proc)
        if record.op == UNBINDS and not record.refused:
            unbound.add(flow)
        elif record.op == RESUMES and flow in unbound:
            raise Ambiguous("whether a flow that was unbound may come back to what it had is not known")
        elif record.op == RESUMES and len(of[flow]) > 1:
            raise Ambiguous("whether another client may come back for a flow is not known")
    return records


USE: Final = Use(
    uses=_resumes,
    rule="REB-8",
    what="flows that come back to what they had",
    matters=_resumes,
    compared=_compared,
    spreads=frozenset({"REB-8"}),
    begins=lambda family, entity, records: {"resumed": True},
)


def _in_time(facts: Facts) -> int:
    """Each flow that had a partition, and came back certainly before the delay for its loss ended."""
    count = 0
    had = {event.args.get("flow") for event in facts.assignment_events}
    lost: dict[str, int] = {}
    for record in facts.flows:
        flow = record.args.get("flow", "")
        if record.op == LINK_LOST:
            lost[flow] = record.call
        elif record.op == RESUMES and not record.unknown and flow in had:
            count += flow in lost and record.end < lost[flow] + facts.entity.rebalance_delay
    return count


EXERCISED: Final[Mapping[str, Exercise]] = {
    "REB-8": Exercise(_in_time, (RESUMES, "assignment")),
}
