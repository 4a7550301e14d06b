"""What is wrong in one run, in words: for the search, and for the replay of the program that it finds."""

from __future__ import annotations

from partq.conformance.evaluation.finding_text import finding_text
from partq.conformance.evaluation.suite import Run
from partq.conformance.verdict import ambiguities


def wrong_in(run: Run) -> list[str]:
    """What is wrong in the run's history, in words: of each requirement the first violation, or else what
    violates one of several."""
    found = [one for one in run.verdicts.values() if one.findings]
    told = [one for one in found if not one.candidates] or found
    if told:
        return [finding_text(one.findings[0], run.history) for one in told]
    return [f"{one.ambiguity}: {one.reason}" for one in ambiguities(run.verdicts).values()]
