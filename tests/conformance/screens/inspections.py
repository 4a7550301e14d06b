"""What the whole suite says of a history in the terse notation. Shared by the tests of screens."""

from __future__ import annotations

from typing import Any

from partq.conformance.history.notation import history
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import Inspection


def inspected(text: str, profile: str = "azure-standard", **settings: Any) -> Inspection:
    """The inspection by every screen; a screen that crashed fails the test."""
    inspection = inspect(history(text, profile, **settings), ALL)
    crashes = [reason for reason in inspection.open.values() if reason.startswith("screen ")]
    assert not crashes
    return inspection


def violated(text: str, profile: str = "azure-standard", **settings: Any) -> set[str]:
    """The requirements with a finding."""
    return set(inspected(text, profile, **settings).findings)


def assert_owned(inspection: Inspection, rule: str, most_witnesses: int = 8) -> None:
    """This rule alone is violated, and every finding has all that a reader needs."""
    assert set(inspection.findings) == {rule}
    for finding in inspection.findings[rule]:
        assert finding.title and finding.detail and finding.allowed
        assert finding.key.startswith(f"{rule}/")
        assert "m1" not in finding.key
        assert 1 <= len(finding.witness) <= most_witnesses


def assert_open(inspection: Inspection, *rules: str) -> None:
    """Nothing is found, and these rules are left open."""
    assert not inspection.findings
    assert set(rules) <= set(inspection.open)
