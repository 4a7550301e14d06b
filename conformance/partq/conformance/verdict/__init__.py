"""What is claimed: the status of each requirement, how runs are merged, exit codes, ``verdicts.json``.

No history is read here, nothing is detected and nothing is shown.
"""

from __future__ import annotations

from partq.conformance.verdict.counts import COUNTS, Counts, in_words
from partq.conformance.verdict.document import (
    FILE,
    SCHEMA,
    finding_of,
    finding_to_plain,
    from_plain,
    plain,
    text_of,
)
from partq.conformance.verdict.exercised import BadRequire, Coverage, checked_require, coverage, unmet
from partq.conformance.verdict.exit_codes import Exit, binding_requirements, exit_code, worst
from partq.conformance.verdict.merging import ambiguities, merge, merged, resolved
from partq.conformance.verdict.types import (
    KEPT_FINDINGS,
    Finding,
    Status,
    Verdict,
    Verdicts,
    kept,
    violated_one_of,
)

__all__ = [
    "COUNTS",
    "FILE",
    "KEPT_FINDINGS",
    "SCHEMA",
    "BadRequire",
    "Counts",
    "Coverage",
    "Exit",
    "Finding",
    "Status",
    "Verdict",
    "Verdicts",
    "ambiguities",
    "binding_requirements",
    "checked_require",
    "coverage",
    "exit_code",
    "finding_of",
    "finding_to_plain",
    "from_plain",
    "in_words",
    "kept",
    "merge",
    "merged",
    "plain",
    "resolved",
    "text_of",
    "unmet",
    "violated_one_of",
    "worst",
]
