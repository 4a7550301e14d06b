"""The judge on histories of any length: the whole first, then its excerpts.

The straightest search either accepts a long history or is stuck at the violation, and everything else that it
tries takes all its time. So after a short budget each excerpt (`cuts`) is judged by itself: one that is
rejected is enough to reject the whole. The whole is searched with the rest of the budget last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from partq.conformance.history import History
from partq.conformance.history.entities import ByEntity, entity_of
from partq.conformance.oracle.blame import Blame, blame
from partq.conformance.oracle.cuts import Cuts, Ids, lateness, spared
from partq.conformance.oracle.judge import NOT_MODELLED, OVER_BUDGET, SECONDS, Judged, Judgement, judge
from partq.conformance.oracle.prefix import shortest_rejected
from partq.conformance.oracle.reading import Reading
from partq.conformance.oracle.search import Tell, untold
from partq.conformance.oracle.uses import compared, has_excerpts

SHORT: Final = 300
"""Records of the longest history that is judged without excerpts."""

STRAIGHT: Final = 5
"""Nodes per record for the whole before its excerpts."""

WHOLE: Final = 30_000
"""Records of the longest history that is searched as a whole: each node remembers what was done before."""

RETRIED: Final = 2_000
"""Records of the longest history that has a second look: with the length each node costs more, and what a
longer one may hide its excerpts were asked about."""

EACH: Final = 20
SOME: Final = 100
"""How many nodes an excerpt has: so many for each of its records, and some."""

SEVERAL: Final = 3
"""How many rejected excerpts are blamed together."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many excerpts were ``judged`` of how many there ``are``, and how many ``transactions`` and
    ``messages``, each by itself, were among them, of how many."""

    judged: int
    are: int
    transactions: tuple[int, int]
    messages: tuple[int, int]

    def __str__(self) -> str:
        txns, messages = (f"{done:,} of {total:,}" for done, total in (self.transactions, self.messages))
        return f"{txns} transactions, {messages} messages judged by themselves; the whole: no"


@dataclass(frozen=True, slots=True)
class AtLength:
    """What is said of a history of any length. ``excerpts``: where it was rejected by some, the first of
    these, each of which is rejected with `spared` waived."""

    judgement: Judgement
    excerpts: tuple[History, ...] = ()


def judge_any(
    told: History | Reading, seconds: float = SECONDS, nodes: int | None = None, tell: Tell = untold
) -> AtLength:
    """Judge a history of any length: by the whole, and where that is long by its excerpts, too."""
    reading = Reading.of(told)
    history = reading.history
    if len(history) <= SHORT:
        return AtLength(judge(reading, seconds, nodes=nodes))
    first = _first(reading, seconds, nodes, tell)
    if first.status is Judged.ACCEPTED or first.kind == NOT_MODELLED:
        return AtLength(first)
    excerpts, coverage, visited = _excerpts(history, first, tell)
    if excerpts:
        said = rejection_of(excerpts[0], history)
        return AtLength(replace(said, visited=first.visited + visited), tuple(excerpts))
    if first.status is Judged.UNKNOWN and len(history) <= WHOLE:
        first = judge(reading, seconds, nodes=nodes, tell=tell)
    if first.kind == OVER_BUDGET:
        first = replace(first, reason=f"{first.reason}; {coverage}")
    return AtLength(replace(first, visited=first.visited + visited))


def _first(reading: Reading, seconds: float, nodes: int | None, tell: Tell) -> Judgement:
    """The result of the straightest search of the whole."""
    length = len(reading.history)
    if length > WHOLE:
        why = f"too long to be searched as a whole ({length:,} operations)"
        return Judgement(Judged.UNKNOWN, reason=why, kind=OVER_BUDGET)
    straight = STRAIGHT * length
    return judge(reading, seconds, nodes=straight if nodes is None else min(nodes, straight), tell=tell)


def _excerpts(history: History, first: Judgement, tell: Tell) -> tuple[list[History], Coverage, int]:
    """The first excerpts that are rejected, what was judged, and how many nodes that took. Those about the
    operation where the search was stuck come first."""
    found: list[History] = []
    judged, visited, total, decided = 0, 0, 0, set[Ids]()
    txns, messages = list[Ids](), list[Ids]()
    for cuts in by_entity(history):
        sets = list(cuts.sets())
        total += len(sets)
        txns += [ids for ids in cuts.txns.values() if ids]
        messages += [frozenset({id}) for id in cuts.of_message]
        for ids in _near_first(sets, cuts.about(first.stuck)):
            excerpt = cuts.of(ids)
            said = rejection_of(excerpt, history)
            visited += said.visited
            judged += said.status is not Judged.UNKNOWN
            if said.status is not Judged.UNKNOWN:
                decided.add(ids)
            if said.status is Judged.REJECTED:
                found.append(excerpt)
            if len(found) == SEVERAL:
                break
            tell(judged, total)
    within = {id for ids in decided for id in ids}
    coverage = Coverage(
        judged,
        total,
        (sum(ids <= within for ids in txns), len(txns)),
        (sum(ids <= within for ids in messages), len(messages)),
    )
    return found, coverage, visited


def by_entity(history: History) -> Iterator[Cuts]:
    """What is cut into excerpts: of each entity that has some."""
    everything = ByEntity(history)
    for name in everything.components:
        entity = entity_of(history.header, name)
        if has_excerpts(entity):
            yield Cuts(History(history.header, compared(history.header, entity, everything.tied(name))))


def _near_first(sets: Sequence[Ids], near: Ids) -> Iterable[Ids]:
    return sorted(sets, key=lambda ids: ids.isdisjoint(near)) if near else sets


def rejection_of(excerpt: History, whole: History) -> Judgement:
    """Judge an excerpt of that history: only a rejection is used."""
    nodes = EACH * len(excerpt) + SOME
    return judge(excerpt, late=lateness(whole), waived=spared(whole), nodes=nodes)


def blame_excerpts(excerpts: Sequence[History], whole: History, nodes: int | None) -> tuple[History, Blame]:
    """The first of these rejected excerpts, as short as it is rejected, and its blame. Those that are stuck
    at the same operation are about the same defect: only what each of them blames is a candidate."""
    late, waived = lateness(whole), spared(whole)
    cuts = [shortest_rejected(one, lambda cut: _is_rejected(cut, whole)) for one in excerpts]
    blames = [blame(cut, late=late, nodes=nodes, spared=waived) for cut in cuts]
    first = blames[0]
    alike = [one.candidates for one in blames if one.judgement.stuck[:1] == first.judgement.stuck[:1]]
    common = tuple(id for id in first.candidates if all(id in candidates for candidates in alike))
    candidates, visited = common or first.candidates, sum(one.visited for one in blames)
    level = tuple(id for id in first.level if id in candidates)
    return cuts[0], replace(first, candidates=candidates, level=level, visited=visited)


def _is_rejected(excerpt: History, whole: History) -> bool:
    return rejection_of(excerpt, whole).status is Judged.REJECTED
