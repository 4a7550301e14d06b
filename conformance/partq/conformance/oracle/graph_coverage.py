"""The part of a model's graph that a history visits: the history is followed through the graph.

A history of client operations and faults fits many paths: the broker's own moves, and what became of an
unknown outcome, are not seen. `follow` takes one with the fewest of these, so that nothing counts as visited
that the history does not need. What an operation does to assignments is told before it returns, or as late as
the history allows; refusals that change nothing are passed over where no scope has them. It stops where the
history leaves the scope (another client, a delivery count beyond the bound, messages in another order than
the scope sends them); what comes later is not counted.
Scopes have no clock, so that time is not followed. Partitions, messages, locks and flows are matched by what
happened to them, whatever they are called.

This measures; the screens and the judge judge.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, NamedTuple

from partq.conformance.history import History, Record
from partq.conformance.oracle.roles import DELIVERS, LOOKS, RENEWS, TELLS
from partq.conformance.oracle.unneeded import unneeded
from partq.conformance.workload.tours import Plan, Survey, asked, client_of
from partq.model.actions import INTERNAL, Action, Observed
from partq.model.configuration import COUNTER_BITS, FOREVER
from partq.model.explore import Coverage, Edge, coverage
from partq.model.machine import explain
from partq.model.messages import Delivery, Message
from partq.model.operations import CLOCK, DRAINED, ENV, Outcome
from partq.model.scope import PRODUCER

BUDGET: Final = 20_000
"""How many (records done, state) pairs are looked at before the best so far is taken."""

SEEDS: Final = 8
"""Of how many programs that passed a transition last the seeds are kept."""

NO_PROGRAM: Final = "no program says them"
NO_HISTORY: Final = "no history needs them"
NO_RUN: Final = "no run chose them"

IGNORED: Final = frozenset({CLOCK, RENEWS})
"""Operations that change no state without a clock."""

Names = tuple[tuple[Any, Any], ...]
"""What of the history is what of the model, sorted: ``("message", "m1-2")`` -> ``"m1"`` and so on."""


class Followed(NamedTuple):
    """``path``: the transitions. ``left``: the first record that is not on it, None where all fitted."""

    path: tuple[Edge, ...]
    left: Record | None


class _Position(NamedTuple):
    """Where a search is: the records done, as bits, the state, what is known by which name, and until when
    news may be called of what each partition came to last."""

    done: int
    node: int
    names: Names
    news: tuple[int, ...]


_Waiting = tuple[int, int, int, _Position, tuple[_Position, Edge | None] | None]
"""What it cost, how far it is (negative), a serial number, the place, and where it was reached from."""


def _how_far(place: _Position) -> int:
    return place.done.bit_count()


class Tally:
    """Adds up what the runs of a survey visit. ``seeds``: by which they passed each transition last."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.every = [edge for edges in survey.graph.edges for edge in edges]
        self.passed: Counter[Edge] = Counter()
        self.seeds: dict[Edge, deque[int]] = {}
        self.runs = 0
        self.left = 0

    def add(self, history: History, seed: int | None = None) -> Followed:
        """Add one run, of the program with that seed, and return what it visits."""
        found = follow(self.survey, history)
        self.passed.update(found.path)
        if seed is not None:
            for edge in dict.fromkeys(found.path):
                self.seeds.setdefault(edge, deque(maxlen=SEEDS)).append(seed)
        self.runs += 1
        self.left += found.left is not None
        return found

    def hidden(self) -> dict[str, set[Edge]]:
        """Of the transitions not passed those that nobody can see to be passed, by reason."""
        unsaid = self.survey.unsaid - self.passed.keys()
        return {NO_PROGRAM: unsaid, NO_HISTORY: unneeded(self.survey, self.passed) - unsaid}

    def plan(self, hidden: Mapping[str, set[Edge]]) -> Plan:
        """What further tours are to lead to: all that is neither passed nor hidden."""
        without = frozenset().union(*hidden.values())
        wanted = [edge for edge in self.every if edge not in self.passed and edge not in without]
        return Plan(wanted, self.passed, without, self.seeds)

    def left_out(self) -> dict[str, Counter[str]]:
        """The transitions not passed: by reason, how many of each kind."""
        hidden = self.hidden()
        reasons = {**hidden, NO_RUN: self.plan(hidden).wanted}
        return {reason: Counter(sorted(map(kind, edges))) for reason, edges in reasons.items()}

    @property
    def coverage(self) -> Coverage:
        """The coverage of all runs together."""
        return coverage(self.survey.graph, self.passed)


def kind(edge: Edge) -> str:
    """The operation or move, and its outcome, in a few words."""
    shown = len(edge.answer.messages)
    ended = "error" if edge.answer.errors else f"{shown} shown" if shown else str(edge.answer.status)
    return edge.action.op if edge.action.proc == ENV else f"{edge.action.op} → {ended}"


def follow(survey: Survey, history: History, budget: int = BUDGET) -> Followed:
    """A path through the survey's graph that explains the history, or as much of it as one does."""
    return _PathSearch(survey, history).run(budget)


def _records(survey: Survey, history: History) -> list[Record]:
    """The records of the scope's clients, up to the first of another (who drains)."""
    clients = {client_of(survey.scope, proc) for proc in (*survey.scope.consumers, PRODUCER)}
    found: list[Record] = []
    for record in history.records:
        if (record.proc != ENV and record.proc not in clients) or record.op == DRAINED:
            break
        if record.op not in IGNORED:
            found.append(record)
    return found


class _PathSearch:
    """The cheapest path first: each of the broker's own moves, and each unknown outcome that is taken to have
    happened, costs one."""

    def __init__(self, survey: Survey, history: History) -> None:
        self.survey = survey
        self.records = _records(survey, history)
        self.lateness = history.header.lateness
        spans = [_when(record, history.header.skew_ns) for record in self.records]
        self.calls, self.returns = [call for call, _ in spans], [ret for _, ret in spans]
        self.came: dict[_Position, tuple[_Position, Edge | None] | None] = {}

    def run(self, budget: int) -> Followed:
        best = _Position(0, 0, (), (FOREVER,) * len(self._owners(0)))
        everything = (1 << len(self.records)) - 1
        waiting: list[_Waiting] = [(0, 0, 0, best, None)]
        serials = count(1)
        while waiting and len(self.came) < budget and best.done != everything:
            cost, _, _, here, before = heappop(waiting)
            if here in self.came:
                continue
            self.came[here] = before
            best = max(best, here, key=_how_far)
            for more, edge, there in self._next(here):
                heappush(waiting, (cost + more, -_how_far(there), next(serials), there, (here, edge)))
        left = next((r for n, r in enumerate(self.records) if not best.done >> n & 1), None)
        return Followed(self._path(best), left)

    def _path(self, place: _Position) -> tuple[Edge, ...]:
        path = []
        step = self.came.get(place)
        while step is not None:
            if step[1] is not None:
                path.append(step[1])
            step = self.came[step[0]]
        return tuple(path[::-1])

    def _next(self, here: _Position) -> Iterator[tuple[int, Edge | None, _Position]]:
        """Every way to go on: what it costs, the transition, and where it leads."""
        edges = self.survey.graph.edges[here.node]
        for number, record in self._candidates(here.done):
            done = here.done | 1 << number
            if record.op == TELLS:
                told = self._told(number, here)
                yield from ((0, None, here._replace(done=done, names=names)) for names in told)
                continue
            unknown = record.unknown
            asking = [edge for edge in edges if self._asks(edge.action, record, dict(here.names))]
            answers = [(edge, _answers(edge, record, here.names)) for edge in asking]
            for edge, names in answers:
                if names is not None:
                    news = self._news(here, edge, self.returns[number] + self.lateness)
                    yield int(unknown), edge, _Position(done, edge.target, names, news)
            if unknown or (all(names is None for _, names in answers) and self._idles(asking, record)):
                yield 0, None, here._replace(done=done)
        for edge in edges:
            if edge.action.op in INTERNAL:
                yield 1, edge, here._replace(node=edge.target, news=self._news(here, edge, FOREVER))

    def _owners(self, node: int) -> tuple[tuple[str, str] | None, ...]:
        flows = self.survey.graph.nodes[node].state.flows
        return () if flows is None else flows.owner

    def _news(self, here: _Position, edge: Edge, until: int) -> tuple[int, ...]:
        """Until when there may be news of each partition after this transition: of what it changes ``until``
        then."""
        changes = zip(self._owners(edge.source), self._owners(edge.target), here.news, strict=True)
        return tuple(known if before == after else until for before, after, known in changes)

    def _told(self, number: int, here: _Position) -> Iterator[Names]:
        """The names by which what this assignment event says is so, and may be news; none if it is not."""
        known, args = dict(here.names), self.records[number].args
        flow = known.get(("flow", args.get("flow")))
        for p, pair in enumerate(self._owners(here.node)):
            ended = args["state"] == "unassigned" and (pair is None or pair[0] != flow)
            if self.calls[number] <= here.news[p] and (ended or pair == (flow, args["state"])):
                names = _bound(known, "partition", args["partition"], p)
                if names is not None:
                    yield tuple(sorted(names.items()))

    def _idles(self, asking: Sequence[Edge], record: Record) -> bool:
        """Whether the model allows this answer, which the scope leaves out (that of a broker which is busy),
        to what these transitions ask, and nothing happens."""
        seen = Observed(record.outcome, record.error, record.messages)
        if not asking or seen.messages:
            return False
        state, action = self.survey.graph.nodes[asking[0].source].state, asked(asking[0])
        return state in explain(state, action._replace(calm=True), seen)

    def _candidates(self, done: int) -> list[tuple[int, Record]]:
        """The records that may come next: those called before any other remaining one returned."""
        left = [n for n in range(len(self.records)) if not done >> n & 1]
        horizon = min((self.returns[n] for n in left), default=FOREVER)
        return [(n, self.records[n]) for n in left if self.calls[n] <= horizon and self._is_next(n, left)]

    def _is_next(self, number: int, left: Sequence[int]) -> bool:
        """Whether no earlier event of the partition remains."""
        record = self.records[number]
        return record.op != TELLS or not any(
            other.op == record.op and other.args["partition"] == record.args["partition"]
            for other in (self.records[n] for n in left if n < number)
        )

    def _asks(self, action: Action, record: Record, names: dict[Any, Any]) -> bool:
        """Whether the record is this action, whatever its outcome."""
        args = record.args
        if action.op != record.op or (args.get("txn") is None) != (action.txn is None):
            return False
        if client_of(self.survey.scope, action.proc) != record.proc:
            return False
        if action.op in DELIVERS:
            return (args["max"], args.get("mode", "peek_lock")) == (action.max, action.mode)
        if action.op in LOOKS:
            return (args["max"], args.get("from_seq")) == (action.max, action.from_seq)
        if "locks" in args:
            return tuple(names.get(("lock", lock)) for lock in args["locks"]) == action.locks
        if "messages" in args:
            return [_key(message) for message in args["messages"]] == list(map(_key, action.messages))
        return bool(args.get("proc") == action.victim)


def _when(record: Record, skew: int) -> tuple[int, int]:
    """The times between which it took effect. An event's times are the broker's: news may be late."""
    call, ret = record.span
    return (call - skew, ret + skew) if record.op == TELLS else (call, ret)


def _key(message: Message) -> tuple[object, ...]:
    return message.session_id, message.partition_key, message.properties


# What came of it, and what is learned of names from that


def _answers(edge: Edge, record: Record, names: Names) -> Names | None:
    """The names known after the record, if this is what the edge answers; else None."""
    action, answer = edge.action, edge.answer
    unknown = record.unknown
    if answer.status != (Outcome.OK if unknown else record.outcome):
        return None
    if answer.errors and record.error is not None and record.error not in answer.errors:
        return None
    known: dict[Any, Any] | None = dict(names)
    if "partition" in record.args and action.partition is not None:
        known = _bound(known, "partition", record.args["partition"], action.partition)
    if answer.status == Outcome.OK and action.flow and "flow" in record.args:
        known = _renamed(known, "flow", record.args["flow"], action.flow)
    if answer.status == Outcome.OK:
        for ours, theirs in zip(record.sent, action.messages, strict=True):
            known = _bound(known, "message", ours.id, theirs.id)
    if answer.status == Outcome.OK and not unknown:
        known = _showed(known, record.messages, answer.messages)
    return None if known is None else tuple(sorted(known.items()))


def _showed(
    known: dict[Any, Any] | None, seen: Sequence[Delivery], allowed: Sequence[Delivery]
) -> dict[Any, Any] | None:
    if known is None or len(seen) != len(allowed):
        return None
    shown = {known.get(("message", delivery.id)): delivery for delivery in seen}
    for theirs in allowed:
        ours = shown.get(theirs.id)
        if ours is None or ours.delivery_count not in (None, theirs.delivery_count):
            return None
        place = _partition(ours)
        if place is not None and theirs.partition is not None:
            known = _bound(known, "partition", place, theirs.partition)
        if ours.lock is not None and theirs.lock is not None:
            known = _renamed(known, "lock", ours.lock, theirs.lock)
    return known


def _partition(shown: Delivery) -> int | None:
    if shown.partition is not None or shown.seq is None:
        return shown.partition
    return shown.seq >> COUNTER_BITS


def _bound(known: dict[Any, Any] | None, kind: str, ours: object, theirs: object) -> dict[Any, Any] | None:
    """With this one more name, unless either of the two is known as something else."""
    if known is None or known.get((kind, ours), theirs) != theirs:
        return None
    if any(k[0] == kind and k[1] != ours and name == theirs for k, name in known.items()):
        return None
    return {**known, (kind, ours): theirs}


def _renamed(known: dict[Any, Any] | None, kind: str, ours: object, theirs: object) -> dict[Any, Any] | None:
    """With this one more name; what was called so before has none any more."""
    if known is None:
        return None
    others = {k: name for k, name in known.items() if k[0] != kind or name != theirs}
    return {**others, (kind, ours): theirs}
