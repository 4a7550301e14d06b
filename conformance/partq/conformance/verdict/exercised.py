"""How many of the binding rules were exercised, and how many a user requires to be.

A run that finds nothing says only as much as it exercised: a broker is conformant where every binding
requirement that applies to it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from partq.conformance.verdict.types import Status, Verdicts, plural
from partq.model.requirements import catalogue

NOT_IN_QUESTION: Final = (Status.NOT_APPLICABLE, Status.NOT_IMPLEMENTED)
"""The statuses of rules that a run cannot speak of, the most final first."""


class Coverage(NamedTuple):
    """The requirements that apply, by whether they were ``exercised`` or are ``missing``."""

    exercised: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether every one was exercised."""
        return not self.missing

    @property
    def percent(self) -> float:
        """The share that was exercised, of 100."""
        total = len(self.exercised) + len(self.missing)
        return 100 * len(self.exercised) / total if total else 0.0

    def __str__(self) -> str:
        total = plural(len(self.exercised) + len(self.missing), "binding rule")
        return f"{len(self.exercised)} of {total} exercised"


def coverage(verdicts: Verdicts, binding: Collection[str]) -> Coverage:
    """How much of the ``binding`` requirements the verdicts speak of."""
    rows = {id: v for id, v in verdicts.items() if id in binding and v.status not in NOT_IN_QUESTION}
    idle = tuple(id for id, verdict in rows.items() if verdict.status is Status.NOT_EXERCISED)
    return Coverage(tuple(id for id in rows if id not in idle), idle)


class BadRequire(ValueError):
    """What a user requires is neither a requirement nor a share. The text says so in one line."""


def checked_require(wanted: Iterable[str]) -> tuple[str, ...]:
    """The given words, each an ID of the catalogue or a share such as ``90%``. Raises `BadRequire`."""
    words = tuple(wanted)
    for word in words:
        number = word.removesuffix("%")
        if word not in catalogue() and not (word != number and number.isdecimal() and int(number) <= 100):
            raise BadRequire(f"{word!r} is neither a rule (partq explain --all) nor a share such as 90%")
    return words


def unmet(verdicts: Verdicts, wanted: Iterable[str], binding: Collection[str]) -> list[str]:
    """Which of the wanted words (`checked_require`) the verdicts do not meet, in words."""
    found = coverage(verdicts, binding)
    said = []
    for word in wanted:
        if word.endswith("%"):
            if found.percent < int(word[:-1]):
                said.append(f"{found}, {word} are required")
        elif idle := _IDLE.get(verdicts[word].status):
            why = f" ({verdicts[word].reason})" if verdicts[word].reason else ""
            said.append(f"{word} is required, but {idle}{why}")
    return said


_IDLE: Final = {
    Status.NOT_EXERCISED: "was not exercised",
    Status.NOT_IMPLEMENTED: "is not implemented yet",
    Status.NOT_APPLICABLE: "does not apply",
}
"""What is said of a rule that nothing exercised."""
