"""Flows over time: when each was bound, and which partitions it had. A history's flow facts, indexed once.

Everything is bounds, never guesses: a flow is *possibly* bound from the call of its bind and *certainly* from
its return, and so on to its end; a partition's state holds from its event to the next one, each `skew_ns`
early or late. Nothing here judges anything.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate, chain
from operator import attrgetter
from typing import Final, NamedTuple

from partq.conformance.facts.failure_detection import noticed_by
from partq.conformance.facts.index import CALL, FOREVER, Facts
from partq.conformance.facts.intervals import Bitsets
from partq.conformance.history import Record

GRACE: Final = 1_000_000
"""ns that a broker may always take for a step that waits for no timer of its own; see
`FlowTimeline.grace`."""

BIND: Final = "bind"
LOSS: Final = "loss"
OTHER: Final = "other"


class FlowSession:
    """One flow, from its bind (or reconnect) to its end.

    Bound possibly from ``bind.call`` and certainly from ``certain_start``; possibly gone from
    ``possible_end`` on and certainly from ``certain_end`` on. ``end``: the first record that may have ended
    it. ``standby``: whether it certainly bound when there were as many flows as partitions (True), certainly
    not (False), or possibly (None).
    """

    __slots__ = ("bind", "certain_end", "certain_start", "end", "flow", "possible_end", "standby")

    def __init__(self, bind: Record) -> None:
        self.flow: str = bind.args.get("flow", "")
        self.bind = bind
        self.certain_start = bind.end if bind.ok else FOREVER
        self.end: Record | None = None
        self.possible_end = FOREVER
        self.certain_end = FOREVER
        self.standby: bool | None = None

    def certainly_bound(self, time: int) -> bool:
        """Whether it was bound at that time, whatever else is unknown."""
        return self.certain_start < time <= self.possible_end

    def possibly_bound(self, time: int) -> bool:
        """Whether it may have been bound at that time."""
        return self.bind.call <= time <= self.certain_end

    def close(self, record: Record, certain: bool, noticed: int | None = None) -> None:
        """Note the record that ended it, or may have. ``noticed``: when it certainly had ended, if not by the
        record's return."""
        if self.end is None:
            self.end = record
            self.possible_end = record.call
            if self.possible_end <= self.certain_start:
                self.certain_start = FOREVER
        if certain:
            self.certain_end = min(self.certain_end, record.end if noticed is None else noticed)


class Assignment:
    """One partition in the hands of one flow: its states in turn, and the record that ended it.

    ``cut``: the broker was killed meanwhile; the assignment may go on after it, or not. ``heir``: the event
    by which another flow got the partition though this assignment had not ended.
    """

    __slots__ = ("cut", "end", "flow", "heir", "partition", "states")

    def __init__(self, partition: int, flow: str, state: str, event: Record) -> None:
        self.partition = partition
        self.flow = flow
        self.states = [(state, event)]
        self.end: Record | None = None
        self.cut: Record | None = None
        self.heir: Record | None = None

    @property
    def begin(self) -> Record:
        """Its first event."""
        return self.states[0][1]

    @property
    def observed_end(self) -> int:
        """When the broker said that it ended, or was killed; `FOREVER`: never."""
        record = self.cut or self.end
        return FOREVER if record is None else record.call

    @property
    def ended(self) -> int:
        """When it ended, observed or inferred: by its event, with the broker, or because another flow got
        it."""
        return self.observed_end if self.heir is None else min(self.observed_end, self.heir.call)

    def state_at(self, time: int) -> str | None:
        """Its state just before that time; None before it began and after it ended."""
        if self.ended < time:
            return None
        state = None
        for name, event in self.states:
            if event.call >= time:
                break
            state = name
        return state

    def segments(self) -> list[tuple[str, Record, Record | None]]:
        """Each state with the event that began it and the one that ended it."""
        states = self.states
        if len(states) == 1:
            return [(*states[0], self.end)]
        ends: list[Record | None] = [event for _, event in states[1:]]
        ends.append(self.end)
        return [(state, event, end) for (state, event), end in zip(states, ends, strict=True)]


class Change(NamedTuple):
    """A change that may trigger a rebalance. ``ret`` is `FOREVER` if it may still happen later."""

    call: int
    ret: int
    kind: str
    record: Record
    session: FlowSession | None = None


class RebalanceEpisode(NamedTuple):
    """Changes that follow each other too fast to be distinguished. ``until``: when the next episode begins,
    or the history ends; ``settled``: whether the partitions were at rest by then."""

    changes: list[Change]
    until: int
    settled: bool

    @property
    def watch(self) -> int:
        """How long the first change is watched alone."""
        return self.changes[1].call if len(self.changes) > 1 else self.until


class FlowTimeline:
    """The flows of one entity over time.

    ``sessions`` in order of their binds, also by flow in ``sessions_of`` · ``changes``: what may set off a
    rebalance · ``assignments``: partition -> its assignments in order, also by flow in ``assignments_of`` ·
    ``bits``: partition -> bit number in masks · ``horizon``: the last instant that the history watches ·
    ``grace``: ns by which a step or a timer of the broker may be late.
    """

    def __init__(self, facts: Facts) -> None:
        self._skew = facts.header.skew_ns
        self._bitsets: dict[tuple[str | None, tuple[str, ...]], Bitsets] = {}
        self.sessions: list[FlowSession] = []
        self.sessions_of: dict[str, list[FlowSession]] = {}
        self.changes: list[Change] = []
        self.assignments: dict[int, list[Assignment]] = {}
        self.assignments_of: dict[str, list[Assignment]] = {}
        self.horizon = facts.records[-1].call if facts.records else 0
        self.grace = max(GRACE, facts.header.lateness)
        _Sessions(self, facts).read()
        self._rank(facts.entity.partitions)
        self._partings = [change for change in self.changes if change.kind != BIND]
        self._parted_by = list(accumulate((change.ret for change in self._partings), max))
        self._read_assignments(facts)
        self.bits = {partition: bit for bit, partition in enumerate(self.assignments)}

    @property
    def everything(self) -> int:
        """The mask of all partitions that any event names."""
        return (1 << len(self.bits)) - 1

    def episodes(self, facts: Facts) -> Iterator[RebalanceEpisode]:
        """The changes, cut wherever delay and handoffs, each of which may be late, certainly were over. So
        each episode begins at rest."""
        entity, changes = facts.entity, self.changes
        rest = entity.rebalance_delay + entity.max_handoff + 2 * self.grace + facts.header.skew_ns
        some: list[Change] = []
        reach = 0
        for n, change in enumerate(changes):
            some.append(change)
            reach = max(reach, change.ret)
            until = changes[n + 1].call if n + 1 < len(changes) else self.horizon
            # A handoff that was under way at the last change may go before the next one.
            settled = until > reach + rest + (entity.max_handoff + self.grace if len(some) > 1 else 0)
            if settled or n + 1 == len(changes):
                yield RebalanceEpisode(some, until, settled)
                some = []

    def stands_by(self, session: FlowSession, time: int) -> bool:
        """Whether the flow certainly was a mere standby until then: none was lost that it may have
        replaced."""
        since = self.first_parting(session)
        return bool(session.standby) and (since is None or time < since.call)

    def first_parting(self, session: FlowSession) -> Change | None:
        """The first change that was no bind and may have come after its bind."""
        at = bisect_right(self._parted_by, session.bind.call)
        return self._partings[at] if at < len(self._partings) else None

    def _rank(self, partitions: int) -> None:
        """Find the standbys. Binds that overlap may have come in any order."""
        open_sessions: list[FlowSession] = []
        for n, session in enumerate(self.sessions):
            begin, end = session.bind.call, session.bind.end
            open_sessions = [other for other in open_sessions if other.certain_end >= begin]
            certain = sum(other.certain_start < begin and other.possible_end > end for other in open_sessions)
            possible = (
                len(open_sessions) + bisect_right(self.sessions, end, key=attrgetter("bind.call")) - n - 1
            )
            full = certain >= partitions
            session.standby = full if full or possible < partitions else None
            open_sessions.append(session)

    def _read_assignments(self, facts: Facts) -> None:
        kills = [r for r in facts.disruptions if r.op == "broker_kill" and not r.refused]
        current: dict[int, list[Assignment]] = {}
        for event in facts.assignment_events:
            while kills and event.call > _started(kills[0], facts):
                _cut(current, kills.pop(0))
            self._on_event(current.setdefault(event.args["partition"], []), event)
        for kill in kills:
            _cut(current, kill)

    def _on_event(self, current: list[Assignment], event: Record) -> None:
        """``current``: the partition's assignments that have not ended. After a kill its next event ends
        them."""
        partition, state = event.args["partition"], event.args["state"]
        flow = event.args.get("flow")
        self.assignments.setdefault(partition, [])
        for assignment in [assignment for assignment in current if assignment.cut is not None]:
            assignment.end = event
            current.remove(assignment)
        if flow is None and current:
            flow = current[-1].flow
        mine = next((assignment for assignment in current if assignment.flow == flow), None)
        if state == "unassigned":
            if mine is not None:
                mine.end = event
                current.remove(mine)
        elif mine is not None:
            mine.states.append((state, event))
        elif flow is not None:
            for other in current:
                other.heir = other.heir or event
            assignment = Assignment(partition, flow, state, event)
            current.append(assignment)
            self.assignments[partition].append(assignment)
            self.assignments_of.setdefault(flow, []).append(assignment)

    def partitions(self, flow: str | None, *states: str) -> Bitsets:
        """The partitions that may have been in one of these states, at that flow or (None) at any."""
        known = self._bitsets.get((flow, states))
        if known is None:
            known = self._bitsets[flow, states] = Bitsets(self._intervals(flow, states))
        return known

    def _intervals(self, flow: str | None, states: tuple[str, ...]) -> Iterator[tuple[int, int, int]]:
        skew = self._skew
        every = (
            chain.from_iterable(self.assignments.values())
            if flow is None
            else self.assignments_of.get(flow, ())
        )
        for assignment in every:
            bit = self.bits[assignment.partition]
            for state, event, end in assignment.segments():
                if state in states:
                    yield event.call - skew, FOREVER if end is None else end.end + skew, bit


class _Sessions:
    """Reads binds, ends and faults into a timeline's sessions and changes."""

    def __init__(self, timeline: FlowTimeline, facts: Facts) -> None:
        self.timeline = timeline
        self.facts = facts
        self.current: dict[str, FlowSession] = {}
        self.faults: list[Record] = []
        """Those that may have ended flows, in order of calls."""

    def read(self) -> None:
        facts = self.facts
        faults = (record for record in facts.disruptions if record.op != "disconnect")
        for record in sorted((*facts.flows, *faults), key=CALL):
            if not record.refused or record.error == "not_found":
                _READERS[record.op](self, record)
        intervals = (*facts.dead, *(interval for intervals in facts.down.values() for interval in intervals))
        repaired = {interval.start: interval.end for interval in intervals}
        changes = self.timeline.changes
        for n, change in enumerate(changes if repaired else ()):
            changes[n] = change._replace(ret=max(change.ret, repaired.get(change.call, 0)))

    def bound(self, record: Record) -> None:
        if record.refused:
            return
        session = FlowSession(record)
        for fault in self.faults:
            if fault.end >= record.call and fault.args.get("proc") in (None, record.proc):
                session.close(fault, certain=False)  # either may have come first
        before = self.current.get(session.flow)
        if before is not None:
            before.close(record, certain=record.ok)
        self.current[session.flow] = session
        self.timeline.sessions.append(session)
        self.timeline.sessions_of.setdefault(session.flow, []).append(session)
        plain = record.op == "bind" and record.ok
        self._change(BIND if plain else OTHER, record, session)

    def unbound(self, record: Record) -> None:
        self._lost([self.current[flow] for flow in (record.args["flow"],) if flow in self.current], record)

    def disconnected(self, record: Record) -> None:
        flow = record.args.get("flow")
        if flow is not None:
            self.unbound(record)
        else:
            self._lost(self._of(record.proc), record)

    def cut_off(self, record: Record) -> None:
        self.faults.append(record)
        proc = record.args.get("proc")
        self._lost(self._of(proc), record, certain=record.op == "connection_lost" and proc is not None)

    def faulted(self, record: Record) -> None:
        if record.op == "broker_kill":
            self.faults.append(record)
            self._lost(list(self.current.values()), record, certain=False)
        self._change(OTHER, record)

    def _of(self, proc: str | None) -> list[FlowSession]:
        return [session for session in self.current.values() if proc in (None, session.bind.proc)]

    def _lost(self, sessions: list[FlowSession], record: Record, certain: bool = True) -> None:
        """``not_found`` says that the flow was gone before."""
        certain = certain and (record.ok or record.error == "not_found")
        for session in sessions:
            was_bound = record.ok and session.end is None
            was_bound = was_bound and session.certain_start < record.call
            noticed = noticed_by(self.facts, session.flow, record)
            session.close(record, certain, noticed)
            kind = LOSS if certain and was_bound and noticed < FOREVER else OTHER
            self._change(kind, record, session, noticed)
            if certain:
                del self.current[session.flow]

    def _change(
        self, kind: str, record: Record, session: FlowSession | None = None, by: int | None = None
    ) -> None:
        ret = record.end if by is None else by
        self.timeline.changes.append(Change(record.call, ret, kind, record, session))


_READERS: Final[Mapping[str, Callable[[_Sessions, Record], None]]] = {
    "bind": _Sessions.bound,
    "rebind": _Sessions.bound,
    "reconnect": _Sessions.bound,
    "unbind": _Sessions.unbound,
    "disconnect": _Sessions.disconnected,
    "connection_lost": _Sessions.cut_off,
    "frontend_lost": _Sessions.cut_off,
    "broker_kill": _Sessions.faulted,
    "partition_down": _Sessions.faulted,
}


def _started(kill: Record, facts: Facts) -> int:
    """When the broker may first have been up again after the kill: until then events may be of the time
    before it."""
    intervals = (interval for interval in facts.dead if interval.start <= kill.call <= interval.end)
    return next((interval.certain_end for interval in intervals), kill.end)


def _cut(current: Mapping[int, list[Assignment]], kill: Record) -> None:
    for assignments in current.values():
        for assignment in assignments:
            assignment.cut = assignment.cut or kill
