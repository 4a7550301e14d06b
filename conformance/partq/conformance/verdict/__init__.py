"""What is claimed: the status of each requirement, how runs are merged, compared and held against
a baseline, exit codes, ``verdicts.json``.

No history is read here, nothing is detected and nothing is shown.
"""

from __future__ import annotations

from partq.conformance.verdict.activity import Activity, stalled
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
    match_known,
    matched_to_plain,
    narrower,
)
from partq.conformance.verdict.columns import Column, Done, letters
from partq.conformance.verdict.comparison import SCHEMA as COMPARISON
from partq.conformance.verdict.comparison import Comparison, Group, Row, compare, comparison_to_plain
from partq.conformance.verdict.conclusions import (
    WORDS,
    Besides,
    came_about,
    conclusion,
    outcome,
    required,
    times,
    verdicts_document,
)
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
from partq.conformance.verdict.exercised import NOT_IN_QUESTION, BadRequire, checked_require, coverage, unmet
from partq.conformance.verdict.exit_codes import Exit, binding_requirements, exit_code, worst
from partq.conformance.verdict.focus import EVERYTHING, Focus, UnknownRule, rules_named
from partq.conformance.verdict.inspection import Doubt, Inspection
from partq.conformance.verdict.judging import COUNTS, NOTHING_JUDGED, Counts, Judging, added, in_words
from partq.conformance.verdict.kills import Kill, kill_verdicts
from partq.conformance.verdict.merging import ambiguities, merge
from partq.conformance.verdict.recurrence import ASSUMED, MISS, Recurrence
from partq.conformance.verdict.regression import Change, Regression
from partq.conformance.verdict.statuses import narrowed, not_applicable, verdicts_of
from partq.conformance.verdict.telling import causes_of
from partq.conformance.verdict.tolerance import OPEN, BadShare, share_of, tolerated
from partq.conformance.verdict.types import (
    KEPT_FINDINGS,
    WITH,
    Finding,
    Status,
    Verdict,
    Verdicts,
    firsts,
    plural,
    some,
)
