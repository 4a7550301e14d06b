"""What had happened before a finding showed itself: the conditions that hold for it, and the faults and
handoffs in its witness, which may be its cause. Pure; nothing is decided here."""

from __future__ import annotations

from typing import Final

from partq.conformance.history import History
from partq.conformance.verdict import Finding, Inspection
from partq.model.conditions import HANDOFFS, STRIKES, holding, scene
from partq.model.operations import DRAINER

CAUSES: Final = 4
"""So many faults, and so many handoffs, are added to a witness at the most: the last ones."""


def place(inspection: Inspection, history: History) -> None:
    """Note of each finding what had happened in the history before it showed itself."""
    for doubt in inspection.doubts.values():
        doubt.findings = [_placed(finding, history) for finding in doubt.findings]


def _placed(finding: Finding, history: History) -> Finding:
    witness = finding.witness and tuple(sorted({*finding.witness, *_causes(finding, history)}))
    return finding._replace(witness=witness, conditions=holding(history.records, finding.witness))


def _causes(finding: Finding, history: History) -> list[int]:
    """The last faults, and the last handoffs, between the operations that the finding is about."""
    during = [deed for deed in scene(history.records, finding.witness).during if deed.proc != DRAINER]
    return [
        deed.i for kind in (STRIKES, HANDOFFS) for deed in [one for one in during if one.op in kind][-CAUSES:]
    ]
