"""Which rules a run is asked about: `--rule` and `--exclude`. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from partq.conformance.verdict.types import Status, Verdict, Verdicts
from partq.model.requirements import catalogue, groups


class UnknownRule(ValueError):
    """A word names no rule and no group of rules. The text says so in one line."""


class Focus(NamedTuple):
    """``rules``: those asked about; none: all. ``excluded``: those that are not, even so."""

    rules: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()

    def asks(self, requirement: str) -> bool:
        """Whether it is asked about that one."""
        return requirement not in self.excluded and (not self.rules or requirement in self.rules)

    def of(self, verdicts: Verdicts) -> dict[str, Verdict]:
        """The verdicts, where no other rule applies. Where one of several is violated, and it may be another
        rule, those asked about are undecided: what is known of the others may explain it."""
        return {id: self._of(id, verdict) for id, verdict in verdicts.items()} if self else dict(verdicts)

    def __bool__(self) -> bool:
        return bool(self.rules or self.excluded)

    def _of(self, id: str, verdict: Verdict) -> Verdict:
        if not self.asks(id):
            return Verdict(Status.NOT_APPLICABLE, reason="not asked about (--rule, --exclude)")
        mine = all(map(self.asks, verdict.candidates))
        if mine and all(self.asks(name) for one in verdict.findings for name in one.candidates):
            return verdict
        findings = tuple(one for one in verdict.findings if all(map(self.asks, one.requirements)))
        keys = {one.key for one in findings}
        found = {key: times for key, times in verdict.found.items() if key in keys}
        return replace(verdict, findings=findings, found=found, candidates=verdict.candidates if mine else ())


EVERYTHING: Final = Focus()


def rules_named(words: tuple[str, ...]) -> frozenset[str]:
    """The rules by ID, or all of a group (`RCV`). Raises `UnknownRule`."""
    known = catalogue()
    for word in words:
        if word not in known and word not in groups():
            raise UnknownRule(f"{word!r} is no rule and no group of rules (partq list rules)")
    return frozenset(id for id in known if id in words or id.rpartition("-")[0] in words)
