"""What is wrong in one run, in words: by the checkers, or else by the exact judge.

For the search, and for the replay of the program that it finds; both have to say the same.
"""

from __future__ import annotations

from typing import Final

from .history import History
from .judge import Judged, judge
from .suite import Run
from .telling import told

QUICK: Final = 2_000
"""States that the judge may visit at the end of each program; beyond, the checkers alone decide."""


def wrong_in(run: Run, exact: bool) -> list[str]:
    """What is wrong in the run's history, in words: of each rule the first violation, or else what breaks one
    of several, or else what the exact judge says."""
    first = (one.findings[0] for one in run.verdicts.values() if one.findings)
    trouble = [told(finding, run.history) for finding in first]
    if not trouble:
        either = {one.among: f"{' or '.join(one.among)}: {one.reason}" for one in run.verdicts.values()}
        trouble = [why for among, why in either.items() if among]
    if trouble or not exact:
        return trouble
    against = objection(run.history)
    return [against] if against else []


def objection(history: History) -> str:
    """What the judge has against the history, in a sentence, after a quick look; empty where it accepts it,
    or can't say."""
    found = judge(history, QUICK)
    if found.status is not Judged.REJECTED:
        return ""
    return (
        f"the model allows no order of the operations: {found.reason}; "
        f"stuck at records {found.stuck}; allowed: {'; '.join(found.allowed)}"
    )
