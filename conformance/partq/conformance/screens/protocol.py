"""A screen: a pure function from a history's facts to a report.

A screen decides its requirements on the whole history, concurrent operations and unknown outcomes
included, from what clients can see. It finds; `verdict` weighs the findings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from partq.conformance.facts.index import Facts
from partq.conformance.history import Record
from partq.conformance.verdict import KEPT_FINDINGS, Finding
from partq.model.requirements import requirement


@dataclass(slots=True)
class Report:
    """One screen's report on one history.

    ``exercised``: how often each requirement was exercised (only then can it pass).
    ``ambiguities``: the rules of which one certainly is broken -> why. ``open``: requirement -> why this
    history leaves it undecided. ``candidates``: of those the ones that are not undecided together -> the
    rules of which one certainly is broken (`settle`). ``found``: requirement -> how many
    findings of each cause there were, kept or not. ``crashed``: the screen raised, or took too long.
    """

    exercised: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    open: dict[str, str] = field(default_factory=dict)
    candidates: dict[str, tuple[str, ...]] = field(default_factory=dict)
    found: dict[str, Counter[str]] = field(default_factory=dict, repr=False, compare=False)
    crashed: bool = False
    ambiguities: dict[tuple[str, ...], str] = field(default_factory=dict)

    def count(self, requirement: str, times: int = 1) -> None:
        """Note that the requirement was exercised ``times`` more."""
        if times:
            self.exercised[requirement] = self.exercised.get(requirement, 0) + times

    def ambiguous(self, requirements: tuple[str, ...], why: str) -> None:
        """Note that one of these certainly is violated, and that this history does not show which."""
        self.ambiguities.setdefault(requirements, why)

    def settle(self, exempt: Set[str]) -> None:
        """Leave open what is ambiguous. Where one of the rules does not apply, it is allowed: that one
        explains it."""
        for requirements, why in self.ambiguities.items():
            if exempt.isdisjoint(requirements):
                for requirement in requirements:
                    if requirement not in self.candidates:
                        self.open[requirement], self.candidates[requirement] = why, requirements

    def find(self, rule: str, cause: str, witness: Sequence[Record], detail: str) -> None:
        """Note a violation shown by the records in ``witness``. ``cause``: what is wrong, the same words for
        every finding of it. Of each only the first `KEPT_FINDINGS` in a history are kept. What the finding is
        called, and what would have been allowed, says the catalogue."""
        key = f"{rule}/{cause}"
        causes = self.found.setdefault(rule, Counter())
        causes[key] += 1
        if causes[key] <= KEPT_FINDINGS:
            indexes = tuple(dict.fromkeys(record.i for record in witness))
            said = requirement(rule)
            self.findings.append(Finding(rule, said.title, indexes, detail, said.text, key))


@dataclass(frozen=True, slots=True)
class Screen:
    """One property family. ``blind_spots``: what it cannot see, in sentences a user can act on.

    ``needs``: requirement -> the operations, faults and fields (`verdict.activity.FIELDS`), or "locks",
    without which it does not apply to a broker. ``complete``: the requirements that it decides by itself
    wherever the judge is asked, so that they pass where the judge gave up. ``judged``: those that it only
    counts: they are exercised where the judge accepts the history, and nowhere else.
    """

    name: str
    requirements: tuple[str, ...]
    check: Callable[[Facts], Report]
    blind_spots: tuple[str, ...] = ()
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    complete: tuple[str, ...] = ()
    judged: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash(self.name)


def where(holds: Callable[[Facts], object]) -> Callable[[Callable[[Facts], int]], Callable[[Facts], int]]:
    """Count only in histories of which that holds."""
    return lambda count: lambda facts: count(facts) if holds(facts) else 0


class Exercise(NamedTuple):
    """A row of `exercised`, here or in a mechanism: how to count that a history exercises a rule.

    ``count``: how often a history exercises the rule. ``needs``: see `Screen`. ``judged``: whether the
    judge alone decides it. ``finds``: notes what breaks the rule for certain, so that of several rules that
    explain a history it is the one."""

    count: Callable[[Facts], int]
    needs: tuple[str, ...]
    judged: bool = True
    finds: Callable[[Facts, Report], None] = lambda facts, report: None
