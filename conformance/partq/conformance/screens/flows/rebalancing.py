"""The effects of a flow's bind or loss: the delay, standbys, takeover, and the assignment at rest.

The history's binds and losses are cut into *episodes*: within an episode the next one comes before the last
one can have settled (delay, handoffs, skew). So an episode begins at rest, and after it, if the history
watches long enough, the partitions are at rest again. Episodes with an unknown outcome, a fault or a
reconnect in them are not judged.

One anomaly, one rule:

=====================================================================================  ======
after a bind at C < P from rest something moves before the delay is over               REB-4
at rest a flow that bound at C < P has nothing, or a partition nobody ever lost        REB-4
after a bind at C ≥ P from rest anything moves at all                                  REB-5
a flow that bound at C ≥ P gets a partition before any flow is lost                    REB-5
a lost flow's partitions do not go to the standbys, or not at once                     REB-6
a lost flow's partitions, there being no standby, leave it before the delay is over    REB-7
at rest a lost flow's partition is still with it, or with nobody                       REB-11
at rest a partition is still paused, or its handoff ended with nobody                  REB-14
at rest, and none of these, two active flows differ by more than one                   REB-12
=====================================================================================  ======

*At once* is judged as within half the delay. Two owners at a time, and states that are not true, are
`ownership.py`'s; deliveries are not looked at here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final

from partq.conformance.facts.flow_timeline import (
    BIND,
    LOSS,
    OTHER,
    Assignment,
    Change,
    FlowSession,
    FlowTimeline,
    RebalanceEpisode,
)
from partq.conformance.facts.index import CALL, Facts
from partq.conformance.history import Record, time_text
from partq.conformance.screens.protocol import Report, Screen


def check(facts: Facts) -> Report:
    """REB-4, REB-5, REB-6, REB-7, REB-11, REB-12, and of REB-14 that a handoff ends."""
    report = Report()
    if facts.profile.flows and facts.assignment_events:
        judge = _Judge(facts, report)
        for episode in judge.timeline.episodes(facts):
            judge.judge(episode)
    return report


class _Judge:
    """Judges the episodes in order. ``open``: the flows that may still be bound."""

    def __init__(self, facts: Facts, report: Report) -> None:
        self.report = report
        self.timeline = facts.derive(FlowTimeline)
        self.events = facts.assignment_events
        self.partitions = facts.entity.partitions
        self.delay = facts.entity.rebalance_delay
        self.skew = facts.header.skew_ns
        self.prompt = max(self.timeline.grace, self.delay // 2) + self.skew
        self.open: list[FlowSession] = []
        self.reported: set[Assignment | FlowSession] = set()
        self.given_early = False

    def judge(self, episode: RebalanceEpisode) -> None:
        first = episode.changes[0]
        self.open = [session for session in self.open if session.certain_end >= first.call]
        binds = [c for c in episode.changes if c.session is not None and c.record is c.session.bind]
        self.open += [bind.session for bind in binds if bind.session is not None]
        self._standbys_stand_by(binds)
        if any(_useful(change) for change in episode.changes):
            self.given_early = False  # all is dealt out anew
        calm = not self.timeline.partitions(None, "paused").over(first.call, first.call)
        if calm and first.kind == BIND and first.session is not None and episode.watch > first.ret:
            self._bound(episode, first, first.session)
        found = len(self.report.findings)
        for n, change in enumerate(episode.changes):
            if change.kind == LOSS and change.session is not None and found == len(self.report.findings):
                self._lost(episode, n, change, change.session, at_rest=calm and n == 0)
        # What went wrong before would show at rest too, as something else.
        if episode.settled and not self.report.findings and all(c.kind != OTHER for c in episode.changes):
            self._at_rest(episode)

    # The first change of an episode.

    def _bound(self, episode: RebalanceEpisode, bind: Change, session: FlowSession) -> None:
        if session.standby:
            moved = self._first_event(bind.call, episode.watch)
            if moved is not None:
                self._surplus_moved(bind, moved)
        elif session.standby is False:
            others = (change.call for change in episode.changes if not _useful(change))
            early = bind.call + self.delay - self.skew
            moved = self._first_event(bind.call, min(early, next(others, episode.until)))
            if moved is not None:
                self.report.count("REB-4")
                self._find(
                    "REB-4", "no delay", (bind.record, moved), f"{_said(moved)} {_after(moved, bind)} it"
                )

    def _lost(
        self, episode: RebalanceEpisode, n: int, loss: Change, session: FlowSession, at_rest: bool
    ) -> None:
        watch = episode.changes[n + 1].call if n + 1 < len(episode.changes) else episode.until
        assignments = [
            assignment
            for assignment in self._had(session, loss.call)
            if assignment.state_at(loss.call) == "ready"
        ]
        idle = self._idle(loss, session)
        if not assignments or watch <= loss.ret:
            return
        if idle and all(self._stands_by(other, loss, at_rest) for other in idle):
            if not self.report.findings:
                self._take_over(loss, watch, assignments, {other.flow for other in idle})
        else:
            self._reserve(loss, watch, assignments, judged=at_rest and not idle and self.delay > 0)

    def _stands_by(self, session: FlowSession, loss: Change, at_rest: bool) -> bool:
        """Whether it certainly is a standby. Unless all is at rest, an earlier loss may have made it one that
        waits for its share."""
        fresh = at_rest or self.timeline.first_parting(session) is loss
        return bool(session.standby) and session.certainly_bound(loss.ret) and fresh

    def _standbys_stand_by(self, binds: list[Change]) -> None:
        for bind in binds:
            if bind.session is not None and bind.session.standby:
                parting = self.timeline.first_parting(bind.session)
                until = self.timeline.horizon if parting is None else parting.call
                its = self.timeline.assignments_of.get(bind.session.flow, ())
                given = next((one for one in its if one.begin.call > bind.call), None)
                if given is not None and given.begin.call + self.skew < until:
                    self._surplus_moved(bind, given.begin)
                elif until > bind.ret + self.delay + self.timeline.grace + self.skew:
                    self.report.count("REB-5")

    def _idle(self, loss: Change, session: FlowSession) -> list[FlowSession]:
        """The other flows that may be bound but have nothing."""
        others = (other for other in self.open if other is not session and other.possibly_bound(loss.call))
        return [other for other in others if not self._had(other, loss.call)]

    def _had(self, session: FlowSession, time: int) -> list[Assignment]:
        assignments = self.timeline.assignments_of.get(session.flow, ())
        return [assignment for assignment in assignments if assignment.state_at(time) is not None]

    def _first_event(self, after: int, before: int) -> Record | None:
        at = bisect_right(self.events, after, key=CALL)
        return self.events[at] if at < len(self.events) and self.events[at].call < before else None

    def _take_over(self, loss: Change, watch: int, assignments: list[Assignment], standbys: set[str]) -> None:
        deadline = loss.ret + self.prompt
        self.report.count("REB-6", watch > deadline)
        for assignment in assignments:
            heir = next(self._heirs(assignment, loss.call), None)
            in_time = heir is not None and heir.begin.call < min(watch, deadline)
            if (heir is not None and heir.flow not in standbys) if in_time else watch > deadline:
                begun = assignment.begin if heir is None else heir.begin
                to = "no flow" if heir is None else f"flow {heir.flow} {_after(begun, loss)}"
                why = f"partition {assignment.partition} was given to {to}, {min(standbys)} standing by"
                cause = "standby passed over" if in_time else "late takeover"
                self._find("REB-6", cause, (loss.record, begun), why)

    def _heirs(self, assignment: Assignment, since: int) -> Iterator[Assignment]:
        assignments = self.timeline.assignments[assignment.partition]
        at = bisect_left(assignments, since - self.skew, key=_BEGIN)
        return (other for other in assignments[at:] if other.flow != assignment.flow)

    def _reserve(self, loss: Change, watch: int, assignments: list[Assignment], judged: bool) -> None:
        """Only from rest is it certain that no earlier delay may have ended; otherwise note that an early
        assignment may explain the shares."""
        early = loss.call + self.delay - self.skew
        gone = self._leaving(assignments, loss.call, min(early, watch))
        self.report.count("REB-7", int(judged and watch >= early))
        if gone is not None and judged:
            why = f"{_said(gone)} {_after(gone, loss)} its flow was lost"
            self._find("REB-7", "not reserved", (loss.record, gone), why)
        self.given_early |= gone is not None

    def _leaving(self, assignments: list[Assignment], after: int, before: int) -> Record | None:
        mine = {assignment.partition: assignment for assignment in assignments}
        at = bisect_right(self.events, after, key=CALL)
        while at < len(self.events) and self.events[at].call < before:
            event = self.events[at]
            assignment = mine.get(event.args["partition"])
            if assignment is not None and _leaves(assignment, event):
                return event
            at += 1
        return None

    # The end of an episode.

    def _at_rest(self, episode: RebalanceEpisode) -> None:
        until = episode.until
        self.open = [session for session in self.open if session.possibly_bound(until)]
        bound = [session for session in self.open if session.certainly_bound(until)]
        if not bound or len(bound) < len(self.open):
            return
        shares = dict.fromkeys((session.flow for session in bound), 0)
        losses = sum(change.kind == LOSS and bool(self._left(change)) for change in episode.changes)
        if not self._all_given(episode, shares):
            return
        self.report.count("REB-11", losses)
        if not _came_back(episode) and not self.given_early:
            self._shared_out(episode, bound, shares)

    def _left(self, loss: Change) -> list[Assignment]:
        return self._had(loss.session, loss.call) if loss.session else []

    def _all_given(self, episode: RebalanceEpisode, shares: dict[str, int]) -> bool:
        """Count each flow's partitions. False if a partition is not at rest with a flow."""
        given = True
        for partition, assignments in self.timeline.assignments.items():
            at = bisect_left(assignments, episode.until, key=_BEGIN)
            last = assignments[at - 1] if at else None
            if at > 1 and assignments[at - 2].observed_end >= episode.until:
                return False  # two owners
            state = None if last is None else last.state_at(episode.until)
            if last is not None and state == "ready" and last.flow in shares:
                shares[last.flow] += 1
            else:
                given = False
                self._not_given(episode, partition, last, state, shares)
        return given

    def _not_given(
        self,
        episode: RebalanceEpisode,
        partition: int,
        last: Assignment | None,
        state: str | None,
        shares: dict[str, int],
    ) -> None:
        if last is None or last in self.reported or last.cut is not None:
            return
        self.reported.add(last)
        here = last.flow in shares
        if state == "paused" or (state is None and last.states[-1][0] == "paused"):
            if here:
                witness = (last.states[-1][1], *([last.end] if last.end else []))
                why = f"partition {partition} was paused at flow {last.flow}, and no flow has had it since"
                self._find("REB-14", "handoff without end", witness, why)
        elif not here and (state == "unbound" or (state is None and self._had_heirs(last))):
            lost = [one.end for one in self.timeline.sessions_of.get(last.flow, ()) if one.end is not None]
            why = f"partition {partition} of the lost flow {last.flow} has no flow"
            why += self._at_rest_since(episode)
            self._find("REB-11", "not inherited", (*lost[-1:], last.states[-1][1]), why)
        elif state is None:
            what = f"partition {partition} has had no flow since"
            self._left_over(episode, what, last.end or last.begin)

    def _had_heirs(self, assignment: Assignment) -> bool:
        """Whether some flow was bound when the delay for the assignment's lost flow ended."""
        lost = max(
            (session.certain_end for session in self.timeline.sessions_of.get(assignment.flow, ())), default=0
        )
        return any(session.certainly_bound(lost + self.delay) for session in self.timeline.sessions)

    def _shared_out(
        self, episode: RebalanceEpisode, bound: list[FlowSession], shares: dict[str, int]
    ) -> None:
        useful = [session for session in bound if session.standby is False]
        new = {change.session for change in episode.changes if change.kind == BIND}
        self.report.count("REB-4", sum(session in new for session in useful))
        lost = any(change.kind == LOSS for change in episode.changes)
        distinct = len(bound) <= self.partitions or not (
            lost or any(session.standby is None for session in bound)
        )
        empty = [x for x in useful if not shares[x.flow] and x not in self.reported] if distinct else []
        unnamed = self.partitions - len(self.timeline.assignments)
        if empty:
            self.reported.update(empty)
            self._left_over(episode, f"flow {empty[0].flow} has no partition", empty[0].bind)
        elif unnamed > 0:
            self._left_over(episode, f"{unnamed} of {self.partitions} partitions never had a flow")
        else:
            self._balanced(episode, {flow: share for flow, share in shares.items() if share})

    def _balanced(self, episode: RebalanceEpisode, shares: dict[str, int]) -> None:
        if len(shares) < 2:
            return
        self.report.count("REB-12")
        least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
        if shares[most] - shares[least] > 1:
            several = (one for flow in (most, least) for one in self.timeline.assignments_of.get(flow, ()))
            begun = (one.begin for one in several if one.state_at(episode.until) == "ready")
            why = f"at rest flow {most} has {shares[most]} partitions and flow {least} has {shares[least]}"
            self._find("REB-12", "uneven shares", (episode.changes[-1].record, *begun), why)

    # What is found.

    def _find(self, rule: str, cause: str, witness: Sequence[Record], why: str) -> None:
        self.report.find(rule, cause, witness, f"{why}; the delay is {time_text(self.delay)}")

    def _surplus_moved(self, bind: Change, event: Record) -> None:
        why = f"{_said(event)}, though {self.partitions} flows or more were bound before this bind"
        self._find("REB-5", "surplus flow", (bind.record, event), why)

    def _left_over(self, episode: RebalanceEpisode, what: str, *more: Record) -> None:
        binds = [change.record for change in episode.changes if change.kind == BIND]
        witness = (*more, *(binds or [episode.changes[-1].record]))
        self._find("REB-4", "left out", witness, what + self._at_rest_since(episode))

    def _at_rest_since(self, episode: RebalanceEpisode) -> str:
        return f", {time_text(episode.until - episode.changes[-1].call)} after the last flow came or went"


def _said(event: Record) -> str:
    args = event.args
    return f"partition {args['partition']} became {args['state']} at flow {args.get('flow', 'none')}"


def _after(event: Record, change: Change) -> str:
    return f"{time_text(event.call - change.call)} after"


def _came_back(episode: RebalanceEpisode) -> bool:
    """Whether a flow bound soon after one was lost: then handoffs may have been cancelled (REB-9)."""
    kinds = [change.kind for change in episode.changes]
    return LOSS in kinds and BIND in kinds[kinds.index(LOSS) :]


def _useful(change: Change) -> bool:
    """Whether it certainly is a bind that leads to a rebalance."""
    return change.kind == BIND and change.session is not None and change.session.standby is False


def _leaves(assignment: Assignment, event: Record) -> bool:
    """Whether the event takes the partition from its flow; a state that is not true does not."""
    return event.args["state"] == "unassigned" or event.args.get("flow") not in (None, assignment.flow)


_BEGIN: Final = attrgetter("begin.call")


SCREEN: Final = Screen(
    "rebalancing",
    ("REB-4", "REB-5", "REB-6", "REB-7", "REB-11", "REB-12", "REB-14"),
    check,
    blind_spots=(
        "Without assignment events nothing of this is seen.",
        "Flows that come and go faster than delay and handoffs settle are judged only when they are at rest.",
        "Faults of the broker, reconnects, and unknown outcomes leave what follows them unjudged, until "
        "every flow that may be bound is known again.",
        "A flow that binds soon after another was lost may cancel handoffs (REB-9 leaves it open): then "
        "shares are not judged.",
        "After the first finding the partitions at rest are not looked at any more.",
        "With a delay of zero there is no wait that could be cut short (REB-4, REB-7).",
        "Partitions that move though no flow came or went break no rule, if they are at rest again.",
    ),
    needs=dict.fromkeys(("REB-4", "REB-5", "REB-6", "REB-7", "REB-11", "REB-12", "REB-14"), ("bind",)),
)
