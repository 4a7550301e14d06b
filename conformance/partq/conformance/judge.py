"""The exact judge: is there an order of a history's operations that the model allows?

A memoised search, in the manner of Wing and Gong: an operation may come next if it was called before every
other one still to come had returned; each takes effect at one instant, which the model's clock is moved to;
an unknown outcome is taken either way. It is slow and right, for small histories, and knows nothing of the
checkers. What `partq.model.machine` allows it accepts, and nothing else but for what no state of the model
has: a message must be shown as it was sent (RCV-1), the end of a lock may be counted only when the message is
delivered again, and a fault may strike what is down already.

Not judged, and answered `UNKNOWN`: families, operations and ends of a message's life that are not modelled,
messages whose way into an entity is not known, IDs sent twice, searches over the budget.

No row forbids that a broker is busy now and then. So one refusal amid faults, and one only, may have nothing
to do with them (ROUTE-6, ROUTE-7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from partq.model.actions import Action, Answer, Observed, action_of
from partq.model.machine import explain, internal, steps
from partq.model.messages import Delivery, Message
from partq.model.operations import UNAVAILABLE, Outcome
from partq.model.profiles import profile
from partq.model.routing import failed
from partq.model.state import (
    BACK,
    COUNTER_BITS,
    FOREVER,
    InvalidScope,
    State,
    entries,
    initial,
    position,
)

from .history import Header, History, Record
from .judge_limits import of_unknown_origin, unmodelled

BUDGET: Final = 200_000
"""How many (operations done, state) pairs are visited at the most."""

SHOWN: Final = 6
"""How many allowed answers are named of an operation that does not fit."""


class Judged(StrEnum):
    """What the search found."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Judgement:
    """``explained``: an order that the model allows, the longest found, as `Record.i`. ``stuck``: the records
    that could come next and are not allowed to. ``allowed``: what the first of them might have answered.
    ``visited``: how much was searched. ``reason``: why, in a sentence, unless it is accepted."""

    status: Judged
    explained: tuple[int, ...] = ()
    stuck: tuple[int, ...] = ()
    allowed: tuple[str, ...] = ()
    visited: int = 0
    reason: str = ""


class _Task(NamedTuple):
    """One operation to be placed. ``ret``: FOREVER where it never returned. ``maybe``: outcome unknown.
    ``busy``: refused amid faults, and perhaps not because of them."""

    i: int
    call: int
    ret: int
    action: Action
    observed: Observed
    maybe: bool
    busy: bool = False


Node = tuple[int, State]
"""The operations done, as bits, and above them whether one was taken to be busy; the state after them."""


def judge(history: History, budget: int = BUDGET, late: int = 0) -> Judgement:
    """Judge every entity of the history; the worst judgement stands. ``late``: by how many ns timers of the
    broker may be late, if later than the history says. In a simulation each recorded event moves the clock by
    1 ns, so what is due at one instant is spread over as many ns as there are records."""
    names = dict.fromkeys((*history.header.entities, *(r.entity for r in history.records if r.entity)))
    worst = Judgement(Judged.ACCEPTED)
    for name in names or ("",):
        mine = [r for r in history.records if r.entity in (name, "")]
        why = unmodelled(history.header, name, mine) or of_unknown_origin(name, mine, history.records)
        if why is None:
            judgement = _judge_entity(history, name, mine, budget, max(late, history.header.lateness))
        else:
            judgement = Judgement(Judged.UNKNOWN, reason=why)
        if judgement.status is Judged.REJECTED:
            return judgement
        if judgement.status is Judged.UNKNOWN or worst.status is Judged.ACCEPTED:
            worst = judgement
    return worst


def _judge_entity(history: History, name: str, records: list[Record], budget: int, late: int) -> Judgement:
    header = history.header
    family = profile(header.profile)
    sent: dict[str, Message] = {}
    for record in records:
        for message in record.args.get("messages", ()):
            if message.id in sent:
                return Judgement(Judged.UNKNOWN, reason=f"message ID {message.id!r} was sent twice")
            sent[message.id] = message
    strange = next((r for r in records for d in r.messages if not _as_sent(d, sent)), None)
    if strange is not None:
        return Judgement(Judged.REJECTED, stuck=(strange.i,), reason="it shows a message that nobody sent so")
    entity = header.entities.get(name) or family.default_entity
    spread = header.skew_ns + (len(records) if header.clock == "virtual" else 0)
    try:
        start = initial(
            header.profile,
            entity,
            _names(records, family.partitioned),
            now=min((r.call for r in records), default=0),
            timed=any(d.enqueued_at is not None for r in records for d in r.messages),
            observed=any(r.op == "assignment" for r in records),
            skew=header.skew_ns,
            late=late + spread,
            telling=header.lateness + spread,
        )
    except InvalidScope as error:
        status = Judged.UNKNOWN if family.column is None else Judged.REJECTED
        return Judgement(status, reason=str(error))
    return _Search(_tasks(records, header), budget).run(start)


def _as_sent(shown: Delivery, sent: dict[str, Message]) -> bool:
    """Whether the message that is shown is one that was sent, unchanged in all that is shown (RCV-1)."""
    message = sent.get(shown.id)
    return (
        message is not None
        and shown.body in (None, message.body)
        and shown.session_id in (None, message.session_id)
        and shown.partition_key in (None, message.partition_key, message.session_id)
        and (not shown.properties or set(message.properties) <= set(shown.properties))
    )


def _names(records: Sequence[Record], partitioned: bool) -> tuple[int, ...]:
    """What the partitions are called that the history shows, in order of first appearance."""
    if not partitioned:
        return ()
    names: dict[int, None] = {}
    for record in records:
        if record.is_env and "partition" in record.args:
            names[record.args["partition"]] = None
        for shown in record.messages:
            if shown.partition is not None:
                names[shown.partition] = None
            elif shown.seq is not None:
                names[shown.seq >> COUNTER_BITS] = None
    return tuple(names)


def _tasks(records: Sequence[Record], header: Header) -> tuple[_Task, ...]:
    """The operations to be placed. Stretches of time are in the calls already."""
    appearances: dict[str, Delivery] = {}
    for record in records:
        for shown in record.messages:
            known = appearances.get(shown.id)
            if known is None or known.seq is None:
                appearances[shown.id] = shown
    faults = _faults(records)
    live, skew = header.clock == "wall", header.skew_ns
    tasks = (_task(record, appearances, faults, live) for record in records if record.op != "advance")
    return tuple(_loosened(task, skew) if task.action.op == "assignment" else task for task in tasks)


def _loosened(task: _Task, skew: int) -> _Task:
    """An event whose times the broker wrote."""
    return task._replace(call=task.call - skew, ret=task.ret + skew)


def _faults(records: Sequence[Record]) -> list[tuple[int, int]]:
    """From when to when partitions may have been down."""
    spans: dict[int, tuple[int, int]] = {}
    done: list[tuple[int, int]] = []
    for record in records:
        partition = record.args.get("partition", 0)
        if record.op == "partition_down":
            spans.setdefault(partition, (record.call, FOREVER))
        elif record.op == "partition_up" and partition in spans:
            done.append((spans.pop(partition)[0], FOREVER if record.ret is None else record.ret))
    return done + list(spans.values())


def _task(
    record: Record, appearances: dict[str, Delivery], faults: Sequence[tuple[int, int]], live: bool
) -> _Task:
    messages = record.messages
    if "messages" in record.args:
        hints = (appearances.get(message.id) for message in record.args["messages"])
        messages = tuple(hint for hint in hints if hint is not None)
    unknown = record.outcome == Outcome.UNKNOWN
    status = Outcome.OK if unknown else str(record.outcome)
    ret = FOREVER if record.ret is None else record.ret
    refused = record.outcome == Outcome.ERROR and record.error in UNAVAILABLE
    calm = refused and not any(start <= ret and record.call <= end for start, end in faults)
    action = action_of(record.op, record.proc, record.args)._replace(calm=calm)
    if live and "timeout" not in record.args:
        action = action._replace(timeout=ret - record.call)  # it surely would have waited so long
    observed = Observed(status, None if unknown else record.error, messages)
    busy = refused and not calm and "txn" not in record.args
    return _Task(record.i, record.call, ret, action, observed, unknown, busy)


class _Search:
    """A depth-first search over what is done and where that leaves the broker."""

    def __init__(self, tasks: tuple[_Task, ...], budget: int) -> None:
        self.tasks = tasks
        self.budget = budget
        self.needed = sum(1 << n for n, task in enumerate(tasks) if not task.maybe)
        self.seen: set[Node] = set()
        self.best: tuple[int, ...] = ()
        self.best_node: Node | None = None

    def run(self, start: State) -> Judgement:
        node: Node = (0, start)
        self.seen.add(node)
        self.best_node = node
        stack: list[tuple[Node, Iterator[tuple[int | None, Node]]]] = [(node, self._next(node))]
        path: list[int | None] = []
        if self._done(node):
            return Judgement(Judged.ACCEPTED)
        while stack:
            step = next(stack[-1][1], None)
            if step is None:
                stack.pop()
                if path:
                    path.pop()
                continue
            placed, node = step
            if node in self.seen:
                continue
            self.seen.add(node)
            path.append(placed)
            if self._done(node):
                return Judgement(Judged.ACCEPTED, _placed(path), visited=len(self.seen))
            if len(path) > len(self.best) and len(_placed(path)) > len(self.best):
                self.best, self.best_node = _placed(path), node
            if len(self.seen) >= self.budget:
                return self._gave_up()
            stack.append((node, self._next(node)))
        return self._rejected()

    def _done(self, node: Node) -> bool:
        return node[0] & self.needed == self.needed

    def _next(self, node: Node) -> Iterator[tuple[int | None, Node]]:
        """Every way to go on: an operation that may come next, or a timer of the broker."""
        done, state = node
        horizon, spared = self._horizon(done), 1 << len(self.tasks)
        for n, task in self._candidates(done, horizon):
            at = max(state.now, task.call)
            for moved in _at(state, at):
                action = task.action._replace(slack=horizon - at)
                for after in _explained(moved, action, task):
                    yield task.i, (done | 1 << n, after)
                if task.busy and not done & spared:
                    for after in _explained(moved, action._replace(calm=True), task):
                        yield task.i, (done | 1 << n | spared, after)
            if task.maybe and (task.ret != FOREVER or task.action.messages):
                yield None, (done | 1 << n, failed(state, len(task.action.messages)))
        for after in _timers(state, horizon):
            yield None, (done, after)

    def _horizon(self, done: int) -> int:
        """The instant by which the next operation takes effect: the earliest return still to come."""
        return min((task.ret for n, task in enumerate(self.tasks) if not done >> n & 1), default=FOREVER)

    def _candidates(self, done: int, horizon: int) -> Iterator[tuple[int, _Task]]:
        for n, task in enumerate(self.tasks):
            if not done >> n & 1 and task.call <= horizon:
                yield n, task

    def _gave_up(self) -> Judgement:
        reason = f"no answer after {self.budget:,} states"
        return Judgement(Judged.UNKNOWN, self.best, visited=len(self.seen), reason=reason)

    def _rejected(self) -> Judgement:
        assert self.best_node is not None
        done, state = self.best_node
        horizon = self._horizon(done)
        stuck = [task for _, task in self._candidates(done, horizon) if not task.maybe]
        allowed = tuple(_allowed(state, stuck[0], horizon)) if stuck else ()
        return Judgement(
            Judged.REJECTED,
            self.best,
            tuple(task.i for task in stuck),
            allowed,
            len(self.seen),
            "no order of the operations is allowed",
        )


def _placed(path: Sequence[int | None]) -> tuple[int, ...]:
    """The operations on the path, without what the broker did by itself."""
    return tuple(i for i in path if i is not None)


def _explained(state: State, action: Action, task: _Task) -> Iterator[State]:
    """The states after the operation, where it happened as observed."""
    if task.maybe and action.op == "receive":
        for answer, after in steps(state, action):
            if answer.status == Outcome.OK:
                yield after
        return
    found = False
    for after in explain(state, action, _counted(state, task)):
        found = True
        yield after
    if not found and action.op in _AGAIN and _AGAIN[action.op](state, action.partition):
        yield state


def _counted(state: State, task: _Task) -> Observed:
    """What was observed; of a peek with the counts that the messages have by now. A broker may count a lock
    that ended only when it delivers the message again."""
    seen = task.observed
    if task.action.op != "peek" or not any(shown.delivery_count is not None for shown in seen.messages):
        return seen
    lag = {entry.id: entry.tries for _, entry in entries(state) if entry.status == BACK}
    shown = (
        d._replace(delivery_count=lag[d.id]) if d.id in lag and d.delivery_count == lag[d.id] - 1 else d
        for d in seen.messages
    )
    return seen._replace(messages=tuple(shown))


def _is_down(state: State, partition: int | None) -> bool:
    place = position(state.cfg, partition)
    return place is not None and bool(state.down >> place & 1)


_AGAIN: Final[Mapping[str, Callable[[State, int | None], bool]]] = {
    "partition_down": _is_down,
    "partition_up": lambda state, partition: not _is_down(state, partition),
    "broker_kill": lambda state, partition: state.dead,
    "broker_start": lambda state, partition: not state.dead,
}
"""Faults and repairs of what is so already change nothing."""


def _at(state: State, instant: int) -> Iterator[State]:
    """The state with its clock moved to that instant; nothing where a timer has to come first."""
    if instant == state.now:
        yield state
        return
    for _, after in steps(state, Action("advance", by=instant - state.now)):
        yield after


def _timers(state: State, horizon: int) -> Iterator[State]:
    """The states after each timer of the broker that may fire before the horizon."""
    flows = state.flows
    if flows is None:
        return
    due = {waiting[1] for waiting in flows.handoff if waiting is not None}
    if flows.timer is not None:
        due.add(flows.timer.lo)
    for instant in sorted(max(state.now, lo) for lo in due):
        if instant <= horizon:
            for moved in _at(state, instant):
                for move in internal(moved):
                    if move.op in ("rebalance", "handoff"):
                        yield from (after for _, after in steps(moved, move))


def _allowed(state: State, task: _Task, horizon: int) -> Iterator[str]:
    """What the model would have answered instead, in words; a few of them."""
    at = max(state.now, task.call)
    told: dict[str, None] = {}
    for moved in _at(state, at):
        for answer, _ in steps(moved, task.action._replace(slack=horizon - at)):
            told[_words(answer)] = None
            if len(told) == SHOWN:
                break
    yield from told


def _words(answer: Answer) -> str:
    if answer.status != Outcome.OK:
        return f"error: {' or '.join(sorted(answer.errors))}"
    return f"ok: {', '.join(message.id for message in answer.messages) or 'nothing shown'}"
