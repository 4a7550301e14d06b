"""How many histories may be left undecided of a rule that passes: ``--open``. Pure.

Of many histories a few may be left undecided, and the rule was still exercised in all the others. No
share makes up for a rejection, or for a screen that crashed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Final

from partq.conformance.verdict.statuses import held
from partq.conformance.verdict.types import Status, Verdict, Verdicts

OPEN: Final = "0.1%"
"""The share of the histories that exercised a rule which may be undecided unless a command is told
otherwise."""


MANY: Final = 100
"""Of so many histories that exercised a rule a single one may always be undecided, unless the share is 0."""


class BadShare(ValueError):
    """What a user gave is no share. The text says so in one line."""


def share_of(word: str) -> Fraction:
    """The share in the word, such as ``0.1%`` or ``0``. Raises `BadShare`."""
    found = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)%|0", word)
    share = Fraction(found[1] or 0) / 100 if found else Fraction(2)
    if share > 1:
        raise BadShare(f"{word!r} is no share such as {OPEN}, nor 0")
    return share


def tolerated(verdicts: Verdicts, share: Fraction) -> dict[str, Verdict]:
    """The verdicts of one profile, where what was left undecided in so small a share of the histories
    passes."""
    return {id: _tolerated(id, verdict, share) for id, verdict in verdicts.items()}


def _tolerated(requirement: str, verdict: Verdict, share: Fraction) -> Verdict:
    single = int(share > 0 and verdict.traces >= MANY)
    most = max(Fraction(single), share * verdict.traces)
    few = 0 < verdict.undecided < verdict.traces and verdict.undecided <= most
    if verdict.status is Status.UNKNOWN and not verdict.candidates and verdict.exercised and few:
        return replace(verdict, status=held(requirement))
    return verdict
