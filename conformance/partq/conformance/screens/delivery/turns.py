"""Deliveries in the order of sends: order domains (ORD-1 to ORD-3), and partitions of flows (REB-3).

x was accepted before y where x's send returned before y's was called. Of one group, y then is not delivered
for the first time before x (`delivery.order`), nor while x is back and waits (`_passed`); in an order domain
nothing is delivered by a receive that lies within the time for which another message was certainly in flight.

A group is an order domain; for REB-3 a partition that the broker shows, the queue if it has only one
partition, or with flows messages of one key that each came through a flow with one and the same partition
only (`facts.candidate_partitions`)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import accumulate, islice, pairwise, takewhile
from operator import attrgetter
from typing import Final, NamedTuple

from partq.conformance.facts.candidate_partitions import Paths
from partq.conformance.facts.index import CALL, FOREVER, Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes, was_delivered
from partq.conformance.facts.records import REMOVALS
from partq.conformance.history import Record
from partq.conformance.screens.attribution import applies
from partq.conformance.screens.delivery.order import First, find_inversions
from partq.conformance.screens.protocol import Report, Screen
from partq.model.profiles import OrderDomain

LOOKED_AT: Final = 64
"""The limit of returned messages that are checked: those accepted first."""


class _Flight(NamedTuple):
    """A delivery whose message certainly was in flight from ``start`` to just before ``end``."""

    start: int
    end: int
    life: Lifetime
    seen: Observation


class _Back(NamedTuple):
    """A message that certainly had come back at ``since`` and waited until ``until``. ``seen``: by the
    delivery that ended so."""

    since: int
    until: int
    seen: Observation
    first: First


def check(facts: Facts) -> Report:
    """Check the rules that apply."""
    report = Report()
    unseen = min((r.call for r in facts.receives if r.unknown), default=FOREVER)
    if facts.profile.order is not OrderDomain.NONE:
        _check_domains(facts, report, unseen)
    if facts.profile.flows or applies(facts, "REB-3"):
        _check_partitions(facts, report, unseen)
    return report


def _check_domains(facts: Facts, report: Report, unseen: int) -> None:
    """ORD-1 to ORD-3. ``unseen``: from then on a receive may have delivered what it did not show. What is
    first shown as redelivered came back, too: a client had prefetched it."""
    by_key = facts.profile.order is OrderDomain.KEY
    for group in _groups(facts, lambda life: life.sent.key if by_key else life.partition):
        if applies(facts, "ORD-1"):
            earliest = accumulate((first.accepted for first in group), min)
            in_turn = (seen < first.sent for seen, first in zip(earliest, group[1:], strict=False))
            report.count("ORD-1", sum(in_turn))
            find_inversions(report, "ORD-1", group, unseen, lambda first: first.life.sent.key)
        if applies(facts, "ORD-2"):
            _check_flights(group, facts.receives, report)
        if applies(facts, "ORD-3"):
            backs = sorted((back for first in group for back in _returns(first)), key=attrgetter("since"))
            new = [first for first in group if not was_delivered(first.seen)]
            report.count("ORD-3", sum(_was_tried(back, new) for back in backs))
            for back, first in _passed(backs, new, unseen):
                one, other = first.life, back.first.life
                why = f"{one.id!r}, sent after {other.id!r} was accepted, in one order domain, was first "
                why += f"delivered while {other.id!r} was back and waited."
                report.find("ORD-3", "came back", (back.seen.record, one.record, first.seen.record), why)


def _groups(facts: Facts, place: Callable[[Lifetime], Hashable]) -> list[list[First]]:
    """Messages of one place that were delivered, in the order of their sends."""
    groups: dict[Hashable, list[First]] = {}
    alone = facts.entity.partitions == 1
    for life in facts.derive(Lifetimes).delivered:
        where = 0 if alone and facts.profile.order is not OrderDomain.KEY else place(life)
        if where is not None:
            accepted = FOREVER if "txn" in life.record.args else life.accepted
            first = First(life, life.deliveries[0], life.record.call, accepted)
            groups.setdefault(where, []).append(first)
    return [sorted(group, key=attrgetter("sent")) for group in groups.values() if len(group) > 1]


# What came back.


def _passed(backs: Sequence[_Back], group: Iterable[First], unseen: int) -> Iterator[tuple[_Back, First]]:
    """Each of these deliveries, mostly first ones, that came while a message accepted before its own was sent
    was back; ``backs`` are in order of time."""
    waiting: list[tuple[int, int, _Back]] = []
    at = 0
    for first in sorted(group, key=attrgetter("seen.call")):
        while at < len(backs) and backs[at].since < first.seen.call:
            heappush(waiting, (backs[at].first.accepted, at, backs[at]))
            at += 1
        while waiting and waiting[0][2].until < first.seen.call:
            heappop(waiting)
        if not waiting or waiting[0][0] >= first.sent or first.seen.ret >= unseen:
            continue  # the first of them was accepted first
        before = (back for accepted, _, back in waiting[:LOOKED_AT] if accepted < first.sent)
        back = next((back for back in before if first.seen.ret < back.until), None)
        if back is not None:
            yield back, first


def _returns(first: First) -> Iterator[_Back]:
    """When the message was certainly back until it was delivered again."""
    for seen, again in pairwise(sorted(first.life.deliveries, key=CALL)):
        removed = any(one.op in REMOVALS for one in seen.possibly_settled_by)
        if seen.ended < again.call and not removed and not seen.record.deletes:
            yield _Back(seen.ended, again.call, seen, first)


def _was_tried(back: _Back, group: Sequence[First]) -> bool:
    """Whether the next message of the domain waited for its first delivery then."""
    at = bisect_right(group, back.first.sent, key=attrgetter("sent"))
    other = group[at] if at < len(group) else None
    if other is None or back.first.accepted >= other.sent:
        return False
    return other.accepted < back.until <= other.seen.ret


# ORD-2


def _check_flights(group: list[First], receives: list[Record], report: Report) -> None:
    flights = sorted((flight for first in group for flight in _flights(first.life)), key=attrgetter("start"))
    starts = [flight.start for flight in flights]
    nothing: tuple[_Flight, ...] = ()
    lasting = list(accumulate(flights, _lasting, initial=nothing))
    for first in group:
        for seen in first.life.deliveries:
            among = lasting[bisect_left(starts, seen.call)]
            held = next((flight for flight in among if flight.life is not first.life), None)
            if held is not None and held.end > seen.ret:
                report.count("ORD-2")
                why = f"{first.life.id!r} was delivered to {seen.record.proc} while {held.seen.record.proc} "
                why += f"certainly held {held.life.id!r}, of the same order domain."
                witness = (held.life.record, first.life.record, held.seen.record, seen.record)
                report.find("ORD-2", "in flight", witness, why)
    for one, other in pairwise(group):
        start, end = max(one.seen.ret, other.accepted), min(one.seen.held_until, other.seen.ret)
        report.count("ORD-2", not one.seen.record.deletes and _any_within(receives, start, end))


def _any_within(receives: list[Record], start: int, end: int) -> bool:
    """Whether a receive that answered ok was called after ``start`` and returned before ``end``."""
    at = bisect_right(receives, start, key=CALL)
    following = takewhile(lambda one: one.call < end, islice(receives, at, None))
    return any(one.ok and one.end < end for one in following)


def _flights(life: Lifetime) -> Iterator[_Flight]:
    """When the message certainly was in flight: no lock of it was settled, lost ones included (RCV-8)."""
    settled = sorted(one.call for seen in life.deliveries for one in seen.possibly_settled_by)
    for seen in life.deliveries:
        if not seen.record.deletes:
            at = bisect_left(settled, seen.call)
            end = min(seen.held_until, settled[at] if at < len(settled) else FOREVER)
            yield _Flight(seen.ret, end, life, seen)


def _lasting(known: tuple[_Flight, ...], flight: _Flight) -> tuple[_Flight, ...]:
    """Those two of different messages that end last."""
    best: dict[str, _Flight] = {}
    for one in sorted((*known, flight), key=attrgetter("end"), reverse=True):
        best.setdefault(one.life.id, one)
    return tuple(best.values())[:2]


# REB-3


def _check_partitions(facts: Facts, report: Report, unseen: int) -> None:
    """REB-3. With flows, what went back when a flow was unbound may also have been lost, or its key apart."""
    by_key = facts.profile.flows and facts.entity.partitions > 1
    unbound = {
        record.args["flow"]: record.ret + facts.header.lateness
        for record in (facts.flows if facts.profile.flows else ())
        if record.op == "unbind" and record.ok and record.ret is not None
    }
    for group in _groups(
        facts, lambda life: life.sent.key if by_key else life.deliveries[0].delivery.partition
    ):
        soonest = min(first.life.record.end for first in group)
        report.count("REB-3", sum(first.sent > soonest for first in group))
        for part in _of_one_partition(facts, group) if by_key else (group,):
            find_inversions(report, "REB-3", part, unseen, lambda _: True)
        until = min(unseen, facts.dead[0].start if facts.dead else FOREVER)
        left = [back for first in group if unbound for back in _left(first, unbound, until)]
        in_place = [
            First(first.life, seen, first.sent, first.accepted)
            for first in (group if left else ())
            if not _moved(first.life.deliveries)
            for seen in first.life.deliveries
        ]
        for back, first in _passed(sorted(left, key=attrgetter("since")), in_place, until):
            why = f"{back.first.life.id!r} was left unsettled by a flow that went, yet record "
            why += (
                f"{first.seen.record.i} shows {first.life.id!r}, sent later, before it: it did not go back "
            )
            why += "to its place (REB-3), was lost (RCV-2), or their key is apart"
            report.ambiguous(("REB-3", "RCV-2", "KEY-8", "ROUTE-1", "ROUTE-2"), why)


def _of_one_partition(facts: Facts, group: list[First]) -> list[list[First]]:
    """Those messages of a key that each came through a flow with one and the same partition only."""
    parts: dict[int, list[First]] = {}
    paths = facts.derive(Paths).by_id if facts.assignment_events else {}
    for first in group:
        path = paths.get(first.life.id)
        if path is not None and path.ready.bit_count() == 1:
            parts.setdefault(path.ready, []).append(first)
    return list(parts.values())


def _left(first: First, unbound: dict[str, int], until: int) -> Iterator[_Back]:
    """When the message was back, as a flow that had it unsettled was unbound."""
    seens = first.life.deliveries
    if not first.life.record.ok or _moved(seens):
        return
    for seen in seens:
        gone = unbound.get(seen.record.args.get("flow", ""), FOREVER)
        if seen.delivery.lock is not None and gone > seen.ret and not seen.possibly_settled_by:
            others = (other.call for other in seens if other is not seen and other.ret >= seen.call)
            yield _Back(gone, min(others, default=until), seen, first)


def _moved(seens: Sequence[Observation]) -> bool:
    """Whether one of its locks may have been settled, but for completing the last: where an abandoned message
    stands is free."""
    return any(
        settlement.op != "complete" or seen is not seens[-1]
        for seen in seens
        for settlement in seen.possibly_settled_by
    )


SCREEN: Final = Screen(
    "turns",
    ("ORD-1", "ORD-2", "ORD-3", "REB-3"),
    check,
    blind_spots=(
        "From the first receive of unknown outcome on neither ORD-1, ORD-3 nor REB-3 is judged: it may have "
        "delivered what it did not show.",
        "Where a partition is an order domain, and the broker does not show partitions, only a queue with "
        "one partition is judged.",
        "A message that is never delivered, or never again, is not overtaken.",
        "What comes back by a fault, or with its client's connection, has no certain time. With flows what "
        "goes back is followed where a flow was unbound, of messages that were not abandoned.",
        "Messages whose ID is sent more than once are left out, and for first deliveries those sent in "
        "transactions.",
    ),
    needs=dict.fromkeys(("ORD-2", "ORD-3"), ("receive", "locks")),
)
