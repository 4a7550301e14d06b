"""The exit codes of all commands, and which verdicts lead to which."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from partq.conformance.verdict.types import Status, Verdicts
from partq.model.requirements import Level, catalogue


class Exit:
    """Exit codes of every command."""

    CONFORMANT: Final = 0
    VIOLATED: Final = 1
    BAD_INPUT: Final = 2
    INCONCLUSIVE: Final = 3


def exit_code(verdicts: Verdicts, failing: Iterable[str] | None = None) -> int:
    """The exit code of a run: 1 if any requirement in ``failing`` (default: all) is violated, even if it
    is not certain which, 3 if one is unknown or nothing at all was exercised, else 0."""
    counted = set(verdicts if failing is None else failing)
    judged = [verdict for requirement, verdict in verdicts.items() if requirement in counted]
    statuses = {verdict.status for verdict in judged}
    if Status.VIOLATED in statuses or any(v.candidates and counted.issuperset(v.candidates) for v in judged):
        return Exit.VIOLATED
    if Status.UNKNOWN in statuses or Status.PASS not in statuses:
        return Exit.INCONCLUSIVE
    return Exit.CONFORMANT


def binding_requirements(strict: bool) -> set[str]:
    """The requirements whose violation fails a run: MUST rows, with ``strict`` the SHOULD rows too."""
    levels = {Level.MUST, Level.SHOULD} if strict else {Level.MUST}
    return {requirement for requirement, row in catalogue().items() if row.level in levels}


def worst(codes: Iterable[int]) -> int:
    """The exit code of several runs: 1 before 3 before 0. Of none it is 3."""
    given = set(codes) or {Exit.INCONCLUSIVE}
    return next(code for code in (Exit.VIOLATED, Exit.INCONCLUSIVE, Exit.CONFORMANT) if code in given)
