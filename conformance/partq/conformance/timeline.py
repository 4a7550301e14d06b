"""Flows over time: when each was bound, and which partitions it had. A history's flow facts, indexed once.

Everything is bounds, never guesses: a flow is *perhaps* bound from the call of its bind and *surely* from
its return, and so on to its end; a partition's state holds from its event to the next one, each `skew_ns`
early or late. Nothing here judges anything.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple

from partq.model.operations import Outcome

from .facts import FOREVER, Facts
from .history import Record
from .masks import Masks
from .noticing import noticed_by

GRACE: Final = 1_000_000
"""ns that a broker may always take for a step that waits for no timer of its own; see `Timeline.grace`."""

BIND: Final = "bind"
LOSS: Final = "loss"
OTHER: Final = "other"


class Life:
    """One flow, from its bind (or reconnect) to its end.

    Bound perhaps from ``bind.call`` and surely from ``sure_start``; perhaps gone from ``may_end`` on and
    surely from ``sure_end`` on. ``end``: the first record that may have ended it. ``standby``: whether it
    surely bound when there were as many flows as partitions (True), surely not (False), or perhaps (None).
    """

    __slots__ = ("bind", "end", "flow", "may_end", "standby", "sure_end", "sure_start")

    def __init__(self, bind: Record) -> None:
        self.flow: str = bind.args.get("flow", "")
        self.bind = bind
        self.sure_start = _return(bind) if bind.outcome == Outcome.OK else FOREVER
        self.end: Record | None = None
        self.may_end = FOREVER
        self.sure_end = FOREVER
        self.standby: bool | None = None

    def surely_bound(self, time: int) -> bool:
        """Whether it was bound at that time, whatever else is unknown."""
        return self.sure_start < time <= self.may_end

    def maybe_bound(self, time: int) -> bool:
        """Whether it may have been bound at that time."""
        return self.bind.call <= time <= self.sure_end

    def close(self, record: Record, sure: bool, noticed: int | None = None) -> None:
        """Note what ended it, or may have. ``noticed``: when it surely had, if not by the record's return."""
        if self.end is None:
            self.end = record
            self.may_end = record.call
            if self.may_end <= self.sure_start:
                self.sure_start = FOREVER
        if sure:
            self.sure_end = min(self.sure_end, _return(record) if noticed is None else noticed)


class Pair:
    """One partition in the hands of one flow: its states in turn, and the record that ended it.

    ``cut``: the broker was killed meanwhile; the pair may go on after it, or not. ``heir``: the event by
    which another flow got the partition though this pair had not ended.
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
    def told_until(self) -> int:
        """When the broker said that it ended, or was killed; `FOREVER`: never."""
        record = self.cut or self.end
        return FOREVER if record is None else record.call

    @property
    def ended(self) -> int:
        """When it ended, told or not: by its event, with the broker, or because another flow got it."""
        return self.told_until if self.heir is None else min(self.told_until, self.heir.call)

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
    """Something that may set off a rebalance. ``ret`` is `FOREVER` where it may still happen later."""

    call: int
    ret: int
    kind: str
    record: Record
    life: Life | None = None


class Chain(NamedTuple):
    """Changes that follow each other too fast to be told apart. ``until``: when the next chain begins, or the
    history ends; ``settled``: whether the partitions were at rest by then."""

    changes: list[Change]
    until: int
    settled: bool

    @property
    def watch(self) -> int:
        """How long the first change is watched alone."""
        return self.changes[1].call if len(self.changes) > 1 else self.until


class Timeline:
    """The flows of one entity over time.

    ``lives`` in order of their binds, also by flow in ``lives_of`` · ``changes``: what may set off a
    rebalance · ``pairs``: partition -> its pairs in order, also by flow in ``pairs_of`` · ``bits``: partition
    -> bit number in masks · ``horizon``: the last instant that the history watches · ``grace``: ns by which
    a step or a timer of the broker may be late.
    """

    __slots__ = (
        "_masks",
        "_partings",
        "_skew",
        "bits",
        "changes",
        "grace",
        "horizon",
        "lives",
        "lives_of",
        "pairs",
        "pairs_of",
    )

    def __init__(self, facts: Facts) -> None:
        self._skew = facts.header.skew_ns
        self._masks: dict[tuple[str | None, tuple[str, ...]], Masks] = {}
        self.lives: list[Life] = []
        self.lives_of: dict[str, list[Life]] = {}
        self.changes: list[Change] = []
        self.pairs: dict[int, list[Pair]] = {}
        self.pairs_of: dict[str, list[Pair]] = {}
        self.horizon = facts.records[-1].call if facts.records else 0
        self.grace = max(GRACE, facts.header.lateness)
        _Lives(self, facts).read()
        self._rank(facts.entity.partitions)
        self._partings = [change for change in self.changes if change.kind != BIND]
        self._read_pairs(facts)
        self.bits = {partition: bit for bit, partition in enumerate(self.pairs)}

    @property
    def everything(self) -> int:
        """The mask of all partitions that were ever spoken of."""
        return (1 << len(self.bits)) - 1

    def chains(self, facts: Facts) -> Iterator[Chain]:
        """The changes, cut wherever delay and handoffs surely were over. So each chain begins at rest."""
        entity, changes = facts.entity, self.changes
        rest = entity.rebalance_delay + entity.max_handoff + self.grace + facts.header.skew_ns
        some: list[Change] = []
        reach = 0
        for n, change in enumerate(changes):
            some.append(change)
            reach = max(reach, change.ret)
            until = changes[n + 1].call if n + 1 < len(changes) else self.horizon
            # A handoff that was under way at the last change may go before the next one.
            settled = until > reach + rest + (entity.max_handoff if len(some) > 1 else 0)
            if settled or n + 1 == len(changes):
                yield Chain(some, until, settled)
                some = []

    def stands_by(self, life: Life, time: int) -> bool:
        """Whether the flow surely was a mere standby until then: none was lost that it may have replaced."""
        since = self.first_parting(life)
        return bool(life.standby) and (since is None or time < since.call)

    def first_parting(self, life: Life) -> Change | None:
        """The first change since its bind that was no bind."""
        at = bisect_left(self._partings, life.bind.call, key=_change_call)
        return self._partings[at] if at < len(self._partings) else None

    def _rank(self, partitions: int) -> None:
        """Who is a standby. Binds that overlap may have come in any order."""
        open_lives: list[Life] = []
        for n, life in enumerate(self.lives):
            begin, end = life.bind.call, _return(life.bind)
            open_lives = [other for other in open_lives if other.sure_end >= begin]
            sure = sum(other.sure_start < begin and other.may_end > end for other in open_lives)
            perhaps = len(open_lives) + bisect_right(self.lives, end, key=_life_call) - n - 1
            full = sure >= partitions
            life.standby = full if full or perhaps < partitions else None
            open_lives.append(life)

    def _read_pairs(self, facts: Facts) -> None:
        kills = [r for r in facts.disruptions if r.op == "broker_kill" and r.outcome != Outcome.ERROR]
        current: dict[int, list[Pair]] = {}
        for event in facts.assignments:
            while kills and event.call > _started(kills[0], facts):
                _cut(current, kills.pop(0))
            self._on_event(current.setdefault(event.args["partition"], []), event)
        for kill in kills:
            _cut(current, kill)

    def _on_event(self, current: list[Pair], event: Record) -> None:
        """``current``: the partition's pairs that have not ended. After a kill its next event ends them."""
        partition, state = event.args["partition"], event.args["state"]
        flow = event.args.get("flow")
        self.pairs.setdefault(partition, [])
        for pair in [pair for pair in current if pair.cut is not None]:
            pair.end = event
            current.remove(pair)
        if flow is None and current:
            flow = current[-1].flow
        mine = next((pair for pair in current if pair.flow == flow), None)
        if state == "unassigned":
            if mine is not None:
                mine.end = event
                current.remove(mine)
        elif mine is not None:
            mine.states.append((state, event))
        elif flow is not None:
            for other in current:
                other.heir = other.heir or event
            pair = Pair(partition, flow, state, event)
            current.append(pair)
            self.pairs[partition].append(pair)
            self.pairs_of.setdefault(flow, []).append(pair)

    def partitions(self, flow: str | None, *states: str) -> Masks:
        """The partitions that may have been in one of these states, at that flow or (None) at any."""
        known = self._masks.get((flow, states))
        if known is None:
            known = self._masks[flow, states] = Masks(self._spans(flow, states))
        return known

    def _spans(self, flow: str | None, states: tuple[str, ...]) -> Iterator[tuple[int, int, int]]:
        skew = self._skew
        every = chain.from_iterable(self.pairs.values()) if flow is None else self.pairs_of.get(flow, ())
        for pair in every:
            bit = self.bits[pair.partition]
            for state, event, end in pair.segments():
                if state in states:
                    yield event.call - skew, FOREVER if end is None else _return(end) + skew, bit


class _Lives:
    """Reads binds, ends and faults into a timeline's lives and changes."""

    def __init__(self, timeline: Timeline, facts: Facts) -> None:
        self.timeline = timeline
        self.facts = facts
        self.current: dict[str, Life] = {}

    def read(self) -> None:
        facts = self.facts
        faults = (record for record in facts.disruptions if record.op != "disconnect")
        for record in sorted((*facts.flows, *faults), key=_call):
            if record.outcome != Outcome.ERROR or record.error == "not_found":
                _READERS[record.op](self, record)
        spans = (*facts.dead, *(span for spans in facts.down.values() for span in spans))
        repaired = {span.start: span.end for span in spans}
        changes = self.timeline.changes
        for n, change in enumerate(changes):
            changes[n] = change._replace(ret=max(change.ret, repaired.get(change.call, 0)))

    def bound(self, record: Record) -> None:
        if record.outcome == Outcome.ERROR:
            return
        life = Life(record)
        before = self.current.get(life.flow)
        if before is not None:
            before.close(record, sure=record.outcome == Outcome.OK)
        self.current[life.flow] = life
        self.timeline.lives.append(life)
        self.timeline.lives_of.setdefault(life.flow, []).append(life)
        plain = record.op == "bind" and record.outcome == Outcome.OK
        self._change(BIND if plain else OTHER, record, life)

    def unbound(self, record: Record) -> None:
        self._lost([self.current[flow] for flow in (record.args["flow"],) if flow in self.current], record)

    def disconnected(self, record: Record) -> None:
        flow = record.args.get("flow")
        if flow is not None:
            self.unbound(record)
        else:
            self._lost(self._of(record.proc), record)

    def cut_off(self, record: Record) -> None:
        proc = record.args.get("proc")
        self._lost(self._of(proc), record, sure=record.op == "connection_lost" and proc is not None)

    def faulted(self, record: Record) -> None:
        if record.op == "broker_kill":
            self._lost(list(self.current.values()), record, sure=False)
        self._change(OTHER, record)

    def _of(self, proc: str | None) -> list[Life]:
        return [life for life in self.current.values() if proc in (None, life.bind.proc)]

    def _lost(self, lives: list[Life], record: Record, sure: bool = True) -> None:
        """``not_found`` says that the flow was gone before."""
        sure = sure and (record.outcome == Outcome.OK or record.error == "not_found")
        for life in lives:
            certain = record.outcome == Outcome.OK and life.end is None and life.sure_start < record.call
            noticed = noticed_by(self.facts, life.flow, record)
            life.close(record, sure, noticed)
            self._change(LOSS if sure and certain and noticed < FOREVER else OTHER, record, life, noticed)
            if sure:
                del self.current[life.flow]

    def _change(self, kind: str, record: Record, life: Life | None = None, by: int | None = None) -> None:
        ret = _return(record) if by is None else by
        self.timeline.changes.append(Change(record.call, ret, kind, record, life))


_READERS: Final[Mapping[str, Callable[[_Lives, Record], None]]] = {
    "bind": _Lives.bound,
    "reconnect": _Lives.bound,
    "unbind": _Lives.unbound,
    "disconnect": _Lives.disconnected,
    "connection_lost": _Lives.cut_off,
    "frontend_lost": _Lives.cut_off,
    "broker_kill": _Lives.faulted,
    "partition_down": _Lives.faulted,
}


def _started(kill: Record, facts: Facts) -> int:
    """When the broker may first have been up again after the kill: until then events tell of before it."""
    spans = (span for span in facts.dead if span.start <= kill.call <= span.end)
    return next((span.sure_end for span in spans), _return(kill))


def _cut(current: Mapping[int, list[Pair]], kill: Record) -> None:
    for pairs in current.values():
        for pair in pairs:
            pair.cut = pair.cut or kill


def _life_call(life: Life) -> int:
    return life.bind.call


def _change_call(change: Change) -> int:
    return change.call


def _call(record: Record) -> int:
    return record.call


def _return(record: Record) -> int:
    return FOREVER if record.ret is None else record.ret
