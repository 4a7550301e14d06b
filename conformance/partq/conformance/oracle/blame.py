"""Blame by relaxation: which requirement does a rejected history violate?

The model is asked again with one requirement waived at a time, so that its clause takes its relaxed form. A
requirement whose waiver alone explains the history is a *candidate*: one candidate is the violated
requirement; of several each may be it. Where no single waiver helps, pairs are tried.

Only requirements that the model enforced while it rejected the history can explain it, and only these are
waived. A waived search that gives up makes the candidates a lower bound.

Blame mostly works on a small excerpt of a history, or of a program, which many requirements explain. The
whole history is the evidence: a candidate that does not explain it comes after those that do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import Final

from partq.conformance.history import History
from partq.conformance.oracle.indications import INDICATED, contradicted
from partq.conformance.oracle.judge import SECONDS, Judged, Judgement, judge
from partq.conformance.oracle.prefix import shortest_rejected
from partq.conformance.oracle.reading import Reading
from partq.conformance.oracle.uses import unmet
from partq.model import clauses
from partq.model.configuration import NARROWLY, WIDE
from partq.model.departures import Consulted
from partq.model.profiles import requirements_of, unpromised
from partq.model.requirements import requirement, special_first, unpreceded

REJECTING: Final = 4
"""The budget for the rejection itself, in budgets of a waived search: without it nothing is blamed."""

CERTAINTY: Final = (Judged.ACCEPTED, Judged.UNKNOWN, Judged.REJECTED)
"""What the judge may say of the whole of a history with a candidate waived, the best first."""

PAIRS: Final = 200
"""The limit of pairs of requirements that are tried."""


@dataclass(frozen=True, slots=True)
class Blame:
    """``candidates``: the requirements each of which alone explains the history, the most special first.
    ``level``: the first of them and those that nothing ranks below it, neither the catalogue, nor the whole,
    nor what complied; with them those of ``open`` that no such candidate precedes, unless it takes its wide
    form, or the pair.
    ``consulted``: the requirements that the model enforced on the way. ``pairs``: where there is none, a pair
    of requirements that do together. ``open``: requirements whose waived search, or the one that tells
    whether they are consulted, ran out of budget. ``visited``: how many
    nodes all searches visited. ``judgement``: the rejection."""

    judgement: Judgement
    candidates: tuple[str, ...] = ()
    consulted: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    open: tuple[str, ...] = ()
    visited: int = 0
    level: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every waived search came to an end; otherwise there may be more candidates."""
        return self.judgement.status is Judged.REJECTED and not self.open

    @property
    def violated(self) -> str | None:
        """The violated requirement, if it is known."""
        return self.candidates[0] if len(self.candidates) == 1 and self.complete else None


def blame(
    history: History | Reading,
    seconds: float = SECONDS,
    late: int = 0,
    nodes: int | None = None,
    whole: History | Reading | None = None,
    spared: frozenset[str] = frozenset(),
) -> Blame:
    """Which requirements a history that the judge rejects may violate. ``whole``: the history that it
    was cut or shrunk from, if anything. ``spared``: what is never enforced, nor blamed, beside what
    the profile does not promise of numbers. The other arguments
    are as for `judge`: the budget is that of each waived search, and `REJECTING` times as much that of the
    rejection."""
    reading = Reading.of(history)
    spared |= unpromised(reading.history.header.profile)
    consulted = Consulted(spared)
    most = None if nodes is None else REJECTING * nodes
    judgement = judge(reading, REJECTING * seconds, late, consulted, most)
    visited, all_asked = judgement.visited, judgement.status is Judged.REJECTED
    if judgement.status is Judged.UNKNOWN:  # a search that remembers what it asks for takes longer
        judgement = judge(reading, REJECTING * seconds, late, spared, most)
        visited += judgement.visited
    if judgement.status is not Judged.REJECTED:
        return Blame(judgement, visited=visited)
    if judgement.owner is not None:
        return Blame(judgement, (judgement.owner,), visited=visited, level=(judgement.owner,))
    everything = reading if whole is None else Reading.of(whole)
    binding = requirements_of(reading.history.header.profile) - unmet(reading.history)
    waived = _Waived(reading, everything, seconds, late, nodes, visited, binding - spared, spared)
    asked = special_first([id for id in {*consulted.asked, *reading.changed_by} if id in binding])
    unasked = (
        () if all_asked else tuple(id for id in clauses.covered() if id in waived.binding.difference(asked))
    )
    statuses = {id: waived.ask(id) for id in asked}
    statuses |= {id: waived.ask(id, patience=REJECTING) for id in waived.doubtful(statuses)}
    ranks = waived.ranked([id for id, status in statuses.items() if status is Judged.ACCEPTED])
    candidates = tuple(id for rank in ranks for id in rank)
    undecided = (*(id for id, status in statuses.items() if status is Judged.UNKNOWN), *unasked)
    pairs = () if candidates or undecided else waived.first_pair(asked)
    level = waived.level(ranks[0], undecided) if ranks else pairs[0] if pairs else ()
    return Blame(judgement, candidates, asked, pairs, undecided, waived.visited, level)


def blame_shortest(history: Reading, seconds: float, nodes: int | None) -> tuple[History, Blame]:
    """The shortest prefix of it whose rejection `blame` can afford, and its blame: a shorter one may be far
    harder to reject. The arguments are as for `blame`."""
    most, visited = None if nodes is None else REJECTING * nodes, 0

    def is_rejected(cut: History) -> bool:
        nonlocal visited
        judgement = judge(cut, REJECTING * seconds, nodes=most)
        visited += judgement.visited
        return judgement.status is Judged.REJECTED

    cut = shortest_rejected(history.history, is_rejected)
    said = blame(cut, seconds, nodes=nodes, whole=history)
    return cut, replace(said, visited=said.visited + visited)


@dataclass(slots=True)
class _Waived:
    """The judge asked about one history with requirements waived, and how many nodes that took."""

    reading: Reading
    whole: Reading
    seconds: float
    late: int
    nodes: int | None
    visited: int
    binding: frozenset[str]
    spared: frozenset[str]
    far_fetched: dict[str, bool] = field(default_factory=dict)

    def doubtful(self, statuses: Mapping[str, Judged]) -> list[str]:
        """The requirements whose search gave up and that come before one that explains the history: without
        them another one would be taken for the violated one. They are those that precede it, and where it
        takes its wide form to explain the history those that it precedes, too."""
        found = {id for id, status in statuses.items() if status is Judged.ACCEPTED}
        gave_up = (id for id, status in statuses.items() if status is Judged.UNKNOWN)
        behind = {general for id in found if self._is_far_fetched(id) for general in requirement(id).precedes}
        return [id for id in gave_up if id in behind or not found.isdisjoint(requirement(id).precedes)]

    def level(self, first: tuple[str, ...], undecided: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the first rank that none of it precedes, and those whose search gave up that none of it
        precedes that explains the history in its narrow form."""
        near = [id for id in first if not self._is_far_fetched(id)]
        return (*unpreceded(first, first), *unpreceded(undecided, near))

    def ask(self, *waived: str, patience: int = 1) -> Judged:
        """Ask the judge about the history with these requirements waived, with ``patience`` budgets."""
        return self._ask(self.reading, waived, patience)

    def _ask(self, reading: Reading, waived: Sequence[str], patience: int = 1) -> Judged:
        nodes = None if self.nodes is None else patience * self.nodes
        judgement = judge(reading, patience * self.seconds, self.late, self.spared.union(waived), nodes)
        self.visited += judgement.visited
        return judgement.status

    def ranked(self, candidates: Sequence[str]) -> list[tuple[str, ...]]:
        """The candidates by rank, in each the most special first. Ranks: those that explain the whole in the
        narrow form; then wide form only; then contradicted by messages that complied (`indications`); then
        those whose search of the whole gave up; last those that do not explain it."""
        if len(candidates) < 2:
            return [tuple(candidates)] if candidates else []
        others = contradicted(self.whole.history) if not INDICATED.isdisjoint(candidates) else frozenset()
        doubts = {
            id: (self._of_the_whole(id, candidates), id in others, self._is_far_fetched(id))
            for id in candidates
        }
        ranks = ([id for id in candidates if doubts[id] == doubt] for doubt in sorted({*doubts.values()}))
        return [special_first(rank) for rank in ranks]

    def _of_the_whole(self, id: str, candidates: Sequence[str]) -> int:
        """Whether the requirement explains the whole, as a place among `CERTAINTY`. One that comes before
        another candidate is asked about with more patience."""
        if self.whole.history is self.reading.history:
            return 0
        form = (id, NARROWLY) if id in WIDE else (id,)
        status = self._ask(self.whole, form)
        if status is Judged.UNKNOWN and not set(candidates).isdisjoint(requirement(id).precedes):
            status = self._ask(self.whole, form, REJECTING)
        return CERTAINTY.index(status)

    def _is_far_fetched(self, id: str) -> bool:
        """Whether only the requirement's wide form explains the history."""
        if id not in self.far_fetched:
            narrow = self.ask(id, NARROWLY, patience=REJECTING) if id in WIDE else Judged.ACCEPTED
            self.far_fetched[id] = narrow is not Judged.ACCEPTED
        return self.far_fetched[id]

    def first_pair(self, asked: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """The first pair that explains the history, unless a search gives up before."""
        for pair in islice(self._pairs(asked), PAIRS):
            status = self.ask(*pair)
            if status is not Judged.REJECTED:
                return (pair,) if status is Judged.ACCEPTED else ()
        return ()

    def _pairs(self, asked: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """The pairs of what was consulted; then each of it with what is consulted once it is waived."""
        yield from combinations(asked, 2)
        for one in asked:
            then = Consulted(self.spared.union((one,)))
            self.visited += judge(self.reading, self.seconds, self.late, then, self.nodes).visited
            more = self.binding.intersection(then.asked).difference(asked)
            yield from ((one, other) for other in special_first(more))
