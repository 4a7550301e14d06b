"""What the whole suite says of a history in the terse notation. Shared by the tests of screens."""

from __future__ import annotations

from typing import Any

from partq.conformance.history.notation import history
from partq.conformance.screens.assess import Inspection, inspect
from partq.conformance.screens.registry import ALL


def inspected(text: str, profile: str = "azure-standard", **settings: Any) -> Inspection:
    """The inspection by every screen; a screen that crashed fails the test."""
    inspection = inspect(history(text, profile, **settings), ALL)
    crashes = [reason for reason in inspection.open.values() if reason.startswith("screen ")]
    assert not crashes
    return inspection


def violated(text: str, profile: str = "azure-standard", **settings: Any) -> set[str]:
    """The requirements with a finding."""
    return set(inspected(text, profile, **settings).findings)
