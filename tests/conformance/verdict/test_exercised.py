"""How much of what binds was exercised, and what a user requires to be."""

from __future__ import annotations

import pytest

from partq.conformance.verdict import BadRequire, Status, Verdict, checked_require, coverage, unmet

VERDICTS = {
    "KEY-1": Verdict(Status.PASS, 3),
    "KEY-2": Verdict(Status.NOT_EXERCISED),
    "KEY-3": Verdict(Status.UNKNOWN, 1),
    "KEY-4": Verdict(Status.NOT_IMPLEMENTED),
    "KEY-6": Verdict(Status.NOT_EXERCISED),
    "REB-1": Verdict(Status.NOT_APPLICABLE),
}
BINDING = {"KEY-1", "KEY-2", "KEY-3", "KEY-4", "REB-1"}


def test_what_applies_and_binds_is_counted() -> None:
    found = coverage(VERDICTS, BINDING)
    assert found == (("KEY-1", "KEY-3"), ("KEY-2",)) and not found.whole
    assert str(found) == "2 of 3 binding rules exercised" and round(found.percent) == 67
    assert coverage({}, BINDING).percent == 0


@pytest.mark.parametrize(
    ("word", "met"),
    [("KEY-1", True), ("KEY-2", False), ("KEY-4", False), ("REB-1", False), ("66%", True), ("67%", False)],
)
def test_what_is_required_is_met_or_told(word: str, met: bool) -> None:
    assert (unmet(VERDICTS, checked_require([word]), BINDING) == []) is met


def test_what_is_neither_a_rule_nor_a_share_is_refused() -> None:
    for word in ("", "KEY-99", "12", "101%", "x%"):
        with pytest.raises(BadRequire, match="neither a rule"):
            checked_require([word])
