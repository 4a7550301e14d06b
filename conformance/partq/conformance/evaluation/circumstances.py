"""What had happened before a finding showed itself: the conditions that hold for it, and in its witness what
may be its cause (faults, handoffs) and what gave the locks that it names. Pure; nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from partq.conformance.history import History
from partq.conformance.verdict import Finding, Inspection
from partq.model.conditions import HANDOFFS, STRIKES, holding, scene
from partq.model.operations import DRAINER

CAUSES: Final = 4
"""The limit of faults, and of handoffs, that are added to a witness: the last ones."""


def place(inspection: Inspection, history: History) -> None:
    """Note in each finding what had happened in the history before it showed itself."""
    for doubt in inspection.doubts.values():
        doubt.findings = [_placed(finding, history) for finding in doubt.findings]


def _placed(finding: Finding, history: History) -> Finding:
    causes = (*_causes(finding, history), *_givers(finding, history))
    witness = finding.witness and tuple(sorted({*finding.witness, *causes}))
    return finding._replace(witness=witness, conditions=holding(history.records, finding.witness))


def _causes(finding: Finding, history: History) -> list[int]:
    """The last faults before the finding showed itself, and the last handoffs before the last of its records;
    none of those that the drain caused."""
    last = max(finding.witness, default=len(history))
    during = [
        deed
        for deed in scene(history.records, finding.witness).during
        if deed.proc != DRAINER and not str(deed.args.get("flow", "")).startswith(f"{DRAINER}-")
    ]
    struck = [deed.i for deed in during if deed.op in STRIKES]
    handed = [deed.i for deed in during if deed.op in HANDOFFS and deed.i < last]
    return [*struck[-CAUSES:], *handed[-CAUSES:]]


def _givers(finding: Finding, history: History) -> Iterator[int]:
    """The answers that gave the locks named by operations of the witness."""
    numbers = set(finding.witness)
    named = {lock for record in history.records if record.i in numbers for lock in record.lock_tokens}
    for record in history.records:
        if record.i not in numbers and not named.isdisjoint(one.lock for one in record.messages):
            yield record.i
