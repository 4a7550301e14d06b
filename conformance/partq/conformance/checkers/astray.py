"""Messages that came through a flow for which no partition of theirs was ready: which rule, and the finding.

The table is in `flows.py`. Nothing here chooses what is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import accumulate
from operator import and_
from typing import Final, NamedTuple

from partq.conformance.facts import FOREVER
from partq.conformance.history import Record
from partq.conformance.timeline import Timeline

from .paths import Path, Paths
from .protocol import Report


class Excuse(NamedTuple):
    """What explains all deliveries by one partition, not being ready at some of them: the rule broken, and
    the partitions that it may be. ``sure``: nothing else explains them as well."""

    requirement: str
    partitions: int
    sure: bool


def excuse(paths: Paths, group: Sequence[Path]) -> Excuse | None:
    """The least assumption that explains all deliveries of these messages by one partition; None: none."""
    records = [seen.record for path in group for seen in path.seen]
    held = [paths.held(record) for record in records]
    if everywhere := reduce(and_, held):
        return Excuse("REB-13", everywhere, True)
    waiting = [paths.waiting(record) for record in records]
    either = reduce(and_, (mine | kept for mine, kept in zip(held, waiting, strict=True)))
    if not either:
        return None
    kept = [mask & ~paths.served(record) for mask, record in zip(waiting, records, strict=True)]
    return Excuse("REB-7", either, _surely_kept(held, kept, paths.timeline.everything))


def _surely_kept(held: Sequence[int], kept: Sequence[int], everything: int) -> bool:
    """Whether, by all its other deliveries, a message was surely in a partition kept for a lost flow when it
    was delivered; and not perhaps in one that another flow had."""
    before = accumulate(held, and_, initial=everything)
    after = list(accumulate(reversed(held), and_, initial=everything))[-2::-1]
    others = [a & b for a, b in zip(before, after, strict=False)]
    return any(other and not other & ~mask for other, mask in zip(others, kept, strict=True))


def judge_astray(paths: Paths, report: Report) -> bool:
    """REB-2, REB-13 and REB-7 by single messages. Whether any came through a wrong flow.

    One message that only REB-2 explains is enough to take them all for that.
    """
    astray = [(path, excuse(paths, [path])) for path in paths.by_id.values() if not path.ready]
    wrong = any(found is None for _, found in astray)
    kept = any(found is not None and found.requirement == "REB-7" and found.sure for _, found in astray)
    for path, found in astray:
        if wrong or found is None:
            _misdelivered(paths, path, report)
        elif found.sure or kept:
            _excused(paths, path, found, report)
        else:
            reason = "messages came through flows without a partition: of a lost flow's, or of another's"
            report.open.update(dict.fromkeys(("REB-2", "REB-7"), reason))
    return bool(astray)


def _excused(paths: Paths, path: Path, found: Excuse, report: Report) -> None:
    name, bit = next((name, bit) for name, bit in paths.timeline.bits.items() if found.partitions >> bit & 1)
    seen = next(seen for seen in path.seen if not paths.ready(seen.record) >> bit & 1)
    others = [other.record for other in path.seen if paths.ready(other.record) >> bit & 1]
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


def _misdelivered(paths: Paths, path: Path, report: Report) -> None:
    mask, seen = -1, path.first
    for seen in path.seen:
        mask &= paths.ready(seen.record)
        if not mask:
            break
    flow = seen.record.args.get("flow")
    before = [other.record for other in path.seen if other.record.call < seen.record.call]
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
