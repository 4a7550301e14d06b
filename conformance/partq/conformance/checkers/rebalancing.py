"""What follows when a flow comes or goes: the delay, standbys, takeover, who has what afterwards.

The history's binds and losses are cut into *chains*: within a chain the next one comes before the last one
can have settled (delay, handoffs, skew). So a chain begins at rest, and after it, if the history watches
long enough, the partitions are at rest again. Chains with an unknown outcome, a fault or a reconnect in
them are not judged.

Who answers for what (one anomaly, one rule):

=====================================================================================  ======
after a bind at C < P from rest something moves before the delay is over               REB-4
at rest a flow that bound at C < P has nothing, or a partition nobody ever lost        REB-4
after a bind at C ≥ P from rest anything moves at all                                  REB-5
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
from collections.abc import Iterator
from typing import Final

from partq.conformance.facts import Facts
from partq.conformance.history import Record
from partq.conformance.timeline import BIND, GRACE, LOSS, OTHER, Chain, Change, Life, Pair, Timeline
from partq.model.profiles import SECOND

from .protocol import Checker, Report


def check(facts: Facts) -> Report:
    """REB-4, REB-5, REB-6, REB-7, REB-11, REB-12, and of REB-14 that a handoff ends."""
    report = Report()
    if facts.profile.flows and facts.assignments:
        judge = _Judge(facts, report)
        for chain in judge.timeline.chains(facts):
            judge.judge(chain)
    return report


class _Judge:
    """Goes through the chains in order. ``open``: the flows that may be bound still; ``rank``: whether a
    flow surely bound as a standby (True), surely not (False), or perhaps (None)."""

    def __init__(self, facts: Facts, report: Report) -> None:
        self.report = report
        self.timeline = facts.derive(Timeline)
        self.events = facts.assignments
        self.partitions = facts.entity.partitions
        self.delay = facts.entity.rebalance_delay
        self.skew = facts.header.skew_ns
        self.prompt = max(GRACE, self.delay // 2) + self.skew
        self.open: list[Life] = []
        self.rank: dict[Life, bool | None] = {}
        self.told: set[Pair | Life] = set()

    def judge(self, chain: Chain) -> None:
        first = chain.changes[0]
        self.open = [life for life in self.open if life.sure_end >= first.call]
        for change in chain.changes:
            if change.life is not None and change.life not in self.rank:
                self._rank(change, change.life)
        if chain.watch > first.ret and first.life is not None:
            if first.kind == BIND:
                self._bound(chain, first, first.life)
            elif first.kind == LOSS:
                self._lost(chain, first, first.life)
        # What went wrong before would show at rest too, as something else.
        if chain.settled and not self.report.findings and all(c.kind != OTHER for c in chain.changes):
            self._at_rest(chain)

    def _rank(self, bind: Change, life: Life) -> None:
        others = [other for other in self.open if other.maybe_bound(bind.call)]
        sure = sum(other.surely_bound(bind.call) and other.may_end > bind.ret for other in others)
        full = sure >= self.partitions
        self.rank[life] = full if full or len(others) < self.partitions else None
        self.open.append(life)

    # The first change of a chain.

    def _bound(self, chain: Chain, bind: Change, life: Life) -> None:
        standby = self.rank[life]
        if standby:
            moved = self._first_event(bind.call, chain.watch)
            if moved is not None:
                self._surplus_moved(bind, moved)
            if moved is not None or chain.watch > bind.ret + self.delay + GRACE + self.skew:
                self.report.count("REB-5")
        elif standby is False:
            others = (change.call for change in chain.changes if change.kind != BIND)
            early = bind.call + self.delay - self.skew
            moved = self._first_event(bind.call, min(early, next(others, chain.until)))
            if moved is not None:
                self.report.count("REB-4")
                self._moved_early(bind, moved)

    def _lost(self, chain: Chain, loss: Change, life: Life) -> None:
        pairs = self._had(life, loss.call)
        if not pairs:
            return
        idle = self._idle(loss, life)
        standbys = [other for other in idle if self.rank[other] and other.surely_bound(loss.ret)]
        if standbys and len(standbys) == len(idle):
            self._take_over(chain, loss, pairs, {other.flow for other in standbys})
        elif not idle and self.delay:
            self._reserve(chain, loss, pairs)

    def _idle(self, loss: Change, life: Life) -> list[Life]:
        """The other flows that may be bound but have nothing."""
        others = (other for other in self.open if other is not life and other.maybe_bound(loss.call))
        return [other for other in others if not self._had(other, loss.call)]

    def _had(self, life: Life, time: int) -> list[Pair]:
        pairs = self.timeline.pairs_of.get(life.flow, ())
        return [pair for pair in pairs if pair.state_at(time) is not None]

    def _first_event(self, after: int, before: int) -> Record | None:
        at = bisect_right(self.events, after, key=_call)
        return self.events[at] if at < len(self.events) and self.events[at].call < before else None

    def _take_over(self, chain: Chain, loss: Change, pairs: list[Pair], standbys: set[str]) -> None:
        deadline = loss.ret + self.prompt
        if chain.watch <= deadline:
            return
        self.report.count("REB-6")
        for pair in pairs:
            heir = next(self._heirs(pair, loss.call), None)
            if heir is None or heir.begin.call > deadline:
                self._not_at_once(loss, pair, heir)
            elif heir.flow not in standbys:
                self._passed_over(loss, heir, standbys)

    def _heirs(self, pair: Pair, since: int) -> Iterator[Pair]:
        pairs = self.timeline.pairs[pair.partition]
        at = bisect_left(pairs, since - self.skew, key=_begin)
        return (other for other in pairs[at:] if other.flow != pair.flow)

    def _reserve(self, chain: Chain, loss: Change, pairs: list[Pair]) -> None:
        early = loss.call + self.delay - self.skew
        if chain.watch >= early:
            self.report.count("REB-7")
        mine = {pair.partition: pair for pair in pairs}
        at = bisect_right(self.events, loss.call, key=_call)
        while at < len(self.events) and self.events[at].call < min(early, chain.watch):
            event = self.events[at]
            pair = mine.get(event.args["partition"])
            stays = event.args["state"] == "unbound" and pair and event.args.get("flow") in (None, pair.flow)
            if pair is not None and not stays:
                self._gone_early(loss, pair, event)
                return
            at += 1

    # The end of a chain.

    def _at_rest(self, chain: Chain) -> None:
        until = chain.until
        self.open = [life for life in self.open if life.maybe_bound(until)]
        bound = [life for life in self.open if life.surely_bound(until)]
        if not bound or len(bound) < len(self.open):
            return
        shares = dict.fromkeys((life.flow for life in bound), 0)
        losses = sum(change.kind == LOSS and bool(self._left(change)) for change in chain.changes)
        if not self._all_given(chain, shares):
            return
        self.report.count("REB-11", losses)
        if not _came_back(chain):
            self._shared_out(chain, bound, shares)

    def _left(self, loss: Change) -> list[Pair]:
        return self._had(loss.life, loss.call) if loss.life else []

    def _all_given(self, chain: Chain, shares: dict[str, int]) -> bool:
        """Count each flow's partitions. False where one is not at rest with a flow."""
        given = True
        for partition, pairs in self.timeline.pairs.items():
            at = bisect_left(pairs, chain.until, key=_begin)
            last = pairs[at - 1] if at else None
            if at > 1 and pairs[at - 2].ended >= chain.until:
                return False  # two owners
            state = None if last is None else last.state_at(chain.until)
            if last is not None and state == "ready" and last.flow in shares:
                shares[last.flow] += 1
            else:
                given = False
                self._not_given(chain, partition, last, state, shares)
        return given

    def _not_given(
        self, chain: Chain, partition: int, last: Pair | None, state: str | None, shares: dict[str, int]
    ) -> None:
        if last is None or last in self.told or last.cut is not None:
            return
        self.told.add(last)
        here = last.flow in shares
        if state == "paused" or (state is None and last.states[-1][0] == "paused"):
            if here:
                self._stuck(chain, last)
        elif state is None and here:
            self._left_over(chain, f"partition {partition} has had no flow since", last.end or last.begin)
        elif not here and state in (None, "unbound"):
            self._not_inherited(chain, last)

    def _shared_out(self, chain: Chain, bound: list[Life], shares: dict[str, int]) -> None:
        useful = [life for life in bound if self.rank[life] is False]
        new = {change.life for change in chain.changes if change.kind == BIND}
        self.report.count("REB-4", sum(life in new for life in useful))
        empty = [life for life in useful if not shares[life.flow] and life not in self.told]
        unnamed = self.partitions - len(self.timeline.pairs)
        if empty:
            self.told.update(empty)
            self._left_over(chain, f"flow {empty[0].flow} has no partition", empty[0].bind)
        elif unnamed > 0:
            self._left_over(chain, f"{unnamed} of {self.partitions} partitions never had a flow")
        else:
            self._balanced(chain, {flow: share for flow, share in shares.items() if share})

    def _balanced(self, chain: Chain, shares: dict[str, int]) -> None:
        if len(shares) < 2:
            return
        self.report.count("REB-12")
        least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
        if shares[most] - shares[least] > 1:
            self.report.find(
                "REB-12",
                "uneven shares",
                "Partitions unevenly shared after a rebalance",
                (chain.changes[-1].record, *self._last_events(chain, (most, least))),
                f"at rest flow {most} has {shares[most]} partitions and flow {least} has {shares[least]}",
                "shares that differ by one at most",
            )

    def _last_events(self, chain: Chain, flows: tuple[str, ...]) -> list[Record]:
        pairs = [pair for flow in flows for pair in self.timeline.pairs_of.get(flow, ())]
        return [pair.begin for pair in pairs if pair.state_at(chain.until) == "ready"]

    # What is said of it.

    def _moved_early(self, bind: Change, event: Record) -> None:
        self.report.find(
            "REB-4",
            "no delay",
            "Partitions moved before the rebalance delay was over",
            (bind.record, event),
            f"{_said(event)} {_length(event.call - bind.call)} after the bind; "
            f"the delay is {_length(self.delay)}",
            "nothing moves until the delay is over",
        )

    def _left_over(self, chain: Chain, what: str, *more: Record) -> None:
        binds = [change.record for change in chain.changes if change.kind == BIND]
        self.report.find(
            "REB-4",
            "left out",
            "A rebalance left a flow or a partition out",
            (*more, *(binds or [chain.changes[-1].record])),
            f"{what}, {_length(chain.until - chain.changes[-1].call)} after the last flow came or went",
            "after the delay every partition has a flow, and every flow bound at C < P has a partition",
        )

    def _surplus_moved(self, bind: Change, event: Record) -> None:
        self.report.find(
            "REB-5",
            "surplus flow",
            "A bind beyond the number of partitions moved partitions",
            (bind.record, event),
            f"{_said(event)}, though {self.partitions} flows or more were bound before this bind",
            "the flow stands by, and nothing moves until an active flow goes",
        )

    def _not_at_once(self, loss: Change, pair: Pair, heir: Pair | None) -> None:
        when = "never" if heir is None else f"after {_length(heir.begin.call - loss.call)}"
        self.report.find(
            "REB-6",
            "late takeover",
            "A standby did not take over at once",
            (loss.record, pair.begin) if heir is None else (loss.record, heir.begin),
            f"partition {pair.partition} of flow {pair.flow} was given on {when}, a standby being bound",
            "a standby has it at once",
        )

    def _passed_over(self, loss: Change, heir: Pair, standbys: set[str]) -> None:
        self.report.find(
            "REB-6",
            "standby passed over",
            "A lost flow's partition went past the standby",
            (loss.record, heir.begin),
            f"partition {heir.partition} went to flow {heir.flow}; standing by: {min(standbys)}",
            "a standby has it at once",
        )

    def _gone_early(self, loss: Change, pair: Pair, event: Record) -> None:
        self.report.find(
            "REB-7",
            "not reserved",
            "A lost flow's partition was not kept for the rebalance delay",
            (loss.record, event),
            f"{_said(event)} {_length(event.call - loss.call)} after flow {pair.flow} was lost; "
            f"the delay is {_length(self.delay)}",
            f"partition {pair.partition} is unbound, kept for flow {pair.flow}, until the delay is over",
        )

    def _not_inherited(self, chain: Chain, pair: Pair) -> None:
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

    def _stuck(self, chain: Chain, pair: Pair) -> None:
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


def _came_back(chain: Chain) -> bool:
    """Whether a flow bound soon after one was lost: then handoffs may have been cancelled (REB-9)."""
    kinds = [change.kind for change in chain.changes]
    return LOSS in kinds and BIND in kinds[kinds.index(LOSS) :]


def _said(event: Record) -> str:
    args = event.args
    return f"partition {args['partition']} became {args['state']} at flow {args.get('flow', 'none')}"


def _length(ns: int) -> str:
    return f"{ns / SECOND:.9f}".rstrip("0").rstrip(".") + " s"


def _call(record: Record) -> int:
    return record.call


def _begin(pair: Pair) -> int:
    return pair.begin.call


BLIND_SPOTS: Final = (
    "Without assignment events nothing of this is seen.",
    "Flows that come and go faster than delay and handoffs settle are judged only when they are at rest.",
    "Faults of the broker, reconnects, and unknown outcomes leave what follows them unjudged, until every "
    "flow that may be bound is known again.",
    "A flow that binds soon after another was lost may cancel handoffs (REB-9 leaves it open): then shares "
    "are not judged.",
    "After the first finding the partitions at rest are not looked at any more.",
    "With a delay of zero there is no wait that could be cut short (REB-4, REB-7).",
    "Partitions that move though no flow came or went are nobody's rule, if they are at rest again.",
)

CHECKER: Final = Checker(
    "rebalancing",
    ("REB-4", "REB-5", "REB-6", "REB-7", "REB-11", "REB-12", "REB-14"),
    check,
    BLIND_SPOTS,
    needs=dict.fromkeys(("REB-4", "REB-5", "REB-6", "REB-7", "REB-11", "REB-12", "REB-14"), ("bind",)),
)
