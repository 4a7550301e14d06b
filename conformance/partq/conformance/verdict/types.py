"""What is known of each requirement after a run: its status, and the findings behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")


def plural(number: int, noun: str, nouns: str | None = None) -> str:
    """The number and its noun: ``1 trace``, ``2,000 traces``."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def some(names: Sequence[str], limit: int) -> str:
    """The names; of many the first ones, and how many more there are."""
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more} more" if more > 0 else "")


def firsts(several: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """The first with each key, in their order."""
    found: dict[Hashable, T] = {}
    for one in several:
        found.setdefault(key(one), one)
    return list(found.values())


class Status(StrEnum):
    """What is known of one requirement after a run. ``SEEN``: of a MAY, which nothing can violate, that the
    broker made use of it."""

    PASS = "pass"
    SEEN = "freedom seen"
    VIOLATED = "violated"
    UNKNOWN = "unknown"
    NOT_EXERCISED = "not exercised"
    NOT_APPLICABLE = "not applicable"
    NOT_IMPLEMENTED = "not implemented"

    @property
    def words(self) -> str:
        """The status as a user reads it; its value is for data."""
        return _STATUS_WORDS.get(self, self.value)


_STATUS_WORDS: Final = {Status.UNKNOWN: "undecided", Status.NOT_IMPLEMENTED: "not implemented yet"}


def either(candidates: tuple[str, ...], together: bool = False) -> str:
    """One of these requirements, or all ``together``, in words; of a single one, that there may be others.
    Empty without any."""
    names = (*candidates, "another rule") if len(candidates) == 1 else candidates
    return (" and " if together else " or ").join(names)


def violated_one_of(candidates: tuple[str, ...], together: bool = False) -> str:
    """That it is violated, in words. Empty without any."""
    names = either(candidates, together)
    return names and f"{names} violated{' together' * together}"


WITH: Final = "/with "
"""Between a requirement and the one that explains it together with that one, in the key of a cause."""


class Finding(NamedTuple):
    """One violation in one history.

    ``witness``: the ``i`` of the few records that show it. ``allowed``: what the requirement would have
    allowed instead. ``key``: equal for findings of the same cause, so that a campaign can group them.
    ``candidates``: where it is not known which of several requirements is violated, all of them, the most
    special first; ``requirement`` is the first of these. ``conditions``: those that hold
    for it (`partq.model.conditions`), by what had happened before it showed itself.

    Where no single requirement explains it, but the candidates do together, its key says so: ``ID/with ID…``.
    """

    requirement: str
    title: str
    witness: tuple[int, ...]
    detail: str
    allowed: str
    key: str
    candidates: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()

    @property
    def requirements(self) -> tuple[str, ...]:
        """The violated requirement, or those of which one certainly is."""
        return self.candidates or (self.requirement,)

    @property
    def together(self) -> bool:
        """Whether no single one of the candidates explains it, but all of them do."""
        return self.key.startswith(f"{self.requirement}{WITH}")

    @property
    def rules(self) -> str:
        """These in words."""
        return either(self.candidates, self.together) or self.requirement

    @property
    def summary(self) -> str:
        """Its title, and before it, where it may be another rule's, that one of several is violated."""
        return f"{self.heading}: {self.title}" if self.candidates else self.title

    @property
    def heading(self) -> str:
        """That they are violated, in words."""
        return violated_one_of(self.candidates, self.together) or f"{self.requirement} violated: {self.title}"


def explained_together(findings: Iterable[Finding], candidates: tuple[str, ...]) -> bool:
    """Whether one of the findings is explained by these candidates together alone."""
    return any(one.together and one.candidates == candidates for one in findings)


@dataclass(slots=True)
class Verdict:
    """One requirement's verdict. ``exercised``: how often it was exercised. ``reason``: why it is
    unknown, not applicable or not implemented. ``candidates``: where it is unknown, the requirements of which
    one certainly is violated, if any is, or all ``together``. ``findings``: the earliest of each cause, see
    `KEPT_FINDINGS`.
    ``found``: by key, how many there were of that cause; unless given, those in ``findings``. ``traces``: in
    how many histories the requirement was exercised or left undecided, and ``undecided``: in how many it was
    left undecided. That is 0, too, where the status does not come from that alone: one of several rules is
    violated, or a screen crashed."""

    status: Status
    exercised: int = 0
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    found: Mapping[str, int] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()
    traces: int = 0
    undecided: int = 0
    together: bool = False

    def __post_init__(self) -> None:
        if self.findings and not self.found:
            self.found = Counter(finding.key for finding in self.findings)

    @property
    def bad(self) -> bool:
        """Whether it, or one of several requirements, is violated."""
        return self.status is Status.VIOLATED or bool(self.candidates)

    @property
    def ambiguity(self) -> str:
        """That one of several requirements certainly is violated, or all together, in words; empty if that is
        not so."""
        return violated_one_of(self.candidates, self.together)

    @property
    def openness(self) -> str:
        """In how many histories it was left undecided, in words; empty if in none."""
        return f"{self.undecided:,} of {plural(self.traces, 'trace')} undecided" if self.undecided else ""

    @property
    def times(self) -> int:
        """How many findings there were, kept or not."""
        return sum(self.found.values())

    @property
    def causes(self) -> tuple[Finding, ...]:
        """The first finding of each cause, as `counted`."""
        return tuple(finding for finding, _ in self.counted())

    def counted(self, apart: Callable[[Finding], Hashable] = lambda _: None) -> list[tuple[Finding, int]]:
        """The first finding of each cause, and how many there were. Where only a part of a cause's findings
        has some candidates, or what ``apart`` answers, the parts are told apart, and the kept findings are
        counted."""
        parts: dict[str, dict[Hashable, list[Finding]]] = {}
        for finding in self.findings:
            alike = finding.candidates, apart(finding)
            parts.setdefault(finding.key, {}).setdefault(alike, []).append(finding)
        return [
            (several[0], self.found[key] if len(part) == 1 else len(several))
            for key, part in parts.items()
            for several in part.values()
        ]


Verdicts = Mapping[str, Verdict]
"""By requirement ID, in the order of the catalogue."""

KEPT_FINDINGS: Final = 20
"""Of each cause (`Finding.key`) so many findings are kept, the earliest, and the first under each of several
conditions; the rest only count."""


def kept(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those of the findings, in order of time, that are kept, see `KEPT_FINDINGS`."""
    seen: Counter[str] = Counter()
    met: set[tuple[str, tuple[str, ...]]] = set()
    chosen = []
    for finding in findings:
        seen[finding.key] += 1
        if seen[finding.key] <= KEPT_FINDINGS or (finding.key, finding.conditions) not in met:
            chosen.append(finding)
        met.add((finding.key, finding.conditions))
    return tuple(chosen)
