"""Messages that came through a flow for which no partition of theirs was ready: which rule, and the finding.

The table is in `flows.py`. Nothing here chooses what is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_
from typing import Final, NamedTuple

from partq.conformance.facts import FOREVER, Seen
from partq.conformance.history import Record
from partq.conformance.timeline import Timeline

from .paths import Path, Paths
from .protocol import Report


class Excuse(NamedTuple):
    """What explains all deliveries by one partition: the rule broken, and the partitions that it may be."""

    requirement: str
    partitions: int


def excuse(paths: Paths, group: Sequence[Path]) -> Excuse | None:
    """The least assumption that explains all deliveries of these messages by one partition, not being ready
    at some of them; None: there is none."""
    records = [seen.record for path in group for seen in path.seen]
    held = [paths.held(record) for record in records]
    if everywhere := reduce(and_, held):
        return Excuse("REB-13", everywhere)
    waiting = [paths.waiting(record) for record in records]
    if len(records) == 1 and waiting[0] != paths.timeline.everything:
        return None  # it may as well be somebody else's
    either = reduce(and_, (mine | kept for mine, kept in zip(held, waiting, strict=True)))
    return Excuse("REB-7", either) if either else None


def report_astray(paths: Paths, group: Sequence[Path], found: Excuse | None, report: Report) -> None:
    """Make the finding. Without an excuse: REB-2, for one message."""
    seens = sorted((seen for path in group for seen in path.seen), key=_call)
    if found is None:
        _misdelivered(paths, group[0], seens, report)
        return
    name, bit = next(
        (name, 1 << bit) for name, bit in paths.timeline.bits.items() if found.partitions >> bit & 1
    )
    seen = next(seen for seen in seens if not paths.ready(seen.record) & bit)
    others = [other.record for other in seens if paths.ready(other.record) & bit]
    flow = seen.record.args.get("flow")
    wanted, title, cause, state = _WORDS[found.requirement]
    event = _event(paths.timeline, name, flow if found.requirement == "REB-13" else None, state, seen.record)
    report.find(
        found.requirement,
        cause,
        title,
        (*others[:1], *event, seen.record),
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
    timeline: Timeline, partition: int, flow: str | None, state: str, receive: Record
) -> Iterator[Record]:
    """The last event before the end of the receive by which the partition got into that state."""
    end = FOREVER if receive.ret is None else receive.ret
    events = [
        event
        for pair in timeline.pairs[partition]
        for name, event in pair.states
        if name == state and flow in (None, pair.flow) and event.call <= end
    ]
    return iter(events[-1:])


def _misdelivered(paths: Paths, path: Path, seens: list[Seen], report: Report) -> None:
    mask, seen = -1, seens[0]
    for seen in seens:
        mask &= paths.ready(seen.record)
        if not mask:
            break
    flow = seen.record.args.get("flow")
    before = [other.record for other in seens if other.record.call < seen.record.call]
    if paths.ready(seen.record):
        flows = ", ".join(dict.fromkeys(str(record.args.get("flow")) for record in before))
        why = f"which shared no partition with {flows}, that it came through before"
    else:
        why = "for which no partition was ready"
    events = [
        pair.states[-1][1]
        for pair in paths.timeline.pairs_of.get(flow or "", ())
        if pair.begin.call <= seen.record.call
    ]
    report.find(
        "REB-2",
        "wrong flow",
        "A message came through a flow that its partition is not assigned to",
        (*before[:1], *events[-1:], seen.record),
        f"{path.sent.message.id!r} came through flow {flow}, {why}",
        "only the flow that has the message's partition gets it",
    )


def _call(seen: Seen) -> int:
    return seen.record.call
