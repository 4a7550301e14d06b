"""What ``partq run --out`` leaves in its folder, and the lines about it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from partq.conformance.frontends.cli.common import note, opened
from partq.conformance.verdict import ambiguities

if TYPE_CHECKING:
    from partq.conformance.evaluation.keeping import StoredFile, Target
    from partq.conformance.evaluation.suite import Run, SuiteResult
    from partq.conformance.verdict import Finding


def summary_lines(out: Path | None, stored: Sequence[StoredFile], found: bool) -> Iterator[str]:
    """Where everything is and what can be done with it, in lines. ``found``: whether there was anything."""
    from partq.conformance.verdict import FILE

    for one in stored:
        yield f"{one.what} {one.path}, {one.size} ({one.command})"
    if out is not None:
        yield f"verdicts in {out / FILE} ({shlex.join(['partq', 'report', str(out)])})"
    elif found:
        yield "with --out FOLDER what was found is kept, for partq replay and partq report"


def store(
    out: Target,
    broker: str,
    document: Mapping[str, Any],
    results: Mapping[str, SuiteResult],
    seconds: float,
) -> list[StoredFile]:
    """Write ``verdicts.json``, and a program of each cause in each profile, and of each set of rules of which
    one is violated. ``seconds``: how long those of a live broker are shrunk in all."""
    from partq.conformance.evaluation.keeping import keep_example, keep_program
    from partq.conformance.verdict import FILE

    (out.place / FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    stored = []
    end = monotonic() + seconds
    for profile, result in results.items():
        causes: dict[tuple[str, str], tuple[Run, Finding]] = {}
        for done in result.kept:
            for finding in done.findings:
                causes.setdefault((finding.requirement, finding.key), (done, finding))
        taken: set[str] = set()
        for number, (done, finding) in enumerate(causes.values()):
            note(f"storing a counterexample of {finding.requirement}")
            share = max(0.0, end - monotonic()) / (len(causes) - number)
            stored.append(keep_example(out, profile, broker, opened(broker), done, finding, share, taken))
        shown = {finding.candidates for _, finding in causes.values()}
        for candidates in ambiguities(result.verdicts):
            if candidates not in shown and (seen := result.evidence_of(candidates)) is not None:
                stored.append(keep_program(out, profile, broker, opened(broker), seen, candidates))
    return stored
