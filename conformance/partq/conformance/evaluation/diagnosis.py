"""What is wrong in one run, in words: for the search, and for the replay of the program that it finds."""

from __future__ import annotations

from partq.conformance.evaluation.finding_text import finding_text
from partq.conformance.evaluation.suite import Run


def wrong_in(run: Run) -> list[str]:
    """What is wrong in the run's history, in words: of each requirement the first violation, or else what
    violates one of several."""
    certain = (one.findings[0] for one in run.verdicts.values() if one.findings and not one.candidates)
    trouble = [finding_text(finding, run.history) for finding in certain]
    if trouble:
        return trouble
    open_ones = {one.candidates: one.reason for one in run.verdicts.values() if one.candidates}
    return [f"{' or '.join(candidates)}: {why}" for candidates, why in open_ones.items()]
