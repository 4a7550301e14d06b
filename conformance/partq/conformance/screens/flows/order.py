"""REB-3: messages of one partition are first delivered in the order in which they were sent.

If x and y are in one partition and x's send returned before y's was called, then y is not first delivered
before x: not in a receive that returned before the one that first delivers x was called, nor before x in
one answer. What is delivered again is free.

Two messages are certainly in one partition where the broker shows it; where the queue has only one; and, with
flows, where they have one key and each came through a flow that had one and the same partition only
(`facts.candidate_partitions`). With one key alone, either order or routing (ROUTE-1, ROUTE-2) is broken if y
comes first, and REB-3 is left open, unless the key was seen to be apart (`affinity.py` then has
it). What numbers say of order is `delivery.order`'s.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from functools import reduce
from itertools import accumulate, groupby
from operator import and_
from typing import Final, NamedTuple

from partq.conformance.facts.candidate_partitions import Paths
from partq.conformance.facts.index import CALL, FOREVER, Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.records import out_of_order, returned
from partq.conformance.screens.attribution import applies
from partq.conformance.screens.flows.returned import judge_returned
from partq.conformance.screens.protocol import Report, Screen
from partq.model.operations import Outcome


class _FirstOfFlow(NamedTuple):
    """A message and its first delivery."""

    life: Lifetime
    seen: Observation

    @property
    def returned(self) -> int:
        """When that receive returned."""
        return returned(self.seen.record)

    @property
    def accepted(self) -> int:
        """When it certainly was accepted; `FOREVER`: never certainly, or only with a transaction."""
        return FOREVER if "txn" in self.life.record.args else self.life.accepted

    @property
    def again(self) -> bool:
        """Whether the broker says that it was delivered before, unseen."""
        return bool(self.seen.delivery.redelivered or self.seen.delivery.delivery_count)


Inversion = tuple[_FirstOfFlow, _FirstOfFlow]
"""(came first, was sent first)."""


def check(facts: Facts) -> Report:
    """REB-3, wherever it applies."""
    report = Report()
    if not facts.profile.flows and not applies(facts, "REB-3"):
        return report
    unseen = min((r.call for r in facts.receives if r.outcome == Outcome.UNKNOWN), default=FOREVER)
    if facts.profile.flows:
        _judge_marks(facts, report, unseen)
        judge_returned(facts, report, unseen)
    by_key = facts.profile.flows and facts.entity.partitions > 1
    torn = []
    for group in _groups(facts, by_key):
        report.count("REB-3", _comparable(group))
        if _suspicious(group) and _inversions(group, unseen):
            torn.append(group)
    for group in torn:
        for part in _of_one_partition(facts, group) if by_key else [group]:
            for inversion in _inversions(part, unseen):
                _report(inversion, report)
    if torn and not report.findings and not (facts.assignment_events and _explained(facts.derive(Paths))):
        report.open["REB-3"] = (
            "messages of one key came out of order, and may or may not have been in one partition: REB-3, "
            "ROUTE-1, ROUTE-2 or KEY-8 is broken. As many flows as partitions would show it"
        )
    return report


def _judge_marks(facts: Facts, report: Report, unseen: int) -> None:
    """A message is marked as redelivered when it comes again, and only then. A wrong mark means that its
    delivery is none of those that the history shows, or that it was given out of turn. What a flow had unread
    when it went, or was handed off, is marked, too."""
    later = sorted((*facts.flows, *facts.disruptions), key=CALL)[1:]  # a flow before them may have had it
    for life in facts.derive(Lifetimes).delivered:
        first = life.deliveries[0]
        had = first.delivery.redelivered and any(
            one.call <= first.ret and life.possibly_from <= returned(one) for one in later
        )
        wrong = _mismarked(life.deliveries, -1 if had else unseen)
        if wrong is not None:
            said = "again" if wrong.delivery.redelivered else "for the first time"
            why = f"record {wrong.record.i} shows {life.id!r} as delivered {said}, which it was not"
            report.ambiguous(("REB-3", "RCV-1", "RCV-7"), why)


def _mismarked(seens: Sequence[Observation], unseen: int) -> Observation | None:
    """The first delivery whose mark is wrong for certain. They are in order of calls. ``unseen``: from then
    on a flow may have had the message unread."""
    earliest = FOREVER
    for n, seen in enumerate(seens):
        marked = seen.delivery.redelivered
        alone = n == 0 and (len(seens) == 1 or seens[1].call > seen.ret)
        if marked and alone and unseen > seen.ret:
            return seen
        if marked is False and earliest < seen.call:
            return seen
        earliest = min(earliest, seen.ret)
    return None


def _groups(facts: Facts, by_key: bool) -> Iterator[list[_FirstOfFlow]]:
    """Messages that should be in one partition, in order of their first deliveries."""
    groups: dict[Hashable, list[_FirstOfFlow]] = {}
    alone = facts.entity.partitions == 1
    for life in facts.derive(Lifetimes).delivered:
        seen = life.deliveries[0]
        place = 0 if alone else life.sent.key if by_key else seen.delivery.partition
        if place is not None:
            groups.setdefault(place, []).append(_FirstOfFlow(life, seen))
    return (group for group in groups.values() if len(group) > 1)


def _comparable(group: list[_FirstOfFlow]) -> int:
    """How many messages another of the group was certainly sent before."""
    earliest = FOREVER
    for first in group:
        ret = first.life.record.ret
        if ret is not None and ret < earliest:
            earliest = ret
    return sum(first.life.record.call > earliest for first in group)


def _suspicious(group: list[_FirstOfFlow]) -> bool:
    """Whether there may be an inversion; nothing needs a closer look otherwise."""
    return out_of_order(first.life.record for first in group)


def _of_one_partition(facts: Facts, group: list[_FirstOfFlow]) -> list[list[_FirstOfFlow]]:
    """Those messages of a key that each came through a flow with one and the same partition only."""
    parts: dict[int, list[_FirstOfFlow]] = {}
    paths = facts.derive(Paths).by_id if facts.assignment_events else {}
    for first in group:
        path = paths.get(first.life.id)
        if path is not None and path.ready.bit_count() == 1:
            parts.setdefault(path.ready, []).append(first)
    return list(parts.values())


def _explained(paths: Paths) -> bool:
    """Whether a key was seen to be apart: then the open question has its answer."""
    return any(not reduce(and_, (path.ready for path in group)) for group in paths.by_key.values())


def _inversions(group: list[_FirstOfFlow], unseen: int) -> list[Inversion]:
    """For each message that came too late the last-sent one that came before it. ``unseen``: from then on a
    receive may have delivered what it did not show."""
    known = [first for first in group if first.returned < unseen]
    by_return = sorted(known, key=lambda first: first.returned)
    returns = [first.returned for first in by_return]
    latest = list(accumulate(by_return, _sent_later))
    found = []
    for first in known:
        at = bisect_left(returns, first.seen.record.call)
        if at and _overtook(latest[at - 1], first):
            found.append((latest[at - 1], first))
    return found + _within_answers(known)


def _within_answers(group: list[_FirstOfFlow]) -> list[Inversion]:
    found = []
    for _, together in groupby(group, lambda first: first.seen.record.i):
        answer = list(together)
        latest = accumulate(answer, _sent_later)
        assignments = zip(latest, answer[1:], strict=False)
        found += [(before, first) for before, first in assignments if _overtook(before, first)]
    return found


def _sent_later(a: _FirstOfFlow, b: _FirstOfFlow) -> _FirstOfFlow:
    return b if b.life.record.call > a.life.record.call else a


def _overtook(before: _FirstOfFlow, late: _FirstOfFlow) -> bool:
    return late.accepted < before.life.record.call and not late.again


def _report(inversion: Inversion, report: Report) -> None:
    before, late = inversion
    flows = list(dict.fromkeys(str(one.seen.record.args.get("flow", "")) for one in inversion))
    through = f" (through flow {' and '.join(flows)})" if flows != [""] else ""
    report.find(
        "REB-3",
        "across flows" if len(flows) > 1 else "one consumer",
        "Messages of one partition out of order",
        (late.life.record, before.life.record, before.seen.record, late.seen.record),
        f"{late.life.id!r} was accepted before {before.life.id!r} was sent, into one "
        f"partition, and first delivered after it{through}",
        f"{late.life.id!r} is first delivered before {before.life.id!r}",
    )


SCREEN: Final = Screen(
    "flow order",
    ("REB-3",),
    check,
    blind_spots=(
        "With flows, messages with different keys are compared only where the queue has one partition.",
        "From the first receive of unknown outcome on nothing is judged: it may have delivered what it did "
        "not show.",
        "Order within a batch is not judged. That of what is delivered again is where a flow was unbound, of "
        "messages with one key that were not abandoned; that it is marked so is.",
        "What goes back when a flow is lost without an unbind, or when a handoff ends, has no place: it may "
        "come again in any order.",
        "Messages whose ID is sent more than once are left out.",
    ),
)
