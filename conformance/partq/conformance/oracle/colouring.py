"""A partition for each group of messages: a colouring, where a choice that failed teaches the next one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from functools import partial
from typing import Final

from partq.conformance.oracle.placement import Clues
from partq.model.grouping import grouped

ROUNDS: Final = 100
"""The limit of moves of each group to a better place."""


def colouring(clues: Clues, count: int, failures: Mapping[tuple[str, int], int]) -> dict[str, int]:
    """A partition for each group with little against it: each where those before leave it best, the most
    constrained first; then those that leave something unmet move to where less is, and what still is unmet
    weighs more from then on, for `ROUNDS` at the most. ``failures``: how often a group in that partition was
    what an earlier choice failed at."""
    order = sorted(clues.masks, key=lambda g: (clues.likely[g].bit_count(), -len(clues.apart.get(g, ())), g))
    choice = _Choice(clues, count, failures)
    for group in order:
        choice.place(group)
    for _ in range(ROUNDS):
        moving = [group for group in order if choice.unmet(group, choice.chosen[group])]
        for group in moving:
            choice.place(group)
            choice.weights.update(choice.unmet(group, choice.chosen[group]))
        if not moving:
            break
    return choice.chosen


class _Choice:
    """A partition for each group, as far as they are ``chosen``. ``weights``: what was left unmet, how
    often."""

    def __init__(self, clues: Clues, count: int, failures: Mapping[tuple[str, int], int]) -> None:
        self.clues = clues
        self.failures = failures
        self.chosen: dict[str, int] = {}
        self.load = [0] * count
        self.weights: Counter[Hashable] = Counter()
        pauses = enumerate(clues.pauses)
        self.pauses = grouped((group, (number, p)) for number, (p, groups) in pauses for group in groups)

    def place(self, group: str) -> None:
        """Put the group into the partition with the least against it."""
        load, mask = self.load, self.clues.masks[group]
        allowed = [p for p in range(len(load)) if mask >> p & 1] or range(len(load))
        best = min(allowed, key=partial(self._against, group))
        load[best] += 1
        if group in self.chosen:
            load[self.chosen[group]] -= 1
        self.chosen[group] = best

    def _against(self, group: str, p: int) -> tuple[int, int, int]:
        weight = sum(2 + self.weights[one] for one in self.unmet(group, p))
        return self.failures.get((group, p), 0) + weight, self.load[p], p

    def unmet(self, group: str, p: int) -> list[Hashable]:
        """What speaks against the group in that partition: others that are apart from it are there, it is not
        likely there, or a handoff had to wait for one of several groups of which none would be there."""
        chosen, clues = self.chosen, self.clues
        found: list[Hashable] = [
            frozenset((group, other)) for other in clues.apart.get(group, ()) if chosen.get(other) == p
        ]
        if not clues.likely[group] >> p & 1:
            found.append((group, p))
        for number, paused in self.pauses.get(group, ()):
            others = (other for other in clues.pauses[number][1] if other != group)
            if p != paused and not any(chosen.get(other) == paused for other in others):
                found.append(number)
        return found
