"""Blame by relaxation: which requirement does a rejected history violate?

The model is asked again with one requirement waived at a time, so that its clause takes its relaxed form. A
requirement whose waiver alone explains the history is a *candidate*: one candidate is the violated
requirement; of several each may be it. Where no single waiver helps, pairs are tried.

Only what the model consulted while it rejected the history can make a difference, and only that is waived.
A waived search that gives up makes the candidates a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice
from typing import Final

from partq.conformance.history import History
from partq.conformance.oracle.judge import SECONDS, Judged, Judgement, judge
from partq.model.requirements import special_first

PAIRS: Final = 200
"""How many pairs of requirements are tried at the most."""


@dataclass(frozen=True, slots=True)
class Blame:
    """``candidates``: the requirements each of which alone explains the history, the most special first.
    ``consulted``: the requirements that the model enforced on the way. ``pairs``: where there is none, a pair
    of requirements that do together. ``complete``: whether every waived search came to an end; otherwise
    there may be more. ``judgement``: the rejection."""

    judgement: Judgement
    candidates: tuple[str, ...] = ()
    consulted: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    complete: bool = True

    @property
    def violated(self) -> str | None:
        """The violated requirement, if it is known."""
        return self.candidates[0] if len(self.candidates) == 1 and self.complete else None


class _Consulted(frozenset[str]):
    """No waiver, and a memory of which ones the model asked for. Not equal to any other, nor empty."""

    asked: dict[str, None]

    def __new__(cls) -> _Consulted:
        made = super().__new__(cls, ("nothing",))
        made.asked = {}
        return made

    def __contains__(self, requirement: object) -> bool:
        self.asked[str(requirement)] = None
        return False

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def blame(history: History, seconds: float = SECONDS, late: int = 0, nodes: int | None = None) -> Blame:
    """Which requirements the history may violate. It has to be one that the judge rejects. The other
    arguments are as for `judge`: the budget is that of each waived search."""
    consulted = _Consulted()
    judgement = judge(history, seconds, late, consulted, nodes)
    if judgement.status is not Judged.REJECTED:
        return Blame(judgement, complete=False)
    if judgement.owner is not None:
        return Blame(judgement, (judgement.owner,))
    asked = tuple(special_first(consulted.asked))
    ask = partial(_status, history, seconds, late, nodes)
    statuses = {id: ask(id) for id in asked}
    complete = Judged.UNKNOWN not in statuses.values()
    candidates = tuple(id for id, status in statuses.items() if status is Judged.ACCEPTED)
    if candidates or not complete:
        return Blame(judgement, candidates, asked, (), complete)
    pairs = islice(combinations(asked, 2), PAIRS)
    explaining = next((pair for pair in pairs if ask(*pair) is Judged.ACCEPTED), None)
    return Blame(judgement, (), asked, () if explaining is None else (explaining,), complete)


def _status(history: History, seconds: float, late: int, nodes: int | None, *waived: str) -> Judged:
    return judge(history, seconds, late, frozenset(waived), nodes).status
