"""What is said of flows that come or go and of what follows: the findings of `rebalancing.py`.

Only words are here; nothing is judged.
"""

from __future__ import annotations

from partq.conformance.facts.flow_timeline import BIND, Assignment, Change, FlowTimeline, RebalanceEpisode
from partq.conformance.facts.index import Facts
from partq.conformance.history import Record, time_text
from partq.conformance.screens.protocol import Report


class Findings:
    """Makes the findings of one entity's facts, in one report."""

    def __init__(self, facts: Facts, report: Report) -> None:
        self.report = report
        self.timeline = facts.derive(FlowTimeline)
        self.delay = facts.entity.rebalance_delay
        self.partitions = facts.entity.partitions

    def moved_early(self, bind: Change, event: Record) -> None:
        """REB-4: a bind at rest, and something that moved before the delay was over."""
        self.report.find(
            "REB-4",
            "no delay",
            "Partitions moved before the rebalance delay was over",
            (bind.record, event),
            f"{_said(event)} {time_text(event.call - bind.call)} after the bind; "
            f"the delay is {time_text(self.delay)}",
            "nothing moves until the delay is over",
        )

    def left_over(self, episode: RebalanceEpisode, what: str, *more: Record) -> None:
        """REB-4: who or what is without, at rest."""
        binds = [change.record for change in episode.changes if change.kind == BIND]
        self.report.find(
            "REB-4",
            "left out",
            "A rebalance left a flow or a partition out",
            (*more, *(binds or [episode.changes[-1].record])),
            f"{what}, {time_text(episode.until - episode.changes[-1].call)} after the last flow came or went",
            "after the delay every partition has a flow, and every flow bound at C < P has a partition",
        )

    def surplus_moved(self, bind: Change, event: Record) -> None:
        """REB-5: a bind at C ≥ P, and what it moved."""
        self.report.find(
            "REB-5",
            "surplus flow",
            "A bind beyond the number of partitions moved partitions",
            (bind.record, event),
            f"{_said(event)}, though {self.partitions} flows or more were bound before this bind",
            "the flow stands by, and nothing moves until an active flow goes",
        )

    def not_at_once(self, loss: Change, assignment: Assignment, heir: Assignment | None) -> None:
        """REB-6: a lost flow's partition that came to its heir too late, or to none."""
        when = "never" if heir is None else f"after {time_text(heir.begin.call - loss.call)}"
        self.report.find(
            "REB-6",
            "late takeover",
            "A standby did not take over at once",
            (loss.record, assignment.begin) if heir is None else (loss.record, heir.begin),
            f"partition {assignment.partition} of flow {assignment.flow} was given on {when}, a standby "
            f"being bound",
            "a standby has it at once",
        )

    def passed_over(self, loss: Change, heir: Assignment, standbys: set[str]) -> None:
        """REB-6: one that came to another flow than a standby."""
        self.report.find(
            "REB-6",
            "standby passed over",
            "A lost flow's partition went past the standby",
            (loss.record, heir.begin),
            f"partition {heir.partition} went to flow {heir.flow}; standing by: {min(standbys)}",
            "a standby has it at once",
        )

    def gone_early(self, loss: Change, assignment: Assignment, event: Record) -> None:
        """REB-7: what became of a lost flow's partition before the delay was over."""
        self.report.find(
            "REB-7",
            "not reserved",
            "A lost flow's partition was not kept for the rebalance delay",
            (loss.record, event),
            f"{_said(event)} {time_text(event.call - loss.call)} after flow {assignment.flow} was lost; "
            f"the delay is {time_text(self.delay)}",
            f"partition {assignment.partition} is unbound, kept for flow {assignment.flow}, until the delay "
            f"is over",
        )

    def not_inherited(self, episode: RebalanceEpisode, assignment: Assignment) -> None:
        """REB-11: a lost flow's partition that nobody has, at rest."""
        lost = [
            session.end
            for session in self.timeline.sessions_of.get(assignment.flow, ())
            if session.end is not None
        ]
        self.report.find(
            "REB-11",
            "not inherited",
            "A lost flow's partition was never given to the remaining flows",
            (*lost[-1:], assignment.states[-1][1]),
            f"partition {assignment.partition} of the lost flow {assignment.flow} has no flow "
            f"{time_text(episode.until - episode.changes[-1].call)} after the last flow came or went",
            "once the delay is over it belongs to a remaining flow",
        )

    def stuck(self, episode: RebalanceEpisode, assignment: Assignment) -> None:
        """REB-14: a partition that was paused and then had no flow, at rest."""
        event = assignment.states[-1][1]
        self.report.find(
            "REB-14",
            "handoff without end",
            "A handoff did not end with a new flow",
            (event,) if assignment.end is None else (event, assignment.end),
            f"partition {assignment.partition} was paused at flow {assignment.flow}, and nobody has it "
            f"{time_text(episode.until - event.call)} later",
            "when the handoff time is over, at the latest, a flow is being delivered to",
        )

    def uneven(self, episode: RebalanceEpisode, shares: dict[str, int], most: str, least: str) -> None:
        """REB-12: two flows and their shares, at rest."""
        assignments = [
            assignment for flow in (most, least) for assignment in self.timeline.assignments_of.get(flow, ())
        ]
        self.report.find(
            "REB-12",
            "uneven shares",
            "Partitions unevenly shared after a rebalance",
            (
                episode.changes[-1].record,
                *(p.begin for p in assignments if p.state_at(episode.until) == "ready"),
            ),
            f"at rest flow {most} has {shares[most]} partitions and flow {least} has {shares[least]}",
            "shares that differ by one at most",
        )


def _said(event: Record) -> str:
    args = event.args
    return f"partition {args['partition']} became {args['state']} at flow {args.get('flow', 'none')}"
