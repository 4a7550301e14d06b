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
    total = sum(numbers.values()) or 1
    return tuple(
        Share(sign, numbers[status], round(100 * numbers[status] / total, 3))
        for status, sign in SIGNS.items()
        if numbers[status]
    )
