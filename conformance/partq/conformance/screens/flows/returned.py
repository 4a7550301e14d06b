"""REB-3 of what goes back to its place: what a flow that went had not acknowledged is delivered again before
younger messages of its partition.

Of two messages with one key the older was at a flow that was unbound, and nobody settled it; the younger is
delivered after that, before the older comes again. So the older did not go back to its place (REB-3), was
lost (RCV-2), or the key is apart (KEY-8, ROUTE-1, ROUTE-2).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import Final

from partq.conformance.facts.index import FOREVER, Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.records import returned
from partq.conformance.history import Record
from partq.conformance.screens.protocol import Report
from partq.model.operations import Outcome

_SCAN: Final = 64
"""So many deliveries of the key after a flow went are looked at, and so many of one message."""


def judge_returned(facts: Facts, report: Report, unseen: int) -> None:
    """Add to the report the messages that did not go back to their place. ``unseen``: from then on a receive
    may have delivered what it did not show."""
    unbound = {
        record.args["flow"]: record.ret + facts.header.lateness
        for record in facts.flows
        if record.op == "unbind" and record.outcome == Outcome.OK and record.ret is not None
    }
    if not unbound:
        return
    until = min(unseen, facts.dead[0].start if facts.dead else FOREVER)
    for group in _groups(facts):
        late = _overtaken(group, unbound, until)
        if late is not None:
            older, younger = late
            why = (
                f"{older.id!r} was left unsettled by a flow that went, yet record "
                f"{younger.record.i} shows {younger.delivery.id!r}, sent later with the same key, before it: "
                f"it did not go back to its place (REB-3), was lost (RCV-2), or the key is apart"
            )
            report.ambiguous(("REB-3", "RCV-2", "KEY-8", "ROUTE-1", "ROUTE-2"), why)


def _groups(facts: Facts) -> Iterator[list[Lifetime]]:
    """Messages that should be in one partition, and stand in the order of their sends wherever they are."""
    groups: dict[Hashable, list[Lifetime]] = {}
    alone = facts.entity.partitions == 1
    for life in facts.derive(Lifetimes).delivered:
        if (alone or life.sent.key is not None) and not _moved(life.deliveries):
            groups.setdefault(None if alone else life.sent.key, []).append(life)
    return (group for group in groups.values() if len(group) > 1)


def _moved(seens: Sequence[Observation]) -> bool:
    """Whether one of its locks may have been settled, but for completing the last: where an abandoned message
    stands is free."""
    return any(
        settlement.op != "complete" or seen is not seens[-1]
        for seen in seens
        for settlement in seen.possibly_settled_by
    )


def _overtaken(
    group: list[Lifetime], unbound: dict[str, int], until: int
) -> tuple[Lifetime, Observation] | None:
    """A message, and the delivery of a younger one after it had gone back and before it came again."""
    deliveries = sorted(((seen, life.record) for life in group for seen in life.deliveries), key=_called)
    for older in group:
        sent = older.record
        if sent.outcome != Outcome.OK or "txn" in sent.args or len(older.deliveries) > _SCAN:
            continue
        for seen in older.deliveries:
            gone = unbound.get(seen.record.args.get("flow", ""), FOREVER)
            if seen.delivery.lock is None or gone <= seen.ret or seen.possibly_settled_by:
                continue
            others = (o.record for o in older.deliveries if o is not seen and o.ret >= seen.call)
            again = min((other.call for other in others), default=until)
            after = bisect_right(deliveries, gone, key=_called)
            for later, younger in islice(deliveries, after, after + _SCAN):
                came_before = later.ret < min(until, again)
                if came_before and returned(sent) < younger.call:
                    return older, later
    return None


def _called(entry: tuple[Observation, Record]) -> int:
    return entry[0].record.call
