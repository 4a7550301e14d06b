"""Order domains (ORD): first deliveries in order of acceptance, one in flight, what came back first.

x was accepted before y where x's send returned before y's was called. Of one domain, y then is not delivered
for the first time before x, nor while x is back, and nothing is delivered by a receive that lies within the
time for which another message was certainly in flight. Numbers are not asked.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from partq.conformance.facts.index import CALL, FOREVER, Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.records import REMOVALS, deletes
from partq.conformance.history import Record
from partq.conformance.screens.attribution import applies
from partq.conformance.screens.protocol import Report, Screen
from partq.model.operations import Outcome
from partq.model.profiles import OrderDomain


class _First(NamedTuple):
    """A message and its first delivery."""

    life: Lifetime
    seen: Observation

    @property
    def sent(self) -> int:
        """When its send was called."""
        return self.life.record.call

    @property
    def accepted(self) -> int:
        """When it certainly was accepted; `FOREVER`: never certainly, or only with a transaction."""
        return FOREVER if "txn" in self.life.record.args else self.life.accepted


class _Flight(NamedTuple):
    """A delivery whose message certainly was in flight from ``start`` to just before ``end``."""

    start: int
    end: int
    life: Lifetime
    seen: Observation


class _Back(NamedTuple):
    """A message that certainly had come back at ``since`` and was delivered again by ``again``."""

    since: int
    again: Observation
    first: _First


def check(facts: Facts) -> Report:
    """ORD-1 to ORD-3, wherever they apply."""
    report = Report()
    if facts.profile.order is OrderDomain.NONE:
        return report
    unknown = (r.call for r in facts.receives if r.outcome == Outcome.UNKNOWN)
    unseen = min(unknown, default=FOREVER)
    receives = _Receives(facts.receives)
    for group in _domains(facts):
        if applies(facts, "ORD-1"):
            _judge_order(group, unseen, report)
        if applies(facts, "ORD-2"):
            _judge_flights(group, receives, report)
        if applies(facts, "ORD-3"):
            _judge_returned(group, unseen, report)
    return report


def _domains(facts: Facts) -> Iterator[list[_First]]:
    """The messages of each domain that were delivered, in the order of their sends."""
    groups: dict[Hashable, list[_First]] = {}
    by_key, alone = facts.profile.order is OrderDomain.KEY, facts.entity.partitions == 1
    for life in facts.derive(Lifetimes).delivered:
        domain = life.sent.key if by_key else 0 if alone else life.partition
        if domain is not None:
            groups.setdefault(domain, []).append(_First(life, life.deliveries[0]))
    return (sorted(group, key=attrgetter("sent")) for group in groups.values() if len(group) > 1)


# ORD-1


def _judge_order(group: list[_First], unseen: int, report: Report) -> None:
    """``unseen``: from then on a receive may have delivered what it did not show."""
    earliest = accumulate((first.accepted for first in group), min)
    report.count("ORD-1", sum(seen < first.sent for seen, first in zip(earliest, group[1:], strict=False)))
    known = sorted((first for first in group if first.seen.ret < unseen), key=_returned)
    returns = [first.seen.ret for first in known]
    latest = list(accumulate(known, _sent_later))
    for first in known:
        at = bisect_left(returns, first.seen.call)
        if at and _overtook(latest[at - 1], first):
            _report_order(latest[at - 1], first, report)
    for before, first in _within_answers(known):
        _report_order(before, first, report)


def _returned(first: _First) -> int:
    return first.seen.ret


def _sent_later(a: _First, b: _First) -> _First:
    return b if b.sent > a.sent else a


def _overtook(before: _First, late: _First) -> bool:
    return late.accepted < before.sent and not (
        late.seen.delivery.delivery_count or late.seen.delivery.redelivered
    )


def _within_answers(firsts: Iterable[_First]) -> Iterator[tuple[_First, _First]]:
    """Of messages with one key in one answer those that stand behind one that was sent later."""
    answers: dict[tuple[int, str], list[_First]] = {}
    for first in firsts:
        if first.life.sent.key is not None:
            answers.setdefault((first.seen.record.i, first.life.sent.key), []).append(first)
    for together in answers.values():
        if len(together) > 1:
            places = {shown.id: n for n, shown in enumerate(together[0].seen.record.messages)}
            together.sort(key=lambda first: places[first.life.id])
            latest = accumulate(together, _sent_later)
            pairs = zip(latest, together[1:], strict=False)
            yield from ((before, first) for before, first in pairs if _overtook(before, first))


def _report_order(before: _First, late: _First, report: Report) -> None:
    one, other = late.life.id, before.life.id
    report.find(
        "ORD-1",
        "first deliveries",
        "A later message was delivered before an earlier one",
        (late.life.record, before.life.record, before.seen.record, late.seen.record),
        f"{one!r} was accepted before {other!r} was sent, in one order domain, and first delivered after it.",
        f"{one!r} is first delivered before {other!r}",
    )


# ORD-2


class _Receives:
    """Whether some receive lies within a stretch of time."""

    def __init__(self, receives: Iterable[Record]) -> None:
        ordered = sorted((r.call, r.ret) for r in receives if r.ret is not None and r.outcome == Outcome.OK)
        self._calls = [call for call, _ in ordered]
        self._soonest = list(accumulate((ret for _, ret in reversed(ordered)), min))[::-1]

    def within(self, start: int, end: int) -> bool:
        """Whether one was called after ``start`` and returned before ``end``."""
        at = bisect_right(self._calls, start)
        return at < len(self._calls) and self._soonest[at] < end


def _judge_flights(group: list[_First], receives: _Receives, report: Report) -> None:
    flights = sorted((flight for first in group for flight in _flights(first.life)), key=attrgetter("start"))
    starts = [flight.start for flight in flights]
    nothing: tuple[_Flight, ...] = ()
    lasting = list(accumulate(flights, _lasting, initial=nothing))
    for first in group:
        for seen in first.life.deliveries:
            among = lasting[bisect_left(starts, seen.call)]
            blocking = next((flight for flight in among if flight.life is not first.life), None)
            if blocking is not None and blocking.end > seen.ret:
                report.count("ORD-2")
                _report_flight(blocking, first.life, seen, report)
    for one, other in pairwise(group):
        held = one.seen
        start, end = max(held.ret, other.accepted), min(held.held_until, other.seen.ret)
        report.count("ORD-2", not deletes(held.record) and receives.within(start, end))


def _flights(life: Lifetime) -> Iterator[_Flight]:
    """When the message certainly was in flight: no lock of it was settled, lost ones included (RCV-8)."""
    settled = sorted(one.call for seen in life.deliveries for one in seen.possibly_settled_by)
    for seen in life.deliveries:
        if not deletes(seen.record):
            at = bisect_left(settled, seen.call)
            end = min(seen.held_until, settled[at] if at < len(settled) else FOREVER)
            yield _Flight(seen.ret, end, life, seen)


def _lasting(known: tuple[_Flight, ...], flight: _Flight) -> tuple[_Flight, ...]:
    """Those two of different messages that end last."""
    best: dict[str, _Flight] = {}
    for one in sorted((*known, flight), key=attrgetter("end"), reverse=True):
        best.setdefault(one.life.id, one)
    return tuple(best.values())[:2]


def _report_flight(flight: _Flight, life: Lifetime, seen: Observation, report: Report) -> None:
    held = flight.life.id
    report.find(
        "ORD-2",
        "in flight",
        "A message was delivered while another of its order domain was in flight",
        (flight.life.record, life.record, flight.seen.record, seen.record),
        f"{life.id!r} was delivered to {seen.record.proc} while {flight.seen.record.proc} certainly held "
        f"{held!r}, of the same order domain.",
        f"nothing of that domain until {held!r} is settled or comes back",
    )


# ORD-3


def _judge_returned(group: list[_First], unseen: int, report: Report) -> None:
    returned = sorted((back for first in group for back in _returns(first)), key=attrgetter("since"))
    report.count("ORD-3", sum(_was_tried(back, group) for back in returned))
    waiting: list[tuple[int, int, _Back]] = []
    at = 0
    for first in sorted(group, key=lambda first: first.seen.call):
        while at < len(returned) and returned[at].since < first.seen.call:
            heappush(waiting, (returned[at].first.accepted, at, returned[at]))
            at += 1
        while waiting and waiting[0][2].again.call < first.seen.call:
            heappop(waiting)
        if waiting and first.seen.ret < unseen and waiting[0][0] < first.sent:
            back = waiting[0][2]
            if first.seen.ret < back.again.call:
                _report_returned(back, first, report)


def _returns(first: _First) -> Iterator[_Back]:
    """When the message was certainly back until it was delivered again."""
    for seen, again in pairwise(sorted(first.life.deliveries, key=CALL)):
        removed = any(one.op in REMOVALS for one in seen.possibly_settled_by)
        if seen.ended < again.call and not removed and not deletes(seen.record):
            yield _Back(seen.ended, again, first)


def _was_tried(back: _Back, group: Sequence[_First]) -> bool:
    """Whether the next message of the domain waited for its first delivery then."""
    at = bisect_right(group, back.first.sent, key=attrgetter("sent"))
    if at == len(group):
        return False
    other = group[at]
    return back.first.accepted < other.sent and other.accepted < back.again.call <= other.seen.ret


def _report_returned(back: _Back, before: _First, report: Report) -> None:
    one, other = back.first.life.id, before.life.id
    report.find(
        "ORD-3",
        "came back",
        "A later message was delivered before one that had come back",
        (back.first.seen.record, before.life.record, before.seen.record, back.again.record),
        f"{other!r}, sent after {one!r} was accepted, in one order domain, was first delivered while {one!r} "
        "was back and waited.",
        f"{one!r} again before {other!r}",
    )


SCREEN: Final = Screen(
    "order domains",
    ("ORD-1", "ORD-2", "ORD-3"),
    check,
    blind_spots=(
        "From the first receive of unknown outcome on neither ORD-1 nor ORD-3 is judged: it may have "
        "delivered what it did not show.",
        "Where a partition is an order domain, and the broker does not show partitions, only a queue with "
        "one partition is judged.",
        "A message that is never delivered, or never again, is overtaken by nobody.",
        "What comes back by a fault, or with its client's connection, has no certain time.",
        "Messages whose ID is sent more than once are left out, and for ORD-1 and ORD-3 those sent in "
        "transactions.",
    ),
    needs=dict.fromkeys(("ORD-2", "ORD-3"), ("receive", "locks")),
)
