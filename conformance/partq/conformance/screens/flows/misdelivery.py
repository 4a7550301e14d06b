"""Messages that came through a flow for which no partition of theirs was ready: which rule, and the finding.

The table is in `deliveries.py`. Nothing here chooses what is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import accumulate
from operator import and_
from typing import Final, NamedTuple

from partq.conformance.facts.candidate_partitions import Path, Paths
from partq.conformance.facts.flow_timeline import FlowTimeline
from partq.conformance.facts.index import Observation
from partq.conformance.facts.records import returned
from partq.conformance.history import Record
from partq.conformance.screens.attribution import MISDELIVERY
from partq.conformance.screens.protocol import Report


class Excuse(NamedTuple):
    """What explains all deliveries by one partition, not being ready at some of them: the rule broken, and
    the partitions that it may be. ``certain``: nothing else explains them as well."""

    requirement: str
    partitions: int
    certain: bool


def excuse(paths: Paths, group: Sequence[Path]) -> Excuse | None:
    """The least assumption that explains all deliveries of these messages by one partition; None: none."""
    records = [seen.record for path in group for seen in path.life.deliveries]
    held = [paths.held(record) for record in records]
    if everywhere := reduce(and_, held):
        return Excuse("REB-13", everywhere, _certainly_in(held, held, paths.timeline.everything))
    waiting = [paths.waiting(record) for record in records]
    both = reduce(and_, (mine | kept for mine, kept in zip(held, waiting, strict=True)))
    if not both:
        return None
    kept = [mask & ~paths.served(record) for mask, record in zip(waiting, records, strict=True)]
    return Excuse("REB-7", both, paths.exclusive and _certainly_in(kept, held, paths.timeline.everything))


def _certainly_in(wanted: Sequence[int], held: Sequence[int], everything: int) -> bool:
    """Whether at some delivery all partitions that the message may have been in, by its other deliveries, are
    among those wanted."""
    before = accumulate(held, and_, initial=everything)
    after = list(accumulate(reversed(held), and_, initial=everything))[-2::-1]
    others = [a & b for a, b in zip(before, after, strict=False)]
    return any(other and not other & ~mask for other, mask in zip(others, wanted, strict=True))


def judge_misdeliveries(paths: Paths, report: Report) -> bool:
    """REB-2, REB-5, REB-7 and REB-13 by single messages. Whether any came through a wrong flow."""
    misdelivered = [(path, excuse(paths, [path])) for path in paths.by_id.values() if not path.ready]
    bare = [path for path, found in misdelivered if found is None]
    standby = [_to_standby(paths, path) for path in bare]
    if False in standby:
        for path, _ in misdelivered:
            _misdelivered(paths, path, report)
        return True
    if True in standby:
        for path in bare:
            _to_a_standby(paths, path, report)
    elif bare:
        _leave_open(report)
    certain = {found.requirement for _, found in misdelivered if found is not None and found.certain}
    for path, found in misdelivered:
        if found is not None and found.requirement in certain:
            _excused(paths, path, found, report)
        elif found is not None:
            _leave_open(report)
    return bool(misdelivered)


def _leave_open(report: Report) -> None:
    reason = (
        "messages came through flows without a partition that was ready; there is more than one explanation"
    )
    report.ambiguous(MISDELIVERY, reason)


def _wrong(paths: Paths, path: Path) -> Observation:
    """The delivery that no partition of those before explains."""
    mask = -1
    for seen in path.life.deliveries:
        mask &= paths.ready(seen.record)
        if not mask:
            return seen
    return path.life.deliveries[-1]


def _to_standby(paths: Paths, path: Path) -> bool | None:
    """Whether the flow that should not have got it certainly was a standby (True), or certainly not
    (False)."""
    record = _wrong(paths, path).record
    sessions = paths.timeline.sessions_of.get(record.args.get("flow", ""), ())
    if any(paths.timeline.stands_by(session, returned(record)) for session in sessions):
        return True
    return None if any(session.standby is not False for session in sessions) else False


def _to_a_standby(paths: Paths, path: Path, report: Report) -> None:
    record = _wrong(paths, path).record
    flow = record.args.get("flow", "")
    report.find(
        "REB-5",
        "standby gets load",
        "A standby got a message",
        (*(session.bind for session in paths.timeline.sessions_of[flow][-1:]), record),
        f"{path.life.id!r} came through flow {flow}, which bound when there were as many flows as "
        "partitions; none was lost since",
        "nothing for a standby, until an active flow goes",
    )


def _excused(paths: Paths, path: Path, found: Excuse, report: Report) -> None:
    name, bit = next((name, bit) for name, bit in paths.timeline.bits.items() if found.partitions >> bit & 1)
    seen = next(seen for seen in path.life.deliveries if not paths.ready(seen.record) >> bit & 1)
    others = [other.record for other in path.life.deliveries if paths.ready(other.record) >> bit & 1]
    flow = seen.record.args.get("flow")
    wanted, title, cause, state = _WORDS[found.requirement]
    event = _event(paths.timeline, name, flow if found.requirement == "REB-13" else None, state, seen.record)
    report.find(
        found.requirement,
        cause,
        title,
        (*event, seen.record, *others[:1]),
        f"{seen.delivery.id!r} of partition {name} came through flow {flow} while that partition was {state}",
        wanted,
    )


_WORDS: Final = {
    "REB-13": (
        "nothing new from a paused partition",
        "A paused partition delivered",
        "paused delivers",
        "paused",
    ),
    "REB-7": (
        "nothing from it until the rebalance delay is over",
        "A partition kept for a lost flow delivered to another",
        "unbound delivers",
        "unbound",
    ),
}


def _event(
    timeline: FlowTimeline, partition: int, flow: str | None, state: str, receive: Record
) -> Iterator[Record]:
    """The last event before the end of the receive by which the partition got into that state."""
    end = returned(receive)
    events = [
        event
        for assignment in timeline.assignments[partition]
        for name, event in assignment.states
        if name == state and flow in (None, assignment.flow) and event.call <= end
    ]
    return iter(events[-1:])


def _misdelivered(paths: Paths, path: Path, report: Report) -> None:
    seen = _wrong(paths, path)
    flow = seen.record.args.get("flow")
    before = [other.record for other in path.life.deliveries if other.call < seen.call]
    if paths.ready(seen.record):
        flows = ", ".join(dict.fromkeys(str(record.args.get("flow")) for record in before))
        why = f"which shared no partition with {flows}, that it came through before"
    else:
        why = "for which no partition was ready"
    events = [
        assignment.states[-1][1]
        for assignment in paths.timeline.assignments_of.get(flow or "", ())
        if assignment.begin.call <= seen.call
    ]
    report.find(
        "REB-2",
        "wrong flow",
        "A message came through a flow that its partition is not assigned to",
        (*before[:1], *events[-1:], seen.record),
        f"{path.life.id!r} came through flow {flow}, {why}",
        "only the flow that has the message's partition gets it",
    )
