"""Who has which partition, as the broker tells it: one flow at a time, and states that are true.

Who answers for what (one anomaly, one rule):

=============================================================================================  ======
two flows have a partition at a time                                                           REB-1
``unbound``, though its flow is surely bound; ``ready`` or ``paused`` for a flow surely gone   REB-13
paused for longer than the handoff time, or on and on though all is settled                    REB-14
a new flow is ready although messages of the partition are surely unsettled at the old one     REB-14
=============================================================================================  ======

That a paused flow gets nothing new is `flows.py`'s, that a handoff ends at all `rebalancing.py`'s.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise
from typing import Final

from partq.conformance.facts import FOREVER, Facts, Seen
from partq.conformance.history import Record
from partq.conformance.timeline import Life, Pair, Timeline
from partq.conformance.times import exact
from partq.model.messages import Delivery
from partq.model.operations import Outcome

from .attribution import STRAYED
from .paths import Paths
from .protocol import Checker, Report


def check(facts: Facts) -> Report:
    """REB-1, REB-13, REB-14."""
    report = Report()
    if facts.profile.flows and facts.assignments:
        timeline = facts.derive(Timeline)
        for pairs in timeline.pairs.values():
            _one_owner(pairs, facts.header.skew_ns, timeline.horizon, report)
        _states(facts, timeline, report)
        _Handoffs(facts, timeline, report).check()
    return report


def _one_owner(pairs: list[Pair], skew: int, horizon: int, report: Report) -> None:
    report.count("REB-1", len(pairs))
    latest = None
    for pair in pairs:
        if latest is not None and min(latest.told_until, horizon) - pair.begin.call > skew:
            still = latest.states[-1][0] if latest.end is None else f"ended only at {exact(latest.end.call)}"
            report.find(
                "REB-1",
                "two owners",
                "One partition, two flows",
                (latest.begin, pair.begin) if latest.end is None else (latest.begin, pair.begin, latest.end),
                f"partition {pair.partition} was given to flow {pair.flow} at {exact(pair.begin.call)} while "
                f"flow {latest.flow} had it ({still})",
                "the old flow's assignment ends before the new one's begins",
            )
        if latest is None or pair.told_until > latest.told_until:
            latest = pair


# REB-13: the states are true.


def _states(facts: Facts, timeline: Timeline, report: Report) -> None:
    skew = facts.header.skew_ns
    lag = max(timeline.grace, facts.entity.rebalance_delay // 2) + skew
    for flow, pairs in timeline.pairs_of.items():
        lives = timeline.lives_of.get(flow, [])
        if not lives:
            report.open.setdefault(
                "REB-13",
                f"partition {pairs[0].partition} was at flow {flow}, of which the history shows no bind",
            )
        for pair in pairs if lives else ():
            for state, event, end in pair.segments():
                if state == "unbound":
                    report.count("REB-13")
                    still = [
                        life for life in lives if _throughout(life, event.call - skew, event.call + skew)
                    ]
                    if still:
                        _untrue(pair, state, event, still[0].bind, "its flow is bound", report)
                    continue
                until = min(pair.ended, timeline.horizon if end is None else end.call)
                gone = _gone(lives, event.call, until, skew, lag)
                report.count("REB-13", int(gone is not None or any(life.sure_end <= until for life in lives)))
                if gone is not None:
                    _untrue(pair, state, event, gone.end or gone.bind, "its flow was not bound", report)


def _throughout(life: Life, start: int, end: int) -> bool:
    return life.sure_start < start and end < life.may_end


def _gone(lives: list[Life], begin: int, until: int, skew: int, lag: int) -> Life | None:
    """The flow's life outside of which it was said to be there. It may be said a little after the end."""
    if not any(life.bind.call - skew <= begin <= life.sure_end + lag for life in lives):
        return lives[0]
    for life in lives:
        over = life.sure_end + lag
        if begin <= over < until and not any(other.maybe_bound(over) for other in lives):
            return life
    return None


def _untrue(pair: Pair, state: str, event: Record, contrary: Record, why: str, report: Report) -> None:
    report.find(
        "REB-13",
        f"untrue {state}",
        "A partition's state is not true",
        (contrary, event),
        f"partition {pair.partition} was {state} at flow {pair.flow} from {exact(event.call)} on, though "
        f"{why}",
        "`unbound` if its flow is gone, `ready` or `paused` only while it is bound",
    )


# REB-14: handoffs.


class _Unsettled:
    """Deliveries, each with an instant of its receive and the instant until which it is unsettled. Asked for
    the one that lasts longest among those received before an instant."""

    def __init__(self, entries: list[tuple[int, int, Seen]]) -> None:
        entries.sort(key=lambda entry: entry[0])
        self.entries = entries
        self.longest = list(accumulate(range(len(entries)), self._longer)) if entries else []

    def _longer(self, a: int, b: int) -> int:
        return b if self.entries[b][1] > self.entries[a][1] else a

    def before(self, time: int) -> tuple[int, int, Seen] | None:
        """(received, until, delivery)."""
        at = bisect_left(self.entries, time, key=lambda entry: entry[0])
        return self.entries[self.longest[at - 1]] if at else None


class _Handoffs:
    """Judges every handoff. ``held``: (flow, partition) -> deliveries surely of that partition, while surely
    unsettled; ``locked``: flow -> all its deliveries, while perhaps unsettled."""

    def __init__(self, facts: Facts, timeline: Timeline, report: Report) -> None:
        self.facts = facts
        self.timeline = timeline
        self.report = report
        self.limit = facts.entity.max_handoff
        self.skew = facts.header.skew_ns
        self.paths = facts.derive(Paths)
        self.calls = [change.call for change in timeline.changes]
        self.held: dict[tuple[str, int], _Unsettled] = {}
        self.locked: dict[str, _Unsettled] = {}

    def check(self) -> None:
        handoffs = [
            (a, b)
            for pairs in self.timeline.pairs.values()
            for a, b in pairwise(pairs)
            if a.flow != b.flow and a.cut is None and self._alive(a.flow, b.begin.call)
        ]
        pauses = [
            (pair, event, end)
            for pairs in self.timeline.pairs.values()
            for pair in pairs
            for state, event, end in pair.segments()
            if state == "paused" and pair.cut is None
        ]
        if handoffs or pauses:
            self._index()
        for old, new in handoffs:
            self._not_early(old, new)
        for pair, event, end in pauses:
            self._not_late(pair, event, end)

    def _alive(self, flow: str, time: int) -> bool:
        lives = self.timeline.lives_of.get(flow, ())
        return any(_throughout(life, time - self.skew, time + self.skew) for life in lives)

    def _index(self) -> None:
        held: dict[tuple[str, int], list[tuple[int, int, Seen]]] = {}
        locked: dict[str, list[tuple[int, int, Seen]]] = {}
        for bit, seen in self.facts.derive(Paths).located():
            if seen.delivery.lock is not None and seen.record.ret is not None:
                place = (seen.record.args.get("flow", ""), bit)
                held.setdefault(place, []).append((seen.record.ret, self._settled(seen)[0], seen))
        for seen in self.facts.locks.values():
            flow = seen.record.args.get("flow", "")
            locked.setdefault(flow, []).append((seen.record.call, self._settled(seen)[1], seen))
        for record in self.facts.receives:
            if record.outcome == Outcome.UNKNOWN:
                entry = (record.call, FOREVER, Seen(_UNSEEN, record))
                locked.setdefault(record.args.get("flow", ""), []).append(entry)
        self.held = {place: _Unsettled(entries) for place, entries in held.items()}
        self.locked = {flow: _Unsettled(entries) for flow, entries in locked.items()}

    def _settled(self, seen: Seen) -> tuple[int, int]:
        """When the delivery was settled at the earliest, and at the latest."""
        earliest = latest = FOREVER
        for settlement in self.facts.settled.get(seen.delivery.lock or "", ()):
            if settlement.outcome != Outcome.ERROR:
                earliest = min(earliest, settlement.call)
            if settlement.outcome == Outcome.OK and settlement.ret is not None:
                latest = min(latest, settlement.ret)
        return earliest, latest

    def _not_early(self, old: Pair, new: Pair) -> None:
        ready = next((event for state, event in new.states if state == "ready"), None)
        held = self.held.get((old.flow, self.timeline.bits[old.partition]))
        if ready is None or held is None or old.end is None:
            return
        state, event = old.states[-1]
        start = old.end if state == "ready" else event
        open_one = held.before(ready.call - self.skew)
        if open_one is None or open_one[0] < old.begin.call or open_one[1] <= start.call:
            return
        self.report.count("REB-14")
        early = open_one[1] > ready.call + self.skew and ready.call + self.skew < start.call + self.limit
        if early and self._sure():
            self._early(old, new, start, ready, open_one[2])

    def _not_late(self, pair: Pair, event: Record, end: Record | None) -> None:
        until = self.timeline.horizon if end is None else end.call
        if bisect_left(self.calls, until) > bisect_left(self.calls, event.call):
            return  # something else happened meanwhile
        slack = self.timeline.grace + self.skew
        if until - event.call > self.limit + slack:
            self._late(pair, event, end, until - event.call, "the handoff time is over")
            return
        paused = min(until, event.call + self.skew + 1)  # what came later is of another partition
        last = self.locked[pair.flow].before(paused) if pair.flow in self.locked else None
        settled = event.call if last is None else max(event.call, last[1])
        self.report.count("REB-14", int(settled < FOREVER and end is not None))
        if until - settled > self.limit // 2 + slack and self._sure():
            self._late(pair, event, end, until - settled, "all that flow had received was settled")

    def _sure(self) -> bool:
        """Whether flows surely get only what is theirs. Otherwise what is unsettled may be elsewhere, and it
        is noted that either is broken."""
        sure = self.paths.sound and self.paths.exclusive
        if not sure:
            reason = "a handoff was too early or too late, or messages came through wrong flows"
            self.report.either(("REB-14", *STRAYED), reason)
        return sure

    def _early(self, old: Pair, new: Pair, start: Record, ready: Record, seen: Seen) -> None:
        self.report.find(
            "REB-14",
            "early handoff",
            "A new flow started before the old one had settled",
            (seen.record, start, ready),
            f"partition {old.partition} went from flow {old.flow} to {new.flow} "
            f"{exact(ready.call - start.call)} after the handoff began, while {seen.delivery.id!r} was "
            f"unsettled at flow {old.flow}; the handoff time is {exact(self.limit)}",
            "the new flow waits until the old one's messages are settled or the handoff time is over",
        )

    def _late(self, pair: Pair, event: Record, end: Record | None, by: int, since: str) -> None:
        self.report.find(
            "REB-14",
            "late handoff",
            "A handoff lasted longer than it may",
            (event,) if end is None else (event, end),
            f"partition {pair.partition} of flow {pair.flow} was still paused {exact(by)} after "
            + (
                since if "settled" in since else f"its handoff began; the handoff time is {exact(self.limit)}"
            ),
            "the new flow starts when the old one's messages are settled or the handoff time is over",
        )


_UNSEEN: Final = Delivery("")

BLIND_SPOTS: Final = (
    "Without assignment events nothing of this is seen.",
    "That a handoff waits for unsettled messages is judged only for messages whose partition follows from "
    "the flows that they came through, one after the other; not where messages came through wrong flows.",
    "How long a handoff lasts is judged only where no flow comes or goes meanwhile.",
    "After a broker kill, states hold until the partition's next event.",
)

CHECKER: Final = Checker(
    "ownership",
    ("REB-1", "REB-13", "REB-14"),
    check,
    BLIND_SPOTS,
    needs=dict.fromkeys(("REB-1", "REB-13", "REB-14"), ("bind",)),
)
