"""How a status looks, and the shares of a bar: what all parts of the page have in common. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from partq.conformance.verdict import Exit, Status, Verdict


class Sign(NamedTuple):
    """How a status looks: its class and a sign, so that it is never shown by colour alone."""

    status: str
    css: str
    glyph: str


SIGNS: Final = {
    Status.VIOLATED: Sign(Status.VIOLATED.words, "violated", "✗"),
    Status.UNKNOWN: Sign(Status.UNKNOWN.words, "unknown", "?"),
    Status.PASS: Sign(Status.PASS.words, "pass", "✓"),
    Status.SEEN: Sign(Status.SEEN.words, "seen", "◇"),
    Status.NOT_EXERCISED: Sign(Status.NOT_EXERCISED.words, "idle", "○"),
    Status.NOT_IMPLEMENTED: Sign(Status.NOT_IMPLEMENTED.words, "todo", "…"),
    Status.NOT_APPLICABLE: Sign(Status.NOT_APPLICABLE.words, "none", "–"),
}
"""In the order of the summary: what needs attention first."""


SEALS: Final = {
    Exit.CONFORMANT: SIGNS[Status.PASS],
    Exit.VIOLATED: SIGNS[Status.VIOLATED],
    Exit.INCONCLUSIVE: SIGNS[Status.UNKNOWN],
}
"""The sign of a headline, by exit code."""


class Headline(NamedTuple):
    """The verdict of a whole page in a sign, a word and a sentence."""

    sign: Sign
    word: str
    sentence: str


def sign_of(verdict: Verdict) -> Sign:
    """How the verdict looks: one that may be violated, as one that is, in words of its own."""
    violated = SIGNS[Status.VIOLATED]
    return violated._replace(status=verdict.ambiguity) if verdict.candidates else SIGNS[verdict.status]


class Share(NamedTuple):
    """How many things have one status, and their share of the bar in per cent."""

    sign: Sign
    number: int
    percent: float


def shares(verdicts: Iterable[Verdict]) -> tuple[Share, ...]:
    """The share of each status that there is."""
    numbers = Counter(verdict.status for verdict in verdicts)
    return shared((sign, numbers[status]) for status, sign in SIGNS.items())


def shared(numbers: Iterable[tuple[Sign, int]]) -> tuple[Share, ...]:
    """The share of each sign that stands for any of so many things."""
    there = [(sign, number) for sign, number in numbers if number]
    total = sum(number for _, number in there)
    return tuple(Share(sign, number, round(100 * number / total, 3)) for sign, number in there)
