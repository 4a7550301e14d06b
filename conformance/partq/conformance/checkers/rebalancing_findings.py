"""What is said of flows that come or go and of what follows: the findings of `rebalancing.py`.

Only words are here; nothing is judged.
"""

from __future__ import annotations

from partq.conformance.facts import Facts
from partq.conformance.history import Record
from partq.conformance.timeline import BIND, Chain, Change, Pair, Timeline
from partq.model.profiles import SECOND

from .protocol import Report


class Findings:
    """Makes the findings of one entity's facts, in one report."""

    def __init__(self, facts: Facts, report: Report) -> None:
        self.report = report
        self.timeline = facts.derive(Timeline)
        self.delay = facts.entity.rebalance_delay
        self.partitions = facts.entity.partitions

    def moved_early(self, bind: Change, event: Record) -> None:
        """REB-4: a bind at rest, and something that moved before the delay was over."""
        self.report.find(
            "REB-4",
            "no delay",
            "Partitions moved before the rebalance delay was over",
            (bind.record, event),
            f"{_said(event)} {_length(event.call - bind.call)} after the bind; "
            f"the delay is {_length(self.delay)}",
            "nothing moves until the delay is over",
        )

    def left_over(self, chain: Chain, what: str, *more: Record) -> None:
        """REB-4: who or what is without, at rest."""
        binds = [change.record for change in chain.changes if change.kind == BIND]
        self.report.find(
            "REB-4",
            "left out",
            "A rebalance left a flow or a partition out",
            (*more, *(binds or [chain.changes[-1].record])),
            f"{what}, {_length(chain.until - chain.changes[-1].call)} after the last flow came or went",
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

    def not_at_once(self, loss: Change, pair: Pair, heir: Pair | None) -> None:
        """REB-6: a lost flow's partition that came to its heir too late, or to none."""
        when = "never" if heir is None else f"after {_length(heir.begin.call - loss.call)}"
        self.report.find(
            "REB-6",
            "late takeover",
            "A standby did not take over at once",
            (loss.record, pair.begin) if heir is None else (loss.record, heir.begin),
            f"partition {pair.partition} of flow {pair.flow} was given on {when}, a standby being bound",
            "a standby has it at once",
        )

    def passed_over(self, loss: Change, heir: Pair, standbys: set[str]) -> None:
        """REB-6: one that came to another flow than a standby."""
        self.report.find(
            "REB-6",
            "standby passed over",
            "A lost flow's partition went past the standby",
            (loss.record, heir.begin),
            f"partition {heir.partition} went to flow {heir.flow}; standing by: {min(standbys)}",
            "a standby has it at once",
        )

    def gone_early(self, loss: Change, pair: Pair, event: Record) -> None:
        """REB-7: what became of a lost flow's partition before the delay was over."""
        self.report.find(
            "REB-7",
            "not reserved",
            "A lost flow's partition was not kept for the rebalance delay",
            (loss.record, event),
            f"{_said(event)} {_length(event.call - loss.call)} after flow {pair.flow} was lost; "
            f"the delay is {_length(self.delay)}",
            f"partition {pair.partition} is unbound, kept for flow {pair.flow}, until the delay is over",
        )

    def not_inherited(self, chain: Chain, pair: Pair) -> None:
        """REB-11: a lost flow's partition that nobody has, at rest."""
        lost = [life.end for life in self.timeline.lives_of.get(pair.flow, ()) if life.end is not None]
        self.report.find(
            "REB-11",
            "not inherited",
            "A lost flow's partition was never given to the remaining flows",
            (*lost[-1:], pair.states[-1][1]),
            f"partition {pair.partition} of the lost flow {pair.flow} has no flow "
            f"{_length(chain.until - chain.changes[-1].call)} after the last flow came or went",
            "once the delay is over it belongs to a remaining flow",
        )

    def stuck(self, chain: Chain, pair: Pair) -> None:
        """REB-14: a partition that was paused and then had no flow, at rest."""
        event = pair.states[-1][1]
        self.report.find(
            "REB-14",
            "handoff without end",
            "A handoff did not end with a new flow",
            (event,) if pair.end is None else (event, pair.end),
            f"partition {pair.partition} was paused at flow {pair.flow}, and nobody has it "
            f"{_length(chain.until - event.call)} later",
            "when the handoff time is over, at the latest, a flow is being delivered to",
        )

    def uneven(self, chain: Chain, shares: dict[str, int], most: str, least: str) -> None:
        """REB-12: two flows and their shares, at rest."""
        pairs = [pair for flow in (most, least) for pair in self.timeline.pairs_of.get(flow, ())]
        self.report.find(
            "REB-12",
            "uneven shares",
            "Partitions unevenly shared after a rebalance",
            (chain.changes[-1].record, *(p.begin for p in pairs if p.state_at(chain.until) == "ready")),
            f"at rest flow {most} has {shares[most]} partitions and flow {least} has {shares[least]}",
            "shares that differ by one at most",
        )


def _said(event: Record) -> str:
    args = event.args
    return f"partition {args['partition']} became {args['state']} at flow {args.get('flow', 'none')}"


def _length(ns: int) -> str:
    return f"{ns / SECOND:.9f}".rstrip("0").rstrip(".") + " s"
