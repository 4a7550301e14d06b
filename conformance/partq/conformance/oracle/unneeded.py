"""Transitions of a model's graph that no history needs, so that no client can tell whether they are visited.

A history shows the operations of clients, their answers, and faults. It shows neither the broker's own moves
nor the model's names of partitions and locks. So two transitions may always look the same, and a move may
make no observable difference. `unneeded` finds such transitions: without all of them the graph still explains
every history of a program that it explains with them, with no more unseen moves.

All walks are explored at once, each with every explanation of what it shows. Paths look the same if each
visible transition has a counterpart, and each unseen move any number of them, but no more in all than the
walk has made so far. Names are matched by their first appearance, as in `graph_coverage`."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from itertools import permutations
from typing import Any, Final, NamedTuple

from partq.conformance.workload.tours import Known, Survey, client_of
from partq.model.actions import INTERNAL
from partq.model.explore import Edge
from partq.model.state import State
from partq.model.statuses import LOCKED

SPARED: Final = 3
"""Unseen moves that an explanation may spare for later at the most."""

MOST: Final = 50_000
"""How many (state, explanations) are looked at; beyond that nothing is found to be unneeded."""

FEW: Final = 1_000
"""Beyond so many all walks that were not explained are needed at once: quicker, but more than have to be."""

Names = tuple[tuple[Any, Any], ...]
"""What of the walk is called what by an explanation, sorted."""


class _Witness(NamedTuple):
    """One explanation of what was shown so far. ``parts``: the partitions that were shown. ``locks``: those
    with another name in it (None: one that it no longer knows). ``spared``: the unseen moves that it does
    without."""

    node: int
    parts: Names
    locks: Names
    spared: int


_Place = tuple[int, Known, frozenset[_Witness]]
"""Where a walk is, what its clients know, and all explanations of it."""


class _Look(NamedTuple):
    """What a history shows of a transition. ``fixed``: the part without names. ``asked``: the partitions and
    locks that a client names; ``given``: those that the broker names."""

    fixed: tuple[Any, ...]
    parts: tuple[Any, ...]
    asked: tuple[str, ...]
    given: tuple[str | None, ...]


def unneeded(survey: Survey, passed: Collection[Edge], limit: int = MOST) -> set[Edge]:
    """The transitions not passed that no history needs, all of them together."""
    every = {edge for edges in survey.graph.edges for edge in edges}
    search = _Search(survey, {edge for edge in every if edge not in passed})
    return search.without if search.run(limit) else set()


class _Search:
    """A breadth-first walk through the graph with all explanations ``without`` some transitions. Where no
    explanation is left, one more transition is needed: one that continues an explanation, otherwise those
    that the walk took."""

    def __init__(self, survey: Survey, without: set[Edge]) -> None:
        self.survey = survey
        self.scope = survey.scope
        self.without = without
        self.edges = survey.graph.edges
        self.looks = {edge: self._look(edge) for edges in self.edges for edge in edges}
        self.numbers = {edge: n for n, edge in enumerate(self.looks)}
        self.held = [self._held(node.state) for node in survey.graph.nodes]

    def run(self, limit: int) -> bool:
        """Whether every walk was explored, starting anew when some transitions turn out to be needed; it
        gives up at the limit."""
        while (ended := self._is_explained(limit)) is None:
            pass
        return ended

    def _is_explained(self, limit: int) -> bool | None:
        """Whether every walk was explored and explained. None: one was not, and its transitions are needed
        from now on."""
        start: _Place = (0, Known(), frozenset({_Witness(0, (), (), 0)}))
        came: dict[_Place, tuple[_Place, Edge] | None] = {start: None}
        waiting = deque([start])
        explained: bool | None = True
        while waiting and len(came) < limit:
            here = waiting.popleft()
            node, known, witnesses = here
            for edge in self.edges[node]:
                if not known.says(edge):
                    continue
                after = self._after(edge, witnesses) or self._repaired(edge, witnesses)
                if not after:
                    walk = {edge, *self._way(came, here)} & self.without
                    if explained or len(came) > FEW:  # what the first one needs may explain the others
                        self.without -= walk
                    explained = None
                    continue
                there = (edge.target, known.after(edge), after)
                if there not in came:
                    came[there] = here, edge
                    waiting.append(there)
        return False if waiting else explained

    def _repaired(self, edge: Edge, witnesses: frozenset[_Witness]) -> frozenset[_Witness]:
        """The explanations after one more transition, with one of those left out that it needs."""
        looks, found = self.looks[edge], set[Edge]()
        for one in witnesses if edge.action.op not in INTERNAL else ():
            for answer in self.edges[one.node]:
                if (
                    answer.action.op not in INTERNAL
                    and self._matched(one, looks, self.looks[answer]) is not None
                ):
                    found.add(answer)
        for answer in sorted(found & self.without, key=self.numbers.__getitem__):
            self.without.discard(answer)
            after = self._after(edge, witnesses)
            if after:
                return after
            self.without.add(answer)
        return frozenset()

    def _way(self, came: Mapping[_Place, tuple[_Place, Edge] | None], place: _Place) -> Iterator[Edge]:
        """The transitions of the walk to this point, the last first."""
        step = came[place]
        while step is not None:
            yield step[1]
            step = came[step[0]]

    def _after(self, edge: Edge, witnesses: frozenset[_Witness]) -> frozenset[_Witness]:
        """The explanations after one more transition of the walk."""
        found: dict[tuple[int, Names, Names], int] = {}
        waiting = list(self._next(edge, witnesses))
        while waiting:
            one = waiting.pop()
            if found.get(one[:3], -1) >= one.spared:
                continue
            found[one[:3]] = one.spared
            for move in self.edges[one.node] if one.spared else ():
                if move.action.op in INTERNAL and move not in self.without:
                    waiting.append(one._replace(node=move.target, spared=one.spared - 1))
        ways = (_Witness(*one, spared) for one, spared in found.items())
        return frozenset(seen for one in ways for seen in self._seen_as(edge.target, one))

    def _next(self, edge: Edge, witnesses: frozenset[_Witness]) -> Iterator[_Witness]:
        """The explanations that wait while the walk makes an unseen move, or else make a transition that
        looks the same."""
        for one in witnesses:
            if edge.action.op in INTERNAL:
                yield one._replace(spared=min(one.spared + 1, SPARED))
                continue
            for answer in self.edges[one.node]:
                if answer.action.op not in INTERNAL and answer not in self.without:
                    names = self._matched(one, self.looks[edge], self.looks[answer])
                    if names is not None:
                        yield _Witness(answer.target, *names, one.spared)

    def _seen_as(self, node: int, one: _Witness) -> Iterator[_Witness]:
        """The explanation, if what a history shows of the states, who has which partition, is the same; with
        every way to match names of partitions that are shown so for the first time."""
        held = self.held[node]
        locks = tuple(pair for pair in one.locks if pair[0] != pair[1] and (held is None or pair[0] in held))
        ours, theirs = self._owners(node), self._owners(one.node)
        if sum(pair is None for pair in ours) != sum(pair is None for pair in theirs):
            return
        parts = dict(one.parts)
        new = [p for p, pair in enumerate(ours) if pair is not None and p not in parts]
        for names in permutations([p for p in range(len(theirs)) if p not in parts.values()], len(new)):
            matched = {**parts, **dict(zip(new, names, strict=True))}
            if not ours or all(theirs[name] == ours[p] for p, name in matched.items()):
                yield one._replace(parts=tuple(sorted(matched.items())), locks=locks)

    def _matched(self, here: _Witness, ours: _Look, theirs: _Look) -> tuple[Names, Names] | None:
        """The names after both, if the two look the same; else None."""
        if ours.fixed != theirs.fixed:
            return None
        parts, locks = dict(here.parts), dict(here.locks)
        if any(locks.get(lock, lock) != name for lock, name in zip(ours.asked, theirs.asked, strict=True)):
            return None
        for p, name in zip(ours.parts, theirs.parts, strict=True):
            if parts.get(p, name) != name or any(n == name for q, n in parts.items() if q != p):
                return None
            parts[p] = name
        for lock, name in zip(ours.given, theirs.given, strict=True):
            if lock is not None and name is not None:
                others = [other for other, known in locks.items() if known == name]
                locks.update(dict.fromkeys(others if name in locks else [*others, name]))
                locks[lock] = name
        return tuple(sorted(parts.items())), tuple(sorted(locks.items()))

    def _look(self, edge: Edge) -> _Look:
        action, answer = edge.action, edge.answer
        shown = sorted(answer.messages)
        fixed = (
            (action.op, client_of(self.scope, action.proc), action.messages, action.txn),
            (action.max, action.mode, action.flow, action.victim, action.partition is None),
            (answer.status, answer.errors, len(action.locks)),
            tuple(
                (d.id, None if self.scope.has_flows else d.delivery_count, d.partition is None) for d in shown
            ),
        )
        parts = tuple(p for p in (action.partition, *(d.partition for d in shown)) if p is not None)
        return _Look(fixed, parts, action.locks, tuple(d.lock for d in shown))

    def _owners(self, node: int) -> tuple[Any, ...]:
        flows = self.survey.graph.nodes[node].state.flows
        return () if flows is None else flows.owner

    def _held(self, state: State) -> set[str | None] | None:
        """The locks that a client may still name; None: any lock."""
        if "stale" in self.scope.operations:
            return None
        return {
            entry.lock.token
            for part in state.parts
            for entry in part.log
            if entry.status == LOCKED and entry.lock is not None
        }
