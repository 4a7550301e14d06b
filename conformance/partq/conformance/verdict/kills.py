"""What became of the mutants, and what that says of each rule: whether the suite sees it broken. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from partq.conformance.verdict.types import Status, Verdict
from partq.model.requirements import catalogue


class Kill(NamedTuple):
    """One mutant's fate. ``breaks``: its own rule. ``first``: how many traces until that was first violated,
    None if never. ``operations``: steps of the shrunk program. ``wrong``: rules that it must not break and
    that were reported, alone or as one of several."""

    mutant: str
    breaks: str
    profile: str
    first: int | None
    operations: int | None
    wrong: tuple[str, ...]

    @property
    def killed(self) -> bool:
        """Whether its own rule was violated, or one of several that may be, whatever else was reported."""
        return self.first is not None


def kill_verdicts(kills: Sequence[Kill], unbroken: str = "") -> dict[str, Verdict]:
    """Each requirement's verdict on itself: it passes if it killed all its mutants. ``unbroken``: the reason
    where no mutant breaks it."""
    verdicts = {}
    for requirement in catalogue():
        mine = [kill for kill in kills if kill.breaks == requirement]
        missed = ", ".join(kill.mutant for kill in mine if not kill.killed)
        status = Status.NOT_EXERCISED if not mine else Status.VIOLATED if missed else Status.PASS
        reason = f"not killed: {missed}" if missed else "" if mine else unbroken
        verdicts[requirement] = Verdict(status, len(mine), reason=reason)
    return verdicts
