"""What is wrong in one run, in words: for the search, and for the replay of the program that it finds."""

from __future__ import annotations

from partq.conformance.evaluation.finding_text import finding_text
from partq.conformance.evaluation.suite import Run
from partq.conformance.verdict import ambiguities, violated_one_of


def wrong_in(run: Run) -> list[str]:
    """What is wrong in the run's history, in words: of each requirement the first violation, or else what
    violates one of several."""
    certain = (one.findings[0] for one in run.verdicts.values() if one.findings and not one.candidates)
    trouble = [finding_text(finding, run.history) for finding in certain]
    if trouble:
        return trouble
    return [f"{violated_one_of(several)}: {why}" for several, why in ambiguities(run.verdicts).items()]
