"""The guided search: finds an order of a history's effects that the model explains, or proves that there is
none.

It is depth first. At each node the effects that may come next are tried in the order of their estimates.
Effects that may be left out, and the broker's own moves, are tried last, when nothing else fits, so that
hidden choices are made as late as an observation needs them. Nodes whose every continuation failed are
remembered, but not those on the straight way through. A search with a patience jumps back where it is stuck
(`backjumping`). When the budget is spent, the answer is that there is none."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from time import thread_time
from typing import Final, NamedTuple

from msgspec import Struct, structs

from partq.conformance.oracle.backjumping import Level, concerned, conflict_of, jump_back
from partq.conformance.oracle.effects import BUSY, MAYBE, Effect, may_fail, named_by, tried_meanwhile
from partq.conformance.oracle.explanations import (
    allowed_answers,
    events,
    explanations,
    failed_send,
    left_to_itself,
)
from partq.conformance.oracle.guidance import FAILED, OPTIONAL, REQUIRED, Guidance
from partq.conformance.oracle.rebalances import Foretold
from partq.conformance.oracle.roles import TELLS
from partq.conformance.oracle.unseen_receives import Receivings, is_unseen, moves
from partq.model.configuration import FOREVER
from partq.model.errors import TooManyWays
from partq.model.operations import Outcome as Completion
from partq.model.state import State


class Outcome(StrEnum):
    """The answer of a search."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    GAVE_UP = "gave up"


class Found(NamedTuple):
    """The answer, with what a report needs. ``path``: the records of the longest explained order. ``stuck``:
    the effects that could come next and are not explained. ``allowed``: the model's answers to the first of
    these. ``visited``: number of nodes. ``concerned``: the messages of each stuck effect."""

    outcome: Outcome
    path: tuple[int, ...]
    stuck: tuple[Effect, ...]
    allowed: tuple[str, ...]
    visited: int
    concerned: tuple[frozenset[str], ...] = ()


Tell = Callable[[int, int], None]
"""Called with how many effects the longest order found explains, and how many there are."""


def untold(explained: int, effects: int) -> None:
    """Reports no progress."""


TOLD: Final = 64
"""After so many nodes it is told again."""

TIMED: Final = 32
"""After so many looks at the nodes the clock is asked, too: that costs as much as a node, or more."""

FREE: Final = 64
"""So many states with which no event to come agrees cost nothing after a move of the broker, or an effect."""

_Key = tuple[State, bool, Receivings]


class _Node(Struct, frozen=True, eq=False, gc=False):
    """A state and the effects placed so far. ``done``: these effects, as bits. ``busy``: whether a refusal
    was taken for a passing one. ``first``, ``due``: indexes into the orders of calls and of returns;
    everything before them is done. ``receivings``: the progress of unseen receives."""

    done: int
    state: State
    busy: bool
    first: int
    due: int
    receivings: Receivings = ()

    @property
    def key(self) -> _Key:
        """What nodes with the same continuations have in common, besides what is done."""
        return self.state, self.busy, self.receivings


class _Progress(Struct, frozen=True, eq=False, gc=False):
    """How many certain effects the way has explained since the last jump, and the node, and number of visited
    nodes, at which it last did."""

    explained: int
    since: int
    node: _Node | None


Choice = tuple[int | None, _Node]

UNTRUE: Final = frozenset({"REB-1", "REB-5", "REB-6", "REB-7", "REB-11", "REB-13"})
"""With one of these waived, assignment events need not tell of every change as it was."""


class Search:
    """One search for one history. ``deadline``: the `thread_time` at which it gives up. ``limit``: the most
    nodes that it visits. ``hasty``: only the likely place of each message is tried, so that nothing but an
    acceptance counts. ``patience``: after so many nodes without progress it jumps back. ``tell``: called now
    and then with the progress."""

    def __init__(
        self,
        effects: Sequence[Effect],
        guidance: Guidance,
        deadline: float,
        hasty: bool = False,
        limit: int | None = None,
        patience: int | None = None,
        tell: Tell = untold,
    ) -> None:
        self.effects = effects
        self.guidance = guidance
        self.deadline = deadline
        self.hasty = hasty
        self.limit = limit
        self.patience = patience
        self.tell = tell
        numbers = range(len(effects))
        required = [n for n in numbers if guidance.roles[n] != OPTIONAL]
        optional = [n for n in numbers if guidance.roles[n] == OPTIONAL]
        self.unseen = [n for n in optional if is_unseen(effects[n])]
        self.optional = [n for n in optional if n not in guidance.likely and n not in self.unseen]
        self.by_call = sorted(required, key=lambda n: effects[n].call)
        self.by_return = sorted(required, key=lambda n: effects[n].ret)
        self.horizons = [*(effects[n].ret for n in self.by_return), FOREVER]
        self.ways: dict[int, tuple[Effect, ...]] = {}
        self.needed = sum(1 << n for n in required)
        self.certain = sum(1 << n for n in required if guidance.roles[n] == REQUIRED)
        self.about: dict[int, frozenset[str]] = {}
        self.exhausted: dict[int, set[_Key]] = {}
        self.foretold = Foretold(effects, guidance.events, guidance.unordered, guidance.handoff)
        self.visited = 0
        self.looks = 0
        self.late = False
        self.jumps = 0
        self.cut = False
        self.tried: set[tuple[int, Hashable]] = set()
        self.longest: list[int | None] = []
        self.furthest: _Node | None = None
        self.progress = _Progress(0, 0, None)

    def run(self, start: State) -> Found:
        """Search from the empty entity."""
        node = self._advanced(0, start, _Node(0, start, False, 0, 0))
        self.furthest = node
        if node.done & self.needed == self.needed:
            return self._found(Outcome.ACCEPTED, [])
        placed: list[int | None] = []
        levels = [Level(node, self._choices(node))]
        while levels:
            stuck = self.patience is not None and self.visited - self.progress.since > self.patience
            choice = self._back(levels, placed) if stuck else next(levels[-1].choices, None)
            if choice is None and (stuck or self._over()):
                return self._found(Outcome.GAVE_UP, self.longest)
            if choice is None:
                spent = levels.pop().node
                self.exhausted.setdefault(spent.done, set()).add(spent.key)
                if placed:
                    placed.pop()
                continue
            effect, node = choice
            self.visited += 1
            if self.visited % TOLD == 0:
                self.tell(len(self.longest), len(self.effects))
            if not self._is_exhausted(node):
                placed.append(effect)
                if node.done & self.needed == self.needed:
                    return self._found(Outcome.ACCEPTED, placed)
                self._reached(node, placed)
                levels.append(Level(node, self._choices(node)))
            if self._over():
                return self._found(Outcome.GAVE_UP, self.longest)
        whole = not self.hasty and not self.jumps and not self.cut
        return self._found(Outcome.REJECTED if whole else Outcome.GAVE_UP, self.longest)

    def _is_exhausted(self, node: _Node) -> bool:
        alike = self.exhausted.get(node.done)
        return alike is not None and node.key in alike

    def _reached(self, node: _Node, placed: list[int | None]) -> None:
        if (explained := self._explained(node)) > self.progress.explained:
            self.progress = _Progress(explained, self.visited, node)
        if len(placed) > len(self.longest):
            self.longest, self.furthest = placed[:], node

    def _back(self, levels: list[Level[_Node]], placed: list[int | None]) -> Choice | None:
        """Jump back to where the next effect that has to take place may be explained, or an effect that
        certainly comes before it."""
        node = self.progress.node or levels[0].node
        if node.due == len(self.by_return):
            return None
        n = self.by_return[node.due]
        while earlier := self.guidance.before[n] & ~node.done:
            n = earlier.bit_length() - 1
        effect, horizon = self.effects[n], self.horizons[node.due]
        conflict = conflict_of(node.state, effect, horizon, self.guidance.held)
        choice = jump_back(levels, placed, conflict, self._is_exhausted, self.tried, self._over)
        if choice is not None:
            self.jumps += 1
            self.progress = _Progress(self._explained(choice[1]), self.visited, choice[1])
        return choice

    def _explained(self, node: _Node) -> int:
        """How many of the effects that certainly took place are done; the others may always come later."""
        return (node.done & self.certain).bit_count()

    def _over(self) -> bool:
        """Whether the budget is spent; once it is it stays so, for what was cut short is not complete."""
        self.looks += 1
        self.late = self.late or (self.looks % TIMED == 1 and thread_time() > self.deadline)
        return self.late or (self.limit is not None and self.visited >= self.limit)

    def _goes_on(self) -> bool:
        """Count one more visited state; whether the budget allows it."""
        self.visited += 1
        return not self._over()

    def _advanced(self, done: int, state: State, node: _Node) -> _Node:
        """The node after that one, with its indexes moved past the effects that are done."""
        first, due, by_call, by_return = node.first, node.due, self.by_call, self.by_return
        while first < len(by_call) and done >> by_call[first] & 1:
            first += 1
        while due < len(by_return) and done >> by_return[due] & 1:
            due += 1
        return _Node(done, state, node.busy, first, due, node.receivings)

    def _choices(self, node: _Node) -> Iterator[Choice]:
        """Every continuation, the most likely first."""
        horizon = self.horizons[node.due]
        candidates = self._candidates(node, horizon)
        for n in candidates:
            yield from self._placed(node, n, horizon)
        optional = self._left_out(node, candidates, horizon)
        for n in optional:
            yield from self._placed(node, n, horizon)
        for n in self.unseen:
            if not node.done >> n & 1 and self._may_come(n, node, horizon):
                yield from self._received(node, n, horizon)
        yield from self._timers(node, horizon)
        if not node.busy and node.state.down:
            for n in candidates:
                if self.effects[n].doubt & BUSY and self.effects[n].action.txn is None:
                    yield from self._explained_by(node, n, (self.effects[n],), horizon, busy=True)
        for n in (n for n in optional if may_fail(self.effects[n])):  # it may have used up numbers
            yield None, self._after(node, n, failed_send(node.state, self.effects[n].action))

    def _left_out(self, node: _Node, candidates: Sequence[int], horizon: int) -> list[int]:
        """What may be left out and may come next, first what is about messages of the effects that are not
        explained without it."""
        found = [n for n in self.optional if not node.done >> n & 1 and self._may_come(n, node, horizon)]
        if len(found) > 1:
            wanted = frozenset[str]().union(*map(self._about, candidates))
            found.sort(key=lambda n: self._about(n).isdisjoint(wanted))
        return found

    def _about(self, n: int) -> frozenset[str]:
        """The messages that the effect sends, names or shows."""
        if n not in self.about:
            effect = self.effects[n]
            sent = (message.id for message in effect.action.messages)
            shown = (one.id for one in effect.observed.messages)
            self.about[n] = frozenset(named_by(effect.action, self.guidance.held)).union(sent, shown)
        return self.about[n]

    def _may_come(self, n: int, node: _Node, horizon: int) -> bool:
        """Whether the effect, which may not have happened, may come next."""
        return self.effects[n].call <= horizon and self.effects[n].ret >= node.state.now

    def _candidates(self, node: _Node, horizon: int) -> list[int]:
        """The effects that are required, or likely, and may come next, in the order of their estimates."""
        done, before, found = node.done, self.guidance.before, []
        for index in range(node.first, len(self.by_call)):
            n = self.by_call[index]
            if self.effects[n].call > horizon:
                break
            if not done >> n & 1 and before[n] & done == before[n]:
                found.append(n)
        likely = self.guidance.likely
        begun = {receiving.effect for receiving in node.receivings} if likely else ()
        for n in likely:
            if (
                n not in begun
                and self.effects[n].call <= horizon
                and not done >> n & 1
                and before[n] & done == before[n]
            ):
                found.append(n)
        if len(found) > 1:
            found.sort(key=self.guidance.estimates.__getitem__)
        return found

    def _placed(self, node: _Node, n: int, horizon: int) -> Iterator[Choice]:
        effect = self.effects[n]
        if self.guidance.roles[n] == FAILED:
            yield n, self._after(node, n, failed_send(node.state, effect.action))
            return
        if effect.action.op == TELLS:
            yield from self._told(node, n, effect, horizon)
            return
        tried = tried_meanwhile(self.effects, effect, node.done, horizon) if effect.waiting else 0
        yield from self._explained_by(node, n, self.ways.get(n) or self._ways(effect, n), horizon, tried)

    def _explained_by(
        self, node: _Node, n: int, ways: Sequence[Effect], horizon: int, tried: int = 0, busy: bool = False
    ) -> Iterator[Choice]:
        """The choices by these ways; the search is cut short where the model does not try all of one."""
        done, refuted = node.done | 1 << n, 0
        for way in ways:
            try:
                for after in explanations(node.state, way, horizon, busy, tried, goes_on=self._goes_on):
                    if self._is_foretold(node.state, after, done):
                        then = self._advanced(done, after, node)
                        yield n, structs.replace(then, busy=True) if busy else then
                    elif (refuted := refuted + 1) >= FREE and not self._goes_on():
                        return
            except TooManyWays:
                self.cut = True

    def _received(self, node: _Node, n: int, horizon: int) -> Iterator[Choice]:
        """The next messages that the unseen receive may take."""
        for after in moves(node.state, n, self.effects[n], node.receivings, horizon, self._goes_on):
            done = node.done | 1 << n if after.ended else node.done
            taken = structs.replace(node, receivings=after.receivings)
            yield n, self._advanced(done, after.state, taken)

    def _told(self, node: _Node, n: int, effect: Effect, horizon: int) -> Iterator[Choice]:
        """An assignment event tells of a change that was made, or of one that is due."""
        made = False
        for after in events(node.state, effect):
            made = True
            if self._is_foretold(node.state, after, node.done | 1 << n):
                yield n, self._after(node, n, after)
        if not made:
            yield from self._timers(node, horizon, effect.call)

    def _ways(self, effect: Effect, n: int) -> tuple[Effect, ...]:
        """The effect in each partition in which it may have taken place."""
        places = self.guidance.places[n]
        found = [effect._replace(action=effect.action._replace(only=p)) for p in places]
        if not places or effect.observed.status != Completion.OK:
            found.append(effect)
        return self.ways.setdefault(n, tuple(found))

    def _is_foretold(self, before: State, state: State, done: int) -> bool:
        """Whether the state agrees with the assignment events to come. ``before``: the one that led to it."""
        return (
            before.flows is None
            or state.flows is None
            or self.foretold.agree(before.flows, state.flows, done)
            or not UNTRUE.isdisjoint(state.cfg.waived)
        )

    def _timers(self, node: _Node, horizon: int, late: int = 0) -> Iterator[Choice]:
        """The state after the broker alone moved until one of its timers ended, or until ``late``, ns."""
        targets = None
        if node.state.cfg.observed and node.state.flows is not None:
            flows, done, even = node.state.flows, node.done, node.state.forbids("REB-12")
            latest = horizon + node.state.cfg.telling
            targets = partial(self.foretold.targets, flows, done, self.hasty, latest, even)
        for number, after in enumerate(left_to_itself(node.state, horizon, targets, late)):
            if number >= FREE and not self._goes_on():
                return
            if self._is_foretold(node.state, after, node.done):
                yield None, structs.replace(node, state=after)

    def _after(self, node: _Node, n: int, state: State) -> _Node:
        return self._advanced(node.done | 1 << n, state, node)

    def _found(self, outcome: Outcome, path: Sequence[int | None]) -> Found:
        records = tuple(self.effects[n].record for n in path if n is not None)
        if outcome is Outcome.ACCEPTED or self.furthest is None:
            return Found(outcome, records, (), (), self.visited)
        horizon = self.horizons[self.furthest.due]
        waiting = (self.effects[n] for n in self.by_call if not self.furthest.done >> n & 1)
        stuck = tuple(e for e in waiting if e.call <= horizon and not e.doubt & MAYBE)
        known = bool(stuck) and not self.cut  # else an answer may take too many ways, too
        allowed = allowed_answers(self.furthest.state, stuck[0], horizon) if known else ()
        state, held = self.furthest.state, self.guidance.held
        about = tuple(concerned(state, effect, horizon, held) for effect in stuck)
        return Found(outcome, records, stuck, allowed, self.visited, about)
