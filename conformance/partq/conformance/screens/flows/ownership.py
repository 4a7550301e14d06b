"""The flow of each partition, as the broker reports it: one at a time, in a true state.

One anomaly, one rule:

=============================================================================================  ======
two flows have a partition at a time                                                           REB-1
``unbound``, though its flow is certainly bound; ``ready`` or ``paused`` for a flow certainly gone   REB-13
paused for longer than the handoff time, or on and on though all is settled                    REB-14
a new flow is ready although messages of the partition are certainly unsettled at the old one     REB-14
=============================================================================================  ======

That a paused flow gets nothing new is `deliveries.py`'s, that a handoff ends at all `rebalancing.py`'s.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from partq.conformance.facts.candidate_partitions import Paths
from partq.conformance.facts.flow_timeline import Assignment, FlowSession, FlowTimeline
from partq.conformance.facts.index import FOREVER, Facts, Observation
from partq.conformance.history import Record, time_text
from partq.conformance.screens.attribution import MISDELIVERY
from partq.conformance.screens.protocol import Report, Screen
from partq.model.messages import Delivery


def check(facts: Facts) -> Report:
    """REB-1, REB-13, REB-14."""
    report = Report()
    if facts.profile.flows and facts.assignment_events:
        timeline = facts.derive(FlowTimeline)
        for assignments in timeline.assignments.values():
            _one_owner(assignments, facts.header.skew_ns, timeline.horizon, report)
        _states(facts, timeline, report)
        _Handoffs(facts, timeline, report).check()
    return report


def _one_owner(assignments: list[Assignment], skew: int, horizon: int, report: Report) -> None:
    report.count("REB-1", len(assignments))
    latest = None
    for assignment in assignments:
        if latest is not None and min(latest.observed_end, horizon) - assignment.begin.call > skew:
            ends = () if latest.end is None else (latest.end,)
            why = f"partition {assignment.partition} was given to flow {assignment.flow} at "
            why += f"{time_text(assignment.begin.call)} while flow {latest.flow} had it"
            report.find("REB-1", "two owners", (latest.begin, assignment.begin, *ends), why)
        if latest is None or assignment.observed_end > latest.observed_end:
            latest = assignment


# REB-13: the states are true.


def _states(facts: Facts, timeline: FlowTimeline, report: Report) -> None:
    skew = facts.header.skew_ns
    lag = max(timeline.grace, facts.entity.rebalance_delay // 2) + skew
    for flow, assignments in timeline.assignments_of.items():
        sessions = timeline.sessions_of.get(flow, [])
        for assignment in assignments if sessions else ():
            for state, event, end in assignment.segments():
                if state == "unbound":
                    report.count("REB-13")
                    around = event.call - skew, event.call + skew
                    contrary = next((one.bind for one in sessions if _throughout(one, *around)), None)
                else:
                    until = min(assignment.ended, timeline.horizon if end is None else end.call)
                    gone = _gone(sessions, event.call, until, skew, lag)
                    contrary = None if gone is None else gone.end or gone.bind
                    over = gone is not None or any(session.certain_end <= until for session in sessions)
                    report.count("REB-13", over)
                if contrary is not None:
                    why = f"partition {assignment.partition} was said {state} at flow {flow} from "
                    why += f"{time_text(event.call)} on, which was not true of its flow"
                    report.find("REB-13", f"untrue {state}", (contrary, event), why)


def _throughout(session: FlowSession, start: int, end: int) -> bool:
    return session.certain_start < start and end < session.possible_end


def _gone(sessions: list[FlowSession], begin: int, until: int, skew: int, lag: int) -> FlowSession | None:
    """The flow session outside of which it was said to be there. It may be said a little after the end."""
    if not any(session.bind.call - skew <= begin <= session.certain_end + lag for session in sessions):
        return sessions[0]
    for session in sessions:
        over = session.certain_end + lag
        if begin <= over < until and not any(other.possibly_bound(over) for other in sessions):
            return session
    return None


# REB-14: handoffs.


class _Unsettled(NamedTuple):
    """A delivery, an instant of its receive, and the instant until which it is unsettled."""

    received: int
    until: int
    seen: Observation


def _longest(deliveries: Iterable[_Unsettled], before: int) -> _Unsettled | None:
    """Of those received before an instant the one that lasts longest."""
    early = (one for one in deliveries if one.received < before)
    return max(early, key=attrgetter("until"), default=None)


class _Handoffs:
    """Judges each handoff. ``held``: (flow, partition) -> deliveries certainly of that partition, while
    certainly unsettled; ``locked``: flow -> all its deliveries, while possibly unsettled."""

    def __init__(self, facts: Facts, timeline: FlowTimeline, report: Report) -> None:
        self.facts = facts
        self.timeline = timeline
        self.report = report
        self.limit = facts.entity.max_handoff
        self.skew = facts.header.skew_ns
        self.paths = facts.derive(Paths)
        self.calls = [change.call for change in timeline.changes]
        self.returns = list(accumulate((change.ret for change in timeline.changes), max))
        self.held: dict[tuple[str, int], list[_Unsettled]] = {}
        self.locked: dict[str, list[_Unsettled]] = {}

    def check(self) -> None:
        handoffs = [
            (a, b)
            for assignments in self.timeline.assignments.values()
            for a, b in pairwise(assignments)
            if a.flow != b.flow and a.cut is None and self._alive(a.flow, b.begin.call)
        ]
        pauses = [
            (assignment, event, end)
            for assignments in self.timeline.assignments.values()
            for assignment in assignments
            for state, event, end in assignment.segments()
            if state == "paused" and assignment.cut is None
        ]
        if handoffs or pauses:
            self._index()
        for old, new in handoffs:
            self._not_early(old, new)
        for assignment, event, end in pauses:
            self._not_late(assignment, event, end)

    def _alive(self, flow: str, time: int, since: int | None = None) -> bool:
        """Whether a flow was certainly there, and the same one since that instant."""
        start = time - self.skew if since is None else since
        sessions = self.timeline.sessions_of.get(flow, ())
        return any(_throughout(session, start, time + self.skew) for session in sessions)

    def _index(self) -> None:
        held, locked = self.held, self.locked
        for bit, seen in self.facts.derive(Paths).located():
            if seen.delivery.lock is not None:
                place = (seen.record.args.get("flow", ""), bit)
                held.setdefault(place, []).append(_Unsettled(seen.ret, self._settled(seen)[0], seen))
        for seen in self.facts.locks.values():
            flow = seen.record.args.get("flow", "")
            locked.setdefault(flow, []).append(_Unsettled(seen.call, self._settled(seen)[1], seen))
        for record in self.facts.receives:
            if record.unknown:
                unseen = Observation(_UNSEEN, record, record.call, FOREVER)
                entry = _Unsettled(record.call, FOREVER, unseen)
                locked.setdefault(record.args.get("flow", ""), []).append(entry)

    def _settled(self, seen: Observation) -> tuple[int, int]:
        """When the delivery was settled at the earliest, and at the latest."""
        earliest = latest = FOREVER
        for settlement in seen.settlements:
            if not settlement.refused:
                earliest = min(earliest, settlement.call)
            if settlement.ok and settlement.ret is not None:
                latest = min(latest, settlement.ret)
        return earliest, latest

    def _not_early(self, old: Assignment, new: Assignment) -> None:
        ready = next((event for state, event in new.states if state == "ready"), None)
        held = self.held.get((old.flow, self.timeline.bits[old.partition]))
        if ready is None or held is None or old.end is None:
            return
        state, event = old.states[-1]
        start = old.end if state == "ready" else event
        open_one = _longest(held, ready.call - self.skew)
        if open_one is None or open_one.received < old.begin.call or open_one.until <= start.call:
            return
        if not self._alive(old.flow, start.call, open_one.received):
            return
        self.report.count("REB-14")
        early = open_one.until > ready.call + self.skew and ready.call + self.skew < start.call + self.limit
        if early and self._certain():
            seen, after = open_one.seen, time_text(ready.call - start.call)
            why = f"partition {old.partition} went from flow {old.flow} to {new.flow} {after} after the "
            why += f"handoff began, while {seen.delivery.id!r} was unsettled; the handoff time is "
            why += time_text(self.limit)
            self.report.find("REB-14", "early handoff", (seen.record, start, ready), why)

    def _not_late(self, assignment: Assignment, event: Record, end: Record | None) -> None:
        until = self.timeline.horizon if end is None else end.call
        slack = self.timeline.grace + 2 * self.skew
        if self._dealt_out_again(event.call, until):
            return
        paused = min(until, event.call + self.skew + 1)  # what came later is of another partition
        last = _longest(self.locked.get(assignment.flow, ()), paused)
        settled = event.call if last is None else max(event.call, last.until)
        self.report.count("REB-14", settled < FOREVER and end is not None)
        late = until - event.call > self.limit + slack
        if late or (until - settled > self.limit // 2 + slack and self._certain()):
            since = event.call if late else settled
            why = f"partition {assignment.partition} of flow {assignment.flow} was still paused "
            why += (
                f"{time_text(until - since)} after {'its handoff began' if late else 'all was settled'}; the "
            )
            why += f"handoff time is {time_text(self.limit)}"
            self.report.find("REB-14", "late handoff", (event,) if end is None else (event, end), why)

    def _dealt_out_again(self, paused: int, until: int) -> bool:
        """Whether partitions may have been dealt out again meanwhile, so that the handoff began anew: after a
        change whose delay ended later than that of the one which led to the pause, or may have."""
        began = paused - self.facts.entity.rebalance_delay
        first = bisect_left(self.calls, began - self.skew - self.timeline.grace)
        last = bisect_right(self.calls, began + self.skew)
        running = first > 0 and self.returns[first - 1] >= began - self.skew
        return bisect_left(self.calls, until) > last or last - first + running > 1

    def _certain(self) -> bool:
        """Whether flows certainly get only what is theirs. Otherwise what is unsettled may be elsewhere, and
        it is noted that either is broken."""
        certain = self.paths.sound and self.paths.exclusive
        if not certain:
            reason = "a handoff was too early or too late, or messages came through wrong flows"
            self.report.ambiguous(("REB-14", *MISDELIVERY), reason)
        return certain


_UNSEEN: Final = Delivery("")

SCREEN: Final = Screen(
    "ownership",
    ("REB-1", "REB-13", "REB-14"),
    check,
    blind_spots=(
        "Without assignment events nothing of this is seen.",
        "That a handoff waits for unsettled messages is judged only for messages whose partition follows "
        "from the flows that they came through, one after the other; not where messages "
        "came through wrong flows.",
        "How long a handoff lasts is judged only where no flow comes or goes meanwhile.",
        "After a broker kill, states hold until the partition's next event; that a flow lived through it is "
        "not known.",
    ),
    needs=dict.fromkeys(("REB-1", "REB-13", "REB-14"), ("bind",)),
)
