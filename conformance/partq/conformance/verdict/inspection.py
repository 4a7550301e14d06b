"""What was seen of each requirement in one history, or in many added up: how often it was exercised, and what
speaks against it. Not held against a profile yet: `statuses` does that."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from partq.conformance.verdict.types import Finding, explained_together


@dataclass(slots=True)
class Doubt:
    """What speaks against one requirement. ``findings``: its violations, or those of which it is the first
    candidate. ``found``: how many there were of each cause, kept or not. ``why``: why it is undecided; empty
    if it is not. ``candidates``: where it is open, the requirements of which one certainly is violated, if
    any is. ``crashed``: it is open because a screen crashed."""

    findings: list[Finding] = field(default_factory=list)
    found: Counter[str] = field(default_factory=Counter)
    why: str = ""
    candidates: tuple[str, ...] = ()
    crashed: bool = False

    @property
    def certain(self) -> bool:
        """Whether the requirement certainly is violated."""
        return any(not finding.candidates for finding in self.findings)

    @property
    def undecided(self) -> bool:
        """Whether it is open for no other reason than that it could not be decided."""
        return bool(self.why) and not self.candidates and not self.crashed

    def leave_open(self, why: str, candidates: tuple[str, ...] = ()) -> None:
        """Note that it is undecided, or one of several certainly violated ones. What is known first stays,
        but that something is violated counts for more."""
        if not self.why or (candidates and not self.candidates):
            self.why, self.candidates = why, candidates or self.candidates

    def close(self) -> None:
        """It is no longer open."""
        self.why, self.candidates = "", ()

    def drop_findings(self) -> int:
        """Nothing was found. Answers how much was."""
        dropped, self.findings, self.found = len(self.findings), [], Counter()
        return dropped


@dataclass(slots=True)
class Inspection:
    """``exercised``: requirement -> how often it was exercised. ``doubts``: requirement -> what speaks
    against it, if anything does. ``traces``: of many histories added up, requirement -> `Verdict.traces` and
    `Verdict.undecided`."""

    exercised: dict[str, int] = field(default_factory=dict)
    doubts: dict[str, Doubt] = field(default_factory=dict)
    traces: dict[str, tuple[int, int]] = field(default_factory=dict)

    def doubt(self, requirement: str) -> Doubt:
        """What speaks against the requirement, to be added to."""
        if (known := self.doubts.get(requirement)) is None:
            known = self.doubts[requirement] = Doubt()
        return known

    def drop(self, requirement: str) -> None:
        """Forget the requirement altogether."""
        self.exercised.pop(requirement, None)
        self.doubts.pop(requirement, None)

    def leave_open(self, requirement: str, why: str, candidates: tuple[str, ...] = ()) -> None:
        """As `Doubt.leave_open`."""
        self.doubt(requirement).leave_open(why, candidates)

    def add(self, finding: Finding) -> None:
        """Take the finding for the only one of its requirement; where it names several candidates, each of
        them is open."""
        doubt = self.doubt(finding.requirement)
        doubt.findings, doubt.found = [finding], Counter({finding.key: 1})
        for id in finding.candidates:
            self.leave_open(id, finding.detail, finding.candidates)

    def together(self, candidates: tuple[str, ...]) -> bool:
        """Whether these candidates only together explain what the first of them was found broken by."""
        found = self.doubts[candidates[0]].findings if candidates and candidates[0] in self.doubts else ()
        return explained_together(found, candidates)

    @property
    def suspect(self) -> bool:
        """Whether anything speaks against any requirement."""
        return any(doubt.findings or doubt.why for doubt in self.doubts.values())

    @property
    def broken(self) -> bool:
        """Whether some requirement certainly is violated, even if it is not certain which."""
        return any(doubt.findings or doubt.candidates for doubt in self.doubts.values())

    @property
    def violated(self) -> list[str]:
        """The requirements that are violated for certain, sorted."""
        return sorted(id for id, doubt in self.doubts.items() if doubt.certain)

    @property
    def findings(self) -> dict[str, list[Finding]]:
        """Requirement -> its findings."""
        return {id: doubt.findings for id, doubt in self.doubts.items() if doubt.findings}

    @property
    def found(self) -> dict[str, Counter[str]]:
        """Requirement -> how many findings of each cause there were, kept or not."""
        return {id: doubt.found for id, doubt in self.doubts.items() if doubt.found}

    @property
    def open(self) -> dict[str, str]:
        """Requirement -> why it is undecided."""
        return {id: doubt.why for id, doubt in self.doubts.items() if doubt.why}

    @property
    def candidates(self) -> dict[str, tuple[str, ...]]:
        """Requirement -> those of which, with it, one certainly is violated."""
        return {id: doubt.candidates for id, doubt in self.doubts.items() if doubt.candidates}
