"""The judge: does the model explain a whole history?

What no order of a history's effects explains is a violation; what one explains is allowed, whatever a screen
suspects. The judge is never wrong. At the end of its budget, a time, it says `UNKNOWN` and how far it came;
so it does where the model is not asked (`judge_scope`): families, operations and ends of a message's life
that are not modelled, messages whose way into an entity is not known, IDs sent twice.

Before the search that leaves nothing out come hasty ones, of which only an acceptance counts: one that jumps
back where it is stuck; and with flows, whose partitions are not shown and have to be guessed, a few that try
likely places alone, each taught by the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from time import thread_time
from typing import Final

from partq.conformance.history import History
from partq.conformance.oracle.guidance import Guide
from partq.conformance.oracle.question import Impossible, Question, Unanswerable, entities_of, question_of
from partq.conformance.oracle.search import Found, Outcome, Search

SECONDS: Final = 2.0
"""How long an entity's history is searched, in seconds of the processor, unless more time is given."""

GUESSING: Final = 0.6
"""The share of the time that searches among likely places may take."""

ATTEMPTS: Final = 6
"""How many of these there are at the most."""

NODES: Final = 4
"""How many nodes for each effect such a search visits."""

JUMPING: Final = 8
"""How many nodes for each effect a search visits that jumps back."""

PATIENCE: Final = 100
"""After so many nodes without progress it does."""


class Judged(StrEnum):
    """What the judge says of a history."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Judgement:
    """``explained``: the records of an order that the model explains, the longest found. ``stuck``: the
    records that could come next and are not explained. ``allowed``: what the first of them might have
    answered. ``visited``: how many nodes were searched. ``reason``: in a sentence, unless it is accepted.
    ``owner``: the requirement that is violated, where that is known without asking the model."""

    status: Judged
    explained: tuple[int, ...] = ()
    stuck: tuple[int, ...] = ()
    allowed: tuple[str, ...] = ()
    visited: int = 0
    reason: str = ""
    owner: str | None = None
    kind: str = ""


def judge(
    history: History,
    seconds: float = SECONDS,
    late: int = 0,
    waived: frozenset[str] = frozenset(),
    nodes: int | None = None,
) -> Judgement:
    """Judge every entity of the history; the worst judgement stands. ``seconds``: the budget for each entity,
    of the processor's time. ``late``: by how many ns timers of the broker may be late, if later than the
    history says. ``waived``: requirements that are not enforced."""
    worst = Judgement(Judged.ACCEPTED)
    for name in entities_of(history):
        judgement = _judge_entity(history, name, seconds, late, waived, nodes)
        if judgement.status is Judged.REJECTED:
            return judgement
        if judgement.status is Judged.UNKNOWN or worst.status is Judged.ACCEPTED:
            worst = judgement
    return worst


def _judge_entity(
    history: History, name: str, seconds: float, late: int, waived: frozenset[str], nodes: int | None
) -> Judgement:
    deadline = thread_time() + seconds
    try:
        question = question_of(history, name, late, waived)
    except Unanswerable as error:
        return Judgement(Judged.UNKNOWN, reason=str(error), kind="not modelled")
    except Impossible as error:
        stuck = () if error.record is None else (error.record,)
        return Judgement(Judged.REJECTED, stuck=stuck, reason=str(error), owner=error.requirement)
    hasty, most = (
        deadline - (1 - GUESSING) * seconds,
        None if nodes is None else max(1, int(GUESSING * nodes)),
    )
    spent = 0
    if question.start.flows is not None:
        guessed, spent = _guessed(question, hasty, most)
        if guessed is not None:
            return _judgement(guessed, seconds, spent)
    effects, guidance = question.effects, Guide(question.effects, question.start.cfg).guidance()
    limit = JUMPING * len(effects) + PATIENCE
    left = limit if most is None else min(limit, max(1, most - spent))
    found = Search(effects, guidance, hasty, limit=left, patience=PATIENCE).run(question.start)
    spent += found.visited
    if found.outcome is Outcome.GAVE_UP:
        rest = None if nodes is None else max(1, nodes - spent)
        found = Search(effects, guidance, deadline, limit=rest).run(question.start)
        spent += found.visited
    return _judgement(found, seconds, spent)


def _guessed(question: Question, deadline: float, nodes: int | None) -> tuple[Found | None, int]:
    """The result of searches that try likely places alone, the acceptance or None; and how many nodes they
    visited."""
    guide = Guide(question.answers, question.start.cfg)
    limit = NODES * len(question.answers) + PATIENCE
    tried: set[frozenset[tuple[str, int]]] = set()
    spent = 0
    for _ in range(ATTEMPTS):
        guidance = guide.guidance(hasty=True)
        if (chosen := frozenset(guide.chosen.items())) in tried:
            break  # nothing more is learned
        tried.add(chosen)
        search = Search(question.answers, guidance, deadline, hasty=True, limit=limit, patience=PATIENCE)
        found = search.run(question.start)
        spent += found.visited
        if found.outcome is Outcome.ACCEPTED:
            return found, spent
        if thread_time() > deadline or (nodes is not None and spent >= nodes):
            break
        guide.learn(found.stuck)
    return None, spent


def _judgement(found: Found, seconds: float, visited: int) -> Judgement:
    if found.outcome is Outcome.ACCEPTED:
        return Judgement(Judged.ACCEPTED, found.path, visited=visited)
    stuck = tuple(dict.fromkeys(effect.record for effect in found.stuck))
    if found.outcome is Outcome.GAVE_UP:
        reason = f"no answer after {seconds:g} s and {visited:,} nodes"
        return Judgement(Judged.UNKNOWN, found.path, stuck, (), visited, reason, kind="over the budget")
    reason = "no order of the operations is allowed"
    return Judgement(Judged.REJECTED, found.path, stuck, found.allowed, visited, reason)
