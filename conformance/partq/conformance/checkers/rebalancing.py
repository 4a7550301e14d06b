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
from collections.abc import Iterator
from typing import Final

from partq.conformance.facts import Facts
from partq.conformance.history import Record
from partq.conformance.timeline import BIND, LOSS, OTHER, Chain, Change, Life, Pair, Timeline

from .protocol import Checker, Report
from .rebalancing_findings import Findings


def check(facts: Facts) -> Report:
    """REB-4, REB-5, REB-6, REB-7, REB-11, REB-12, and of REB-14 that a handoff ends."""
    report = Report()
    if facts.profile.flows and facts.assignments:
        judge = _Judge(facts, report)
        for chain in judge.timeline.chains(facts):
            judge.judge(chain)
    return report


class _Judge:
    """Goes through the chains in order. ``open``: the flows that may be bound still."""

    def __init__(self, facts: Facts, report: Report) -> None:
        self.report = report
        self.say = Findings(facts, report)
        self.timeline = facts.derive(Timeline)
        self.events = facts.assignments
        self.partitions = facts.entity.partitions
        self.delay = facts.entity.rebalance_delay
        self.skew = facts.header.skew_ns
        self.prompt = max(self.timeline.grace, self.delay // 2) + self.skew
        self.open: list[Life] = []
        self.told: set[Pair | Life] = set()
        self.given_early = False

    def judge(self, chain: Chain) -> None:
        first = chain.changes[0]
        self.open = [life for life in self.open if life.sure_end >= first.call]
        binds = [c for c in chain.changes if c.life is not None and c.record is c.life.bind]
        self.open += [bind.life for bind in binds if bind.life is not None]
        self._standbys_stand_by(binds)
        if any(_useful(change) for change in chain.changes):
            self.given_early = False  # all is dealt out anew
        calm = not self.timeline.partitions(None, "paused").over(first.call, first.call)
        if calm and first.kind == BIND and first.life is not None and chain.watch > first.ret:
            self._bound(chain, first, first.life)
        found = len(self.report.findings)
        for n, change in enumerate(chain.changes):
            if change.kind == LOSS and change.life is not None and found == len(self.report.findings):
                self._lost(chain, n, change, change.life, at_rest=calm and n == 0)
        # What went wrong before would show at rest too, as something else.
        if chain.settled and not self.report.findings and all(c.kind != OTHER for c in chain.changes):
            self._at_rest(chain)

    # The first change of a chain.

    def _bound(self, chain: Chain, bind: Change, life: Life) -> None:
        if life.standby:
            moved = self._first_event(bind.call, chain.watch)
            if moved is not None:
                self.say.surplus_moved(bind, moved)
        elif life.standby is False:
            others = (change.call for change in chain.changes if not _useful(change))
            early = bind.call + self.delay - self.skew
            moved = self._first_event(bind.call, min(early, next(others, chain.until)))
            if moved is not None:
                self.report.count("REB-4")
                self.say.moved_early(bind, moved)

    def _lost(self, chain: Chain, n: int, loss: Change, life: Life, at_rest: bool) -> None:
        watch = chain.changes[n + 1].call if n + 1 < len(chain.changes) else chain.until
        pairs = [pair for pair in self._had(life, loss.call) if pair.state_at(loss.call) == "ready"]
        idle = self._idle(loss, life)
        if not pairs or watch <= loss.ret:
            return
        if idle and all(self._stands_by(other, loss, at_rest) for other in idle):
            if not self.report.findings:
                self._take_over(loss, watch, pairs, {other.flow for other in idle})
        else:
            self._reserve(loss, watch, pairs, judged=at_rest and not idle and self.delay > 0)

    def _stands_by(self, life: Life, loss: Change, at_rest: bool) -> bool:
        """Whether it surely is a standby. Unless all is at rest, an earlier loss may have made it one that
        waits for its share."""
        fresh = at_rest or self.timeline.first_parting(life) is loss
        return bool(life.standby) and life.surely_bound(loss.ret) and fresh

    def _standbys_stand_by(self, binds: list[Change]) -> None:
        for bind in binds:
            if bind.life is not None and bind.life.standby:
                parting = self.timeline.first_parting(bind.life)
                until = self.timeline.horizon if parting is None else parting.call
                given = next(iter(self.timeline.pairs_of.get(bind.life.flow, ())), None)
                if given is not None and given.begin.call + self.skew < until:
                    self.say.surplus_moved(bind, given.begin)
                elif until > bind.ret + self.delay + self.timeline.grace + self.skew:
                    self.report.count("REB-5")

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

    def _take_over(self, loss: Change, watch: int, pairs: list[Pair], standbys: set[str]) -> None:
        deadline = loss.ret + self.prompt
        self.report.count("REB-6", int(watch > deadline))
        for pair in pairs:
            heir = next(self._heirs(pair, loss.call), None)
            if heir is not None and heir.begin.call < min(watch, deadline):
                if heir.flow not in standbys:
                    self.say.passed_over(loss, heir, standbys)
            elif watch > deadline:
                self.say.not_at_once(loss, pair, heir)

    def _heirs(self, pair: Pair, since: int) -> Iterator[Pair]:
        pairs = self.timeline.pairs[pair.partition]
        at = bisect_left(pairs, since - self.skew, key=_begin)
        return (other for other in pairs[at:] if other.flow != pair.flow)

    def _reserve(self, loss: Change, watch: int, pairs: list[Pair], judged: bool) -> None:
        """Only from rest it is sure that no earlier delay may have ended; else it is noted that shares may be
        what an early gift made them."""
        early = loss.call + self.delay - self.skew
        gone = self._leaving(pairs, loss.call, min(early, watch))
        self.report.count("REB-7", int(judged and watch >= early))
        if gone is not None and judged:
            self.say.gone_early(loss, *gone)
        self.given_early |= gone is not None

    def _leaving(self, pairs: list[Pair], after: int, before: int) -> tuple[Pair, Record] | None:
        mine = {pair.partition: pair for pair in pairs}
        at = bisect_right(self.events, after, key=_call)
        while at < len(self.events) and self.events[at].call < before:
            event = self.events[at]
            pair = mine.get(event.args["partition"])
            if pair is not None and _leaves(pair, event):
                return pair, event
            at += 1
        return None

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
        if not _came_back(chain) and not self.given_early:
            self._shared_out(chain, bound, shares)

    def _left(self, loss: Change) -> list[Pair]:
        return self._had(loss.life, loss.call) if loss.life else []

    def _all_given(self, chain: Chain, shares: dict[str, int]) -> bool:
        """Count each flow's partitions. False where one is not at rest with a flow."""
        given = True
        for partition, pairs in self.timeline.pairs.items():
            at = bisect_left(pairs, chain.until, key=_begin)
            last = pairs[at - 1] if at else None
            if at > 1 and pairs[at - 2].told_until >= chain.until:
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
                self.say.stuck(chain, last)
        elif state is None and here:
            self.say.left_over(chain, f"partition {partition} has had no flow since", last.end or last.begin)
        elif not here and state in (None, "unbound"):
            if state == "unbound" or self._had_heirs(last):
                self.say.not_inherited(chain, last)
            else:
                self.say.left_over(
                    chain, f"partition {partition} has had no flow since", last.end or last.begin
                )

    def _had_heirs(self, pair: Pair) -> bool:
        """Whether some flow was bound when the delay for the pair's lost flow ended."""
        lost = max((life.sure_end for life in self.timeline.lives_of.get(pair.flow, ())), default=0)
        return any(life.surely_bound(lost + self.delay) for life in self.timeline.lives)

    def _shared_out(self, chain: Chain, bound: list[Life], shares: dict[str, int]) -> None:
        useful = [life for life in bound if life.standby is False]
        new = {change.life for change in chain.changes if change.kind == BIND}
        self.report.count("REB-4", sum(life in new for life in useful))
        lost = any(change.kind == LOSS for change in chain.changes)
        told_apart = len(bound) <= self.partitions or not (
            lost or any(life.standby is None for life in bound)
        )
        empty = [x for x in useful if not shares[x.flow] and x not in self.told] if told_apart else []
        unnamed = self.partitions - len(self.timeline.pairs)
        if empty:
            self.told.update(empty)
            self.say.left_over(chain, f"flow {empty[0].flow} has no partition", empty[0].bind)
        elif unnamed > 0:
            self.say.left_over(chain, f"{unnamed} of {self.partitions} partitions never had a flow")
        else:
            self._balanced(chain, {flow: share for flow, share in shares.items() if share})

    def _balanced(self, chain: Chain, shares: dict[str, int]) -> None:
        if len(shares) < 2:
            return
        self.report.count("REB-12")
        least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
        if shares[most] - shares[least] > 1:
            self.say.uneven(chain, shares, most, least)


def _came_back(chain: Chain) -> bool:
    """Whether a flow bound soon after one was lost: then handoffs may have been cancelled (REB-9)."""
    kinds = [change.kind for change in chain.changes]
    return LOSS in kinds and BIND in kinds[kinds.index(LOSS) :]


def _useful(change: Change) -> bool:
    """Whether it surely is a bind that leads to a rebalance."""
    return change.kind == BIND and change.life is not None and change.life.standby is False


def _leaves(pair: Pair, event: Record) -> bool:
    """Whether the event takes the partition from its flow; a state that is not true does not."""
    return event.args["state"] == "unassigned" or event.args.get("flow") not in (None, pair.flow)


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
