"""What is claimed: the status of each requirement, how runs are merged, compared and held against
a baseline, exit codes, ``verdicts.json``.

No history is read here, nothing is detected and nothing is shown.
"""

from __future__ import annotations

from partq.conformance.verdict.baseline import (
    ANOTHER,
    Absent,
    Entry,
    Fault,
    Kind,
    Matched,
    State,
    entries_for,
    match,
    matched_to_plain,
    named,
)
from partq.conformance.verdict.columns import Column, letters
from partq.conformance.verdict.comparison import SCHEMA as COMPARISON
from partq.conformance.verdict.comparison import Comparison, Group, Row, compare, comparison_to_plain
from partq.conformance.verdict.conclusions import (
    Besides,
    conclusion,
    outcome,
    required,
    times,
    verdicts_document,
)
from partq.conformance.verdict.counts import COUNTS, Counts, in_words
from partq.conformance.verdict.document import (
    FILE,
    SCHEMA,
    count_of,
    finding_of,
    finding_to_plain,
    from_plain,
    plain,
    text_of,
)
from partq.conformance.verdict.exercised import (
    NOT_IN_QUESTION,
    BadRequire,
    Coverage,
    checked_require,
    coverage,
    unmet,
)
from partq.conformance.verdict.exit_codes import Exit, binding_requirements, exit_code, worst
from partq.conformance.verdict.inspection import Doubt, Inspection
from partq.conformance.verdict.merging import ambiguities, merge, merged, resolved
from partq.conformance.verdict.regression import Change, Changed, Regression
from partq.conformance.verdict.statuses import Check, not_applicable, verdicts_of
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
    "ANOTHER",
    "COMPARISON",
    "COUNTS",
    "FILE",
    "KEPT_FINDINGS",
    "NOT_IN_QUESTION",
    "SCHEMA",
    "Absent",
    "BadRequire",
    "Besides",
    "Change",
    "Changed",
    "Check",
    "Column",
    "Comparison",
    "Counts",
    "Coverage",
    "Doubt",
    "Entry",
    "Exit",
    "Fault",
    "Finding",
    "Group",
    "Inspection",
    "Kind",
    "Matched",
    "Regression",
    "Row",
    "State",
    "Status",
    "Verdict",
    "Verdicts",
    "ambiguities",
    "binding_requirements",
    "checked_require",
    "compare",
    "comparison_to_plain",
    "conclusion",
    "count_of",
    "coverage",
    "entries_for",
    "exit_code",
    "finding_of",
    "finding_to_plain",
    "from_plain",
    "in_words",
    "kept",
    "letters",
    "match",
    "matched_to_plain",
    "merge",
    "merged",
    "named",
    "not_applicable",
    "outcome",
    "plain",
    "required",
    "resolved",
    "text_of",
    "times",
    "unmet",
    "verdicts_document",
    "verdicts_of",
    "violated_one_of",
    "worst",
]
