"""The judge: does the model explain a whole history?

A history is rejected if no order of its effects is explained, and accepted if one is, whatever a screen
suspects. The judge is never wrong. When the budget is spent it answers `UNKNOWN` and says how far it came. It
gives the same answer where something is not modelled (`judge_scope`): families, operations, ends of a
message's life, messages of unknown origin in an entity, IDs sent twice that cannot be told apart.

Incomplete searches run first; only their acceptance is used: one that jumps back where it is stuck, and with
flows, whose partitions are not shown and have to be guessed, a few that try likely places alone, each
learning from the last. If these are stuck, excerpts of the history are searched; only their rejection is
used. Then a few searches restart in random orders: one wrong guess early may cost any time, and another order
guesses differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count
from random import Random
from time import thread_time
from typing import Final

from partq.conformance.history import History, collector
from partq.conformance.oracle.effects import Effect
from partq.conformance.oracle.excerpts import SPREADING, beginning, excerpts
from partq.conformance.oracle.guidance import Guidance, Guide, Known
from partq.conformance.oracle.reading import (
    EntityReading,
    Excerpt,
    Impossible,
    Question,
    Reading,
    Unanswerable,
)
from partq.conformance.oracle.search import Found, Outcome, Search, Tell, untold
from partq.model.departures import Consulted
from partq.model.profiles import unpromised
from partq.model.state import State

SECONDS: Final = 2.0
"""The default budget for an entity's history, in seconds of processor time."""

GUESSING: Final = 0.6
"""The share of the budget after which hasty searches end."""

EXCERPTING: Final = 0.8
"""The share of the budget after which searches of excerpts end."""

RESTARTING: Final = 0.9
"""The share of the budget after which searches in random orders end."""

ATTEMPTS: Final = 6
"""The limit of hasty searches where flows hide partitions."""

NODES: Final = 4
"""Nodes per effect of one hasty search."""

JUMPING: Final = 2
"""Nodes per effect of a search that jumps back, if restarts follow."""

RESTARTS: Final = 4
"""The limit of restarts. None with flows: there the guesses are places, more than orders."""

ALONE: Final = 8
"""Nodes per effect of a search that jumps back, if no restarts follow."""

EXCERPT: Final = 20
"""Nodes per effect of the search of an excerpt."""

AGAIN: Final = 3
"""How many excerpts that were rejected under another waiver are searched first."""

PERSISTING: Final = 0.75
"""The share of a second look's budget after which its searches in random orders end."""

ROUND: Final = 4
"""How many of these have equal budgets of nodes; the next ones have twice as many."""

PATIENCE: Final = 100
"""Nodes without progress after which a hasty search jumps back. Every limit is longer by as many."""


OVER_BUDGET: Final = "over the budget"
NOT_MODELLED: Final = "not modelled"
"""Why the judge does not decide (`Judgement.kind`)."""

ANY_ORDER: Final = frozenset({"SEQ-3", "SEQ-7", "PEEK-1", "PEEK-2", "PEEK-5", "RCV-3"})
"""With these waived messages are numbered, shown and delivered in any order. The model numbers a message
before its commit only where its number is shown, so where others were sent meanwhile a rejection has to do
without the order."""

ORDER_OPEN: Final = (
    "no number tells whether a transaction's messages were stored before others sent meanwhile"
)


class Judged(StrEnum):
    """The judge's answer on a history."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Judgement:
    """``explained``: the records of an order that the model explains, the longest found. ``stuck``: the
    records that could come next and are not explained. ``allowed``: what the first of them might have
    answered. ``visited``: how many nodes were searched. ``reason``: in a sentence, unless it is accepted.
    ``owner``: the requirement that is violated, where that is known without asking the model. ``kind``: why
    it is `UNKNOWN`, in words that other histories share, for counting; empty otherwise."""

    status: Judged
    explained: tuple[int, ...] = ()
    stuck: tuple[int, ...] = ()
    allowed: tuple[str, ...] = ()
    visited: int = 0
    reason: str = ""
    owner: str | None = None
    kind: str = ""


@collector.paused()
def judge(
    history: History | Reading,
    seconds: float = SECONDS,
    late: int = 0,
    waived: frozenset[str] = frozenset(),
    nodes: int | None = None,
    again: bool = False,
    tell: Tell = untold,
) -> Judgement:
    """Judge every entity of the history, or of the reading of one; the worst judgement stands. ``seconds``:
    the budget for each entity, of the processor's time. ``late``: by how many ns timers of the broker may be
    late, if later than the history says. ``waived``: requirements that are not enforced; nor are those on
    numbers that the profile does not promise, where they alone reject. ``nodes``: how many
    nodes the searches of an entity visit together at the most; None: as many as the time allows. ``again``:
    it is a second look, with more nodes than the first: most of them go into searches that start again in
    orders that are drawn. ``tell``: called with how far an entity's search has come."""
    worst, reading = Judgement(Judged.ACCEPTED), Reading.of(history)
    unasked = unpromised(reading.history.header.profile)
    free = waived if waived >= unasked else waived | unasked
    for entity in reading.entities:
        judgement = _judge_entity(entity, _Budget(seconds, nodes, tell), late, waived, again)
        if judgement.status is Judged.REJECTED and judgement.visited and free is not waived:
            judgement = _judge_entity(entity, _Budget(seconds, nodes, tell), late, free, again)
        if judgement.status is Judged.REJECTED and judgement.visited and not waived >= ANY_ORDER:
            if entity.leaves_order_open:
                judgement = _with_any_order(judgement, entity, _Budget(seconds, nodes, tell), late, free)
        if judgement.status is Judged.REJECTED and entity.guessed:
            judgement = Judgement(
                Judged.UNKNOWN, visited=judgement.visited, reason=entity.guessed, kind=NOT_MODELLED
            )
        if judgement.status is Judged.REJECTED:
            return judgement
        if judgement.status is Judged.UNKNOWN or worst.status is Judged.ACCEPTED:
            explained = dict.fromkeys((*worst.explained, *judgement.explained))
            worst = replace(judgement, explained=tuple(explained))
    return worst


def _with_any_order(
    rejection: Judgement, entity: EntityReading, budget: _Budget, late: int, waived: frozenset[str]
) -> Judgement:
    """The rejection, if it stands whatever the order of the numbers that are not shown."""
    free = _judge_entity(entity, budget, late, waived | ANY_ORDER, False)
    if free.status is Judged.REJECTED:
        return rejection
    return replace(free, status=Judged.UNKNOWN, reason=ORDER_OPEN, kind=NOT_MODELLED)


class _Budget:
    """What searches may cost together: ``seconds`` of the processor, and so many ``nodes``, if that is not
    None. ``spent``: the nodes that were visited."""

    def __init__(self, seconds: float, nodes: int | None, tell: Tell) -> None:
        self.began = thread_time()
        self.seconds = seconds
        self.nodes = nodes
        self.tell = tell
        self.spent = 0

    def search(
        self,
        start: State,
        effects: Sequence[Effect],
        guidance: Guidance,
        share: float = 1.0,
        each: int | None = None,
        hasty: bool = False,
        patience: int | None = None,
    ) -> Found:
        """The result of a search that ends with that share of the budget, or after so many nodes for ``each``
        effect."""
        limit = None if each is None else each * len(effects) + PATIENCE
        if self.nodes is not None:
            left = max(1, int(share * self.nodes) - self.spent)
            limit = left if limit is None else min(limit, left)
        search = Search(
            effects, guidance, self.began + share * self.seconds, hasty, limit, patience, self.tell
        )
        found = search.run(start)
        self.spent += found.visited
        return found

    def is_spent(self, share: float) -> bool:
        """Whether that share of the budget is spent."""
        over = self.nodes is not None and self.spent >= int(share * self.nodes)
        return over or thread_time() > self.began + share * self.seconds


def _judge_entity(
    entity: EntityReading, budget: _Budget, late: int, waived: frozenset[str], again: bool
) -> Judgement:
    try:
        question = entity.question(late, waived)
    except Unanswerable as error:
        return Judgement(Judged.UNKNOWN, reason=str(error), kind=NOT_MODELLED)
    except Impossible as error:
        stuck = () if error.record is None else (error.record,)
        return Judgement(Judged.REJECTED, stuck=stuck, reason=str(error), owner=error.requirement)
    start, effects = question.start, question.effects
    operations = len({effect.record for effect in effects})
    if (found := _rejected_again(question, budget)) is not None:
        return _judgement(found, budget, operations)
    flows = start.flows is not None
    if again and (drawn := _persisted(question, budget)) is not None:
        return _judgement(drawn, budget, operations)
    if flows and (guessed := _guessed(question, budget)) is not None:
        return _judgement(guessed, budget, operations)
    guide = Guide(question.known(False))
    guidance, each = guide.guidance(), ALONE if flows else JUMPING
    found = budget.search(start, effects, guidance, GUESSING, each, patience=PATIENCE)
    if found.outcome is not Outcome.ACCEPTED:
        found = _refuted(question, found, budget) or found
    if found.outcome is Outcome.GAVE_UP and not flows:
        found = _restarted(question, guide, budget) or found
    if found.outcome is Outcome.GAVE_UP:
        found = budget.search(start, effects, guidance)
    return _judgement(found, budget, operations)


def _guessed(question: Question, budget: _Budget) -> Found | None:
    """An acceptance by a search that tries likely places alone, or None."""
    guide = Guide(question.known(True))
    tried: set[frozenset[tuple[str, int]]] = set()
    for _ in range(ATTEMPTS):
        guidance = guide.guidance(hasty=True)
        if (chosen := frozenset(guide.chosen.items())) in tried:
            break  # nothing more is learned
        tried.add(chosen)
        found = budget.search(
            question.start, question.answers, guidance, GUESSING, NODES, hasty=True, patience=PATIENCE
        )
        if found.outcome is Outcome.ACCEPTED:
            return found
        if budget.is_spent(GUESSING):
            break
        guide.learn(found.concerned)
    return None


def _rejected_again(question: Question, budget: _Budget) -> Found | None:
    """The rejection of an excerpt that was rejected with something else waived, or None. Without a waiver
    nothing depends on what was asked before."""
    waived = question.start.cfg.waived
    if not waived or isinstance(waived, Consulted) or not waived.isdisjoint(SPREADING):
        return None
    searched = (_searched(excerpt, question, budget)[0] for excerpt in question.rejected[-AGAIN:])
    return next((found for found in searched if found.outcome is Outcome.REJECTED), None)


def _refuted(question: Question, stuck: Found, budget: _Budget) -> Found | None:
    """The rejection of an excerpt, or None. What else would have been allowed is not known of an excerpt.
    Where it is remembered what is consulted all excerpts are looked at: what rejects one of them without
    asking for a rule rejects the whole with that rule waived."""
    waived, first = question.start.cfg.waived, None
    gave_up, consulted = stuck.outcome is Outcome.GAVE_UP, isinstance(waived, Consulted)
    for excerpt in excerpts(question, stuck) if gave_up or consulted else ():
        if budget.is_spent(EXCERPTING):
            break
        found, asked = _searched(excerpt, question, budget)
        if found.outcome is Outcome.REJECTED:
            if waived:
                question.rejected.append(excerpt)
            if isinstance(waived, Consulted):
                _narrow(waived, asked, question.start.cfg.binding if gave_up and first is None else ())
            same = found.stuck[:1] == stuck.stuck[:1]
            first = first or found._replace(allowed=stuck.allowed if same else ())
            if not consulted:
                break
    return first if gave_up else None


def _searched(excerpt: Excerpt, question: Question, budget: _Budget) -> tuple[Found, frozenset[str]]:
    """The result of the search of the excerpt, and the requirements waived or `Consulted` in it."""
    start, known = beginning(excerpt, question.start)
    guidance = Guide(Known(excerpt.effects, known)).guidance()
    return budget.search(start, excerpt.effects, guidance, EXCERPTING, EXCERPT), start.cfg.waived


def _narrow(whole: Consulted, excerpt: frozenset[str], unseen: Iterable[str]) -> None:
    """Nothing but what was asked for while the excerpt was rejected can explain the whole, and what spreads.
    ``unseen``: what a search of the whole that gave up may not have come to."""
    assert isinstance(excerpt, Consulted)
    whole.note(unseen)
    whole.asked = {id: None for id in whole.asked if id in excerpt.asked or id in SPREADING}


def _restarted(question: Question, guide: Guide, budget: _Budget) -> Found | None:
    """The result of a search that jumps back, in a random order, seeded alike each time; None where all
    are stuck."""
    random = Random(0)
    for _ in range(RESTARTS):
        if budget.is_spent(RESTARTING):
            return None
        guidance = guide.guidance(random=random)
        found = budget.search(
            question.start, question.effects, guidance, RESTARTING, JUMPING, patience=PATIENCE
        )
        if found.outcome is not Outcome.GAVE_UP:
            return found
    return None


def _persisted(question: Question, budget: _Budget) -> Found | None:
    """What one of many searches finds that start again, each in an order that is drawn, the same ones each
    time, and with flows in places that are drawn; None where all are stuck. They visit more nodes by and by:
    what one order decides at once another never does, and no order decides everything at once."""
    start, flows = question.start, question.start.flows is not None
    guides = [Guide(question.known(whole)) for whole in (False, *[True] * flows)]
    for number in count():
        if budget.is_spent(PERSISTING):
            return None
        guide = guides[number % len(guides)]
        hasty = guide is not guides[0]
        guidance = guide.guidance(hasty, Random(number))
        each = JUMPING << number // ROUND
        found = budget.search(
            start, guide.known.effects, guidance, PERSISTING, each, hasty=hasty, patience=PATIENCE
        )
        if found.outcome is not Outcome.GAVE_UP:
            return found
    return None


def _judgement(found: Found, budget: _Budget, operations: int) -> Judgement:
    visited = budget.spent
    if found.outcome is Outcome.ACCEPTED:
        return Judgement(Judged.ACCEPTED, found.path, visited=visited)
    stuck = tuple(dict.fromkeys(effect.record for effect in found.stuck))
    if found.outcome is Outcome.GAVE_UP:
        reason = _gave_up(found, budget, operations)
        return Judgement(Judged.UNKNOWN, found.path, stuck, (), visited, reason, kind=OVER_BUDGET)
    reason = "nothing explains the history, in whatever order its operations took effect"
    return Judgement(Judged.REJECTED, found.path, stuck, found.allowed, visited, reason)


def _gave_up(found: Found, budget: _Budget, operations: int) -> str:
    """The judgement `UNKNOWN`: which budget was spent, and how far the search came."""
    late = thread_time() > budget.began + budget.seconds
    end = f"{budget.seconds:g} s and {budget.spent:,} nodes" if late else f"{budget.spent:,} nodes"
    return f"no answer after {end}: {len(set(found.path)):,} of {operations:,} operations explained"
